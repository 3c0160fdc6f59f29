// What depends on a terminal; everything else is in tests/cli/ck-ls.
#include "tools/ck-ls/ls_tool.h"

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/checkpoint/testing/run_directory.h"
#include "libs/cli/testing/string_streams.h"
#include "tools/ck-ls/options.h"

namespace ck::ls {
namespace {

enum class Stdout { kPipe, kTerminal };

struct Outcome {
  int exit;
  std::string output, error;
};

Outcome RunTool(std::vector<std::string> arguments, Stdout kind) {
  arguments.insert(arguments.begin(), "ck-ls");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  cli::StringStreams streams;
  streams.output_is_terminal = kind == Stdout::kTerminal;
  const int exit = cli::RunMain(CommandLine(), static_cast<int>(argv.size()), argv.data(), streams, Run);
  return {exit, streams.output, streams.error};
}

TEST(Output, DependsOnTheTerminalUnlessTheOptionsSayIt) {
  struct Case {
    std::vector<std::string> options;
    Stdout kind;
    const char* kind_of_output;
  };
  const Case cases[] = {
      {{}, Stdout::kTerminal, "table"},
      {{}, Stdout::kPipe, "ck.plan"},
      {{"--table"}, Stdout::kPipe, "table"},
      {{"--json"}, Stdout::kTerminal, "ck.plan"},
      {{"--format", "plan"}, Stdout::kTerminal, "ck.plan"},
      {{"--format", "plan"}, Stdout::kPipe, "ck.plan"},
      {{"--format", "listing"}, Stdout::kTerminal, "table"},
      {{"--format", "listing"}, Stdout::kPipe, "ck.listing"},
      {{"--format", "listing", "--json"}, Stdout::kTerminal, "ck.listing"},
      {{"--format", "listing", "--table"}, Stdout::kPipe, "table"},
  };
  const checkpoint::RunDirectory run;
  run.AddTorchDist("iter_0000010");
  for (const Case& c : cases) {
    std::vector<std::string> arguments = c.options;
    arguments.push_back(run.path());
    const Outcome outcome = RunTool(arguments, c.kind);
    EXPECT_EQ(outcome.exit, 0) << outcome.error;
    const bool table = StartsWith(outcome.output, run.path() + "\nmarker: none\n");
    const std::string found =
        table ? "table" : Cat("ck.", outcome.output.find("ck.plan") != std::string::npos ? "plan" : "listing");
    EXPECT_EQ(found, c.kind_of_output) << Join(c.options, " ") << "\n" << outcome.output;
  }
}

TEST(Output, ASelectionThatFailsInAPipeFailsOnATerminal) {
  const checkpoint::RunDirectory run;
  run.AddTorchDist("iter_0000010");
  for (const Stdout kind : {Stdout::kPipe, Stdout::kTerminal}) {
    const Outcome outcome = RunTool({run.path(), "--end", "11"}, kind);
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_EQ(outcome.output, "");
    EXPECT_NE(outcome.error.find("[select.no_target]"), std::string::npos) << outcome.error;
    EXPECT_EQ(RunTool({run.path(), "--min-checkpoints", "2"}, kind).exit, 3);
    EXPECT_EQ(RunTool({run.path(), "--min-checkpoints", "0"}, kind).exit, 2);
  }
}

}  // namespace
}  // namespace ck::ls
