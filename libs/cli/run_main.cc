#include "libs/cli/run_main.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::cli {

namespace {

constexpr int kColumnsWithoutTerminal = 80;

// True when one of `names` stands before "--". Looked for before parsing, so that help is given for any command line.
bool Asks(const std::vector<std::string>& arguments, std::initializer_list<std::string_view> names) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find_first_of(arguments.begin(), end, names.begin(), names.end()) != end;
}

// Also before parsing: usage errors have the format that was asked for.
ErrorFormat FormatAskedFor(const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "--error-format";
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    if (arguments[i] == Cat(kName, "=json")) return ErrorFormat::kJson;
    if (arguments[i] == kName && i + 1 < arguments.size() && arguments[i + 1] == "json") return ErrorFormat::kJson;
  }
  return ErrorFormat::kText;
}

int RunBody(const Command& command, const std::vector<std::string>& arguments, Streams& streams,
            Diagnostics& diagnostics, const Body& body) {
  if (Asks(arguments, {"--help", "-h"})) {
    streams.Print(HelpText(command, streams.OutputColumns().value_or(kColumnsWithoutTerminal)));
    return 0;
  }
  if (Asks(arguments, {"--version"})) {
    streams.Print(VersionText(command));
    return 0;
  }
  const Args args = Parse(command, arguments);
  if (args.Has("--quiet") && args.Has("--verbose")) {
    throw UsageError("usage.conflict", Cat("options --quiet and --verbose contradict each other"));
  }
  if (args.Has("--quiet")) diagnostics.set_verbosity(Verbosity::kQuiet);
  if (args.Has("--verbose")) diagnostics.set_verbosity(Verbosity::kVerbose);
  Context context{command, args, streams, diagnostics};
  return body(context);
}

}  // namespace

int RunMain(const Command& command, int argc, const char* const* argv, Streams& streams, const Body& body) {
  Diagnostics diagnostics(command.tool, streams);
  const auto fail = [&](const Error& error) {
    streams.DiscardOutput();
    diagnostics.PrintError(error);
    return static_cast<int>(error.code());
  };
  try {
    const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    diagnostics.set_format(FormatAskedFor(arguments));
    const int code = RunBody(command, arguments, streams, diagnostics, body);
    streams.FinishOutput();
    return code;
  } catch (const SilentExit& exit) {
    streams.DiscardOutput();
    return exit.code;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail(EnvironmentError("memory.exhausted", "out of memory"));
  } catch (const std::exception& error) {
    return fail(InternalError("internal.exception", Cat("a bug in ck: ", error.what())));
  }
}

}  // namespace ck::cli
