// The main function of every tool: parses, runs the body, turns faults into exit codes and lines.
//
// Order.   --help and --version are answered first; then the command line is parsed; then the body runs; its result is
//          written to stdout as the last act. On any error stdout stays empty.
// Exit.    What the body returns (0, or 1 for "the answer is no", which the body has said with PrintAnswerNo); for
//          ck::Error its code; std::bad_alloc is 4 memory.exhausted; any other exception is 70 internal.exception.
#ifndef CK_CLI_RUN_MAIN_H_
#define CK_CLI_RUN_MAIN_H_

#include <functional>

#include "libs/cli/command.h"
#include "libs/cli/diagnostics.h"
#include "libs/cli/streams.h"

namespace ck::cli {

// What a tool's body gets.
struct Context {
  const Command& command;
  const Args& args;
  Streams& streams;
  Diagnostics& diagnostics;
};

// Thrown to leave with a code and no line: another rank says why.
struct SilentExit {
  int code;
};

using Body = std::function<int(Context&)>;

int RunMain(const Command& command, int argc, const char* const* argv, Streams& streams, const Body& body);

}  // namespace ck::cli

#endif  // CK_CLI_RUN_MAIN_H_
