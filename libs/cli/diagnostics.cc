#include "libs/cli/diagnostics.h"

#include "libs/base/text.h"
#include "libs/cli/printable.h"
#include "libs/json/value.h"

namespace ck::cli {

void Diagnostics::PrintLine(std::string_view severity, std::string_view id, std::string_view message, int exit_code) {
  std::string line;
  if (format_ == ErrorFormat::kJson) {
    json::Object object;
    object.Set("tool", tool_).Set("severity", severity);
    if (!id.empty()) object.Set("id", id);
    object.Set("message", Printable(message));
    if (exit_code != 0) object.Set("exit", exit_code);
    line = json::Write(object);
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

void Diagnostics::PrintFinding(Finding severity, std::string_view id, std::string_view message) {
  PrintLine(severity == Finding::kError ? "error" : "warning", id, message, 0);
}

void Diagnostics::Warn(std::string_view id, std::string_view message) { PrintLine("warning", id, message, 0); }

void Diagnostics::Note(std::string_view message) {
  if (verbosity_ != Verbosity::kQuiet) PrintLine("note", "", message, 0);
}

void Diagnostics::Detail(std::string_view message) {
  if (verbosity_ == Verbosity::kVerbose) PrintLine("note", "", message, 0);
}

}  // namespace ck::cli
