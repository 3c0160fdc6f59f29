#include "tools/ck-validate/options.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/common_options.h"

namespace ck::validate {

namespace {

bool IsPlan(const std::string& operand) { return operand == "-" || EndsWith(operand, ".json"); }

}  // namespace

cli::Command CommandLine() {
  return {
      .tool = "ck-validate",
      .summary = "Checks checkpoints, or the inputs of a plan, without reading tensor data.",
      .usage = {"ck-validate PATH...", "ck-validate [PLAN]"},
      .description =
          "PATH is a checkpoint, or a root whose marker says which one. Prints what was found: a table on a terminal, the report ck.report as JSON in a "
          "pipe.\n\n"
          "Without PATH it reads a plan from stdin, or from the file PLAN, whose name ends in .json. It checks every input and, as a merge would, the inputs "
          "against each other. A plan without errors is passed on unchanged; otherwise nothing is printed, and stderr says what is wrong.",
      .operands = {.name = "PATH", .min_count = 0, .max_count = cli::kAnyNumber},
      .options = cli::Concat({cli::ViewOptions(), {cli::ReportOption(), cli::ThreadsOption()}}),
      .examples = {"ck-validate RUN", "ck-ls RUN --start 1000 --end 5000 | ck-coeffs --style minus-sqrt | ck-validate | ck-merge --output OUT",
                   "ck-validate RUN/iter_* --json | jq '.findings[].id'"},
      .exit_codes = {{1, "there are findings of severity error"}, {5, "an input is not what the plan says of it"}},
  };
}

CommandOptions ReadOptions(const cli::Args& args) {
  CommandOptions options;
  for (const std::string& operand : args.operands()) {
    if (!IsPlan(operand)) {
      options.paths.push_back(operand);
    } else if (args.operands().size() > 1) {
      throw UsageError("usage.conflict", Cat(Quote(operand), " is a plan, which is checked alone, but ", args.operands().size(), " operands are given"));
    } else {
      options.plan = operand;
    }
  }
  if (options.paths.empty() && (args.Has("--json") || args.Has("--table"))) {
    throw UsageError("usage.conflict", Cat(args.Has("--json") ? "--json" : "--table", " shows the report of a PATH, but a plan is checked; --report writes its report"));
  }
  options.report = args.Get("--report");
  options.threads = cli::ReadThreads(args);
  return options;
}

}  // namespace ck::validate
