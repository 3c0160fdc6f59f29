#include "tools/ck-validate/options.h"

#include <cmath>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/common_options.h"

namespace ck::validate {

namespace {

constexpr char kComparison[] = "Comparison";

std::vector<cli::Option> ComparisonRows() {
  return {
      {.name = "--against", .arity = cli::Arity::kOne, .value = "REFERENCE", .help = "Read the tensors of PATH and of REFERENCE, whatever their formats, and compare names, shapes, dtypes and values.",
       .group = kComparison},
      {.name = "--atol", .arity = cli::Arity::kOne, .value = "X", .help = "Accept |a - b| <= atol + rtol |b|, b being REFERENCE's; dtypes may then differ. Default: 0, equal bits.", .group = kComparison},
      {.name = "--rtol", .arity = cli::Arity::kOne, .value = "X", .help = "See --atol. Default: 0.", .group = kComparison},
      {.name = "--nan-equal", .help = "A NaN equals any NaN, not only one of the same bits.", .group = kComparison},
  };
}

double ReadTolerance(const cli::Args& args, const char* option) {
  const double value = args.GetDouble(option).value_or(0);
  if (!(value >= 0) || std::isinf(value)) throw UsageError("usage.bad_value", Cat("value of ", option, " is ", FormatDouble(value), ", expected a finite number from 0 up"));
  return value;
}

void ReadComparison(const cli::Args& args, CommandOptions& out) {
  out.against = args.Get("--against");
  for (const char* option : {"--atol", "--rtol", "--nan-equal"}) {
    if (args.Has(option) && !out.against) throw UsageError("usage.missing_option", Cat("option ", option, " needs --against"));
  }
  if (!out.against) return;
  if (out.paths.size() != 1) throw UsageError("usage.conflict", Cat("--against compares one PATH, ", out.paths.size(), " are given"));
  out.atol = ReadTolerance(args, "--atol");
  out.rtol = ReadTolerance(args, "--rtol");
  out.nan_equal = args.Has("--nan-equal");
}

bool IsPlan(const std::string& operand) { return operand == "-" || EndsWith(operand, ".json"); }

}  // namespace

cli::Command CommandLine() {
  return {
      .tool = "ck-validate",
      .summary = "Checks checkpoints, or the inputs of a plan, without reading tensor data; compares two checkpoints.",
      .usage = {"ck-validate PATH...", "ck-validate PATH --against REFERENCE", "ck-validate [PLAN]"},
      .description =
          "PATH is a checkpoint, or a root whose marker says which one. Prints what was found: a table on a terminal, the report ck.report as JSON in a "
          "pipe.\n\n"
          "Without PATH it reads a plan from stdin, or from the file PLAN, whose name ends in .json. It checks every input and, as a merge would, the inputs "
          "against each other. A plan without errors is passed on unchanged; otherwise nothing is printed, and stderr says what is wrong.",
      .operands = {.name = "PATH", .min_count = 0, .max_count = cli::kAnyNumber},
      .options = cli::Concat({cli::ViewOptions(), ComparisonRows(), {cli::ReportOption(), cli::ThreadsOption()}}),
      .examples = {"ck-validate RUN", "ck-ls RUN --start 1000 --end 5000 | ck-coeffs --style minus-sqrt | ck-validate | ck-merge --output OUT",
                   "ck-validate MODEL --against REFERENCE --atol 1e-5", "ck-validate RUN/iter_* --json | jq '.findings[].id'"},
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
  ReadComparison(args, options);
  return options;
}

}  // namespace ck::validate
