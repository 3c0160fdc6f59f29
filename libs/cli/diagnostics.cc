#include "libs/cli/diagnostics.h"

#include "libs/base/text.h"
#include "libs/cli/printable.h"

namespace ck::cli {

namespace {

// `text` is Printable: UTF-8 without control bytes, so quotes and backslashes are all there is to escape.
std::string JsonString(std::string_view text) {
  std::string out = "\"";
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

void Diagnostics::PrintLine(std::string_view severity, std::string_view id, std::string_view message, int exit_code) {
  std::string line;
  if (format_ == ErrorFormat::kJson) {
    line = Cat("{\"tool\":", JsonString(tool_), ",\"severity\":", JsonString(severity));
    if (!id.empty()) line += Cat(",\"id\":", JsonString(id));
    line += Cat(",\"message\":", JsonString(message));
    if (exit_code != 0) line += Cat(",\"exit\":", exit_code);
    line += "}\n";
  } else {
    line = Cat(tool_, ": ", severity == "warning" ? "warning: " : "", Printable(message));
    if (!id.empty()) line += Cat(" [", id, "]");
    line += '\n';
  }
  streams_.PrintError(line);
}

void Diagnostics::PrintError(const Error& error) {
  std::string message = error.message();
  if (error.code() == Code::kUsage) message += Cat(" (try '", tool_, " --help')");
  PrintLine("error", error.id(), message, static_cast<int>(error.code()));
}

void Diagnostics::PrintAnswerNo(std::string_view id, std::string_view message) { PrintLine("error", id, message, 1); }

void Diagnostics::Warn(std::string_view id, std::string_view message) { PrintLine("warning", id, message, 0); }

void Diagnostics::Note(std::string_view message) {
  if (verbosity_ != Verbosity::kQuiet) PrintLine("note", "", message, 0);
}

void Diagnostics::Detail(std::string_view message) {
  if (verbosity_ == Verbosity::kVerbose) PrintLine("note", "", message, 0);
}

}  // namespace ck::cli
