#include "libs/cli/run_main.h"

#include <cerrno>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/cli/launcher.h"
#include "libs/cli/testing/string_streams.h"

namespace ck::cli {
namespace {

Command TestCommand() { return {.tool = "ck-test", .summary = "Tests.", .usage = {"ck-test"}}; }

int RunTool(StringStreams& streams, std::vector<const char*> arguments, const Body& body) {
  arguments.insert(arguments.begin(), "ck-test");
  return RunMain(TestCommand(), static_cast<int>(arguments.size()), arguments.data(), streams, body);
}

TEST(RunMain, ResultAndExitCodeOfTheBody) {
  StringStreams streams;
  EXPECT_EQ(RunTool(streams, {},
                    [](Context& context) {
                      context.streams.Print("{}\n");
                      context.diagnostics.PrintAnswerNo("validate.findings", "2 findings");
                      return 1;
                    }),
            1);
  EXPECT_EQ(streams.output, "{}\n");
  EXPECT_EQ(streams.error, "ck-test: 2 findings [validate.findings]\n");
}

TEST(RunMain, FaultsAreOneLineAndStdoutStaysEmpty) {
  const struct {
    std::vector<const char*> arguments;
    Body body;
    int exit_code;
    const char* error;
  } kCases[] = {
      {{},
       [](Context&) -> int { throw InputError("zip.no_end_record", "a.pt: no end record"); },
       3,
       "ck-test: a.pt: no end record [zip.no_end_record]\n"},
      {{}, [](Context&) -> int { throw InputError("x.y", "two\nlines"); }, 3, "ck-test: two\\x0alines [x.y]\n"},
      {{"--error-format=json"},
       [](Context&) -> int { throw PreconditionError("publish.exists", "\"OUT\" \\ exists"); },
       5,
       "{\"tool\":\"ck-test\",\"severity\":\"error\",\"id\":\"publish.exists\",\"message\":\"\\\"OUT\\\" \\\\ "
       "exists\",\"exit\":5}\n"},
      {{}, [](Context&) -> int { throw std::bad_alloc(); }, 4, "ck-test: out of memory [memory.exhausted]\n"},
      {{},
       [](Context&) -> int { throw std::runtime_error("vector"); },
       70,
       "ck-test: a bug in ck: vector [internal.exception]\n"},
      {{}, [](Context&) -> int { throw SilentExit{2}; }, 2, ""},
      {{"--bogus"},
       [](Context&) { return 0; },
       2,
       "ck-test: unknown option '--bogus' (try 'ck-test --help') [usage.unknown_option]\n"},
      {{"--bogus", "--error-format", "json"},
       [](Context&) { return 0; },
       2,
       "{\"tool\":\"ck-test\",\"severity\":\"error\",\"id\":\"usage.unknown_option\",\"message\":\"unknown option "
       "'--bogus' "
       "(try 'ck-test --help')\",\"exit\":2}\n"},
      {{"-q", "-v"},
       [](Context&) { return 0; },
       2,
       "ck-test: options --quiet and --verbose contradict each other (try 'ck-test --help') [usage.conflict]\n"},
  };
  for (const auto& c : kCases) {
    StringStreams streams;
    EXPECT_EQ(RunTool(streams, c.arguments,
                      [&](Context& context) {
                        context.streams.Print("half a result");
                        return c.body(context);
                      }),
              c.exit_code);
    EXPECT_EQ(streams.error, c.error);
    EXPECT_EQ(streams.output, "");
  }
}

TEST(RunMain, FindingsAndWarningsHaveIdsAndStayWhenQuiet) {
  const Body body = [](Context& context) {
    context.diagnostics.PrintFinding(Diagnostics::Finding::kError, "merge.x", "one");
    context.diagnostics.PrintFinding(Diagnostics::Finding::kWarning, "merge.y", "two");
    context.diagnostics.Warn("transform.z", "three");
    context.diagnostics.Note("not when quiet");
    return 0;
  };
  StringStreams text, json;
  RunTool(text, {"-q"}, body);
  EXPECT_EQ(text.error, "ck-test: one [merge.x]\nck-test: warning: two [merge.y]\nck-test: warning: three [transform.z]\n");
  RunTool(json, {"-q", "--error-format=json"}, body);
  EXPECT_EQ(json.error,
            "{\"tool\":\"ck-test\",\"severity\":\"error\",\"id\":\"merge.x\",\"message\":\"one\"}\n"
            "{\"tool\":\"ck-test\",\"severity\":\"warning\",\"id\":\"merge.y\",\"message\":\"two\"}\n"
            "{\"tool\":\"ck-test\",\"severity\":\"warning\",\"id\":\"transform.z\",\"message\":\"three\"}\n");
}

TEST(RunMain, AResultThatCannotBeWrittenIsExit4) {
  StringStreams streams;
  streams.write_fault = EPIPE;
  EXPECT_EQ(RunTool(streams, {},
                    [](Context& context) {
                      context.streams.Print("{}\n");
                      return 0;
                    }),
            4);
  EXPECT_EQ(streams.error, "ck-test: cannot write the result to stdout: Broken pipe [stdout.write_failed]\n");
}

TEST(RunMain, HelpAndVersionRunNothing) {
  for (const std::vector<const char*>& arguments :
       std::vector<std::vector<const char*>>{{"--help"}, {"-h"}, {"--bogus", "--help"}, {"--version"}}) {
    StringStreams streams;
    EXPECT_EQ(RunTool(streams, arguments, [](Context&) { return 1; }), 0);
    EXPECT_NE(streams.output, "");
    EXPECT_EQ(streams.error, "");
  }
  StringStreams streams;
  EXPECT_EQ(RunTool(streams, {"--", "--help"}, [](Context&) { return 0; }), 2);
}

TEST(RunMain, QuietSilencesNotesOnly) {
  const auto said = [](std::vector<const char*> arguments) {
    StringStreams streams;
    RunTool(streams, std::move(arguments), [](Context& context) {
      context.diagnostics.Warn("merge.weight_sum", "sum is 2.0");
      context.diagnostics.Note("note");
      context.diagnostics.Detail("detail");
      return 0;
    });
    return streams.error;
  };
  const std::string warning = "ck-test: warning: sum is 2.0 [merge.weight_sum]\n";
  EXPECT_EQ(said({"-q"}), warning);
  EXPECT_EQ(said({}), warning + "ck-test: note\n");
  EXPECT_EQ(said({"-v"}), warning + "ck-test: note\nck-test: detail\n");
  EXPECT_EQ(said({"-q", "--error-format=json"}),
            "{\"tool\":\"ck-test\",\"severity\":\"warning\",\"id\":\"merge.weight_sum\",\"message\":\"sum is 2.0\"}\n");
}

TEST(Launcher, OneSpeaksAllExit) {
  using Map = std::map<std::string, std::string>;
  const struct {
    Map environment;
    int exit_code;
    bool speaks;
  } kCases[] = {
      {{}, 0, false},
      {{{"SLURM_NTASKS", "8"}}, 0, false},  // a batch script runs once
      {{{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_ID", "0"}}, 0, false},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "0"}}, 2, true},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "7"}}, 2, false},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}}, 2, false},
      {{{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}, 2, true},
      {{{"WORLD_SIZE", "2"}, {"RANK", "1"}}, 2, false},
      {{{"WORLD_SIZE", "1"}, {"RANK", "0"}}, 0, false},
      {{{"WORLD_SIZE", "two"}}, 0, false},
  };
  for (const auto& c : kCases) {
    StringStreams streams;
    EXPECT_EQ(RunTool(streams, {},
                      [&](Context& context) {
                        CheckSingleProcess(context, [&](const std::string& name) -> std::optional<std::string> {
                          const auto it = c.environment.find(name);
                          return it == c.environment.end() ? std::nullopt : std::optional(it->second);
                        });
                        return 0;
                      }),
              c.exit_code);
    EXPECT_EQ(streams.error.find("[ranks.no_mpi]") != std::string::npos, c.speaks) << streams.error;
  }
}

}  // namespace
}  // namespace ck::cli
