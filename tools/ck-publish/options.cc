#include "tools/ck-publish/options.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"

namespace ck::publish {

namespace {

bool IsPlanName(const std::string& text) { return text == "-" || EndsWith(text, ".json"); }

void RefuseOperands(const cli::Args& args, const char* option, size_t allowed) {
  if (args.operands().size() <= allowed) return;
  throw UsageError("usage.extra_operand", Cat("operand ", Quote(args.operands()[allowed]), " is not taken with ", option));
}

// What only a run that writes data can obey.
void RefuseRunOptions(const cli::Args& args, const char* action) {
  for (const char* option : {"--dry-run", "--threads", "--progress", "--if-same", "--stage-only", "--ignore-free-space", "--iteration", "--release"}) {
    cli::RefuseTogether(args, {action, option});
  }
}

// A plan's name where only OUT stands: OUT was forgotten.
void RefusePlanAsOutput(const std::string& output) {
  if (IsPlanName(output)) throw UsageError("usage.missing_operand", Cat(Quote(output), " is a plan, and no OUT is given: where the result goes"));
}

}  // namespace

cli::Command CommandLine() {
  using cli::Arity;
  return {
      .tool = "ck-publish",
      .summary = "Carries a plan out, or copies a checkpoint, and makes the result appear complete or not at all.",
      .usage = {"ck-publish [OPTIONS] OUT", "ck-publish [OPTIONS] PLAN.json OUT", "ck-publish [OPTIONS] CHECKPOINT OUT", "ck-publish --staged DIR [OUT]", "ck-publish --gc ROOT"},
      .description =
          "With OUT alone reads the plan from stdin. The result is written under a hidden name beside OUT, read back, and renamed; then the marker is updated. "
          "When the plan has a target iteration the result is OUT/iter_NNNNNNN and the marker is OUT/latest_checkpointed_iteration.txt.",
      .operands = {.name = "[SOURCE] OUT", .min_count = 0, .max_count = 2},
      .options = cli::Concat({{
                                  {.name = "--staged", .arity = Arity::kOne, .value = "DIR", .help = "Check and publish what --stage-only left.", .group = "Actions"},
                                  {.name = "--gc", .arity = Arity::kOne, .value = "ROOT", .help = "Remove unfinished output under ROOT whose writer is gone.", .group = "Actions"},
                              },
                              cli::CarryOutOptions()}),
      .examples = {"ck-ls RUN --latest | ck-publish /archive/run", "ck-publish RUN/iter_0005000 /scratch/copy", "ck-publish --gc /scratch"},
      .exit_codes = {{1, ""}},
  };
}

Options ReadOptions(const cli::Args& args) {
  cli::RefuseTogether(args, {"--staged", "--gc"});
  cli::CheckCarryOutOptions(args);
  Options out;
  if (args.Has("--gc")) {
    RefuseOperands(args, "--gc", 0);
    RefuseRunOptions(args, "--gc");
    for (const char* option : {"--report", "--no-fsync", "--force-marker"}) cli::RefuseTogether(args, {"--gc", option});
    out.action = Options::Action::kGc;
    out.source = args.Get("--gc");
    return out;
  }
  if (args.Has("--staged")) {
    RefuseOperands(args, "--staged", 1);
    RefuseRunOptions(args, "--staged");
    out.action = Options::Action::kStaged;
    out.source = args.Get("--staged");
    if (!args.operands().empty()) out.output = args.operands()[0];
    return out;
  }
  if (args.operands().empty()) throw UsageError("usage.missing_operand", "no OUT is given: where the result goes");
  out.output = args.operands().back();
  RefusePlanAsOutput(*out.output);
  if (args.operands().size() == 2) {
    out.source = args.operands()[0];
    out.action = IsPlanName(*out.source) ? Options::Action::kPlan : Options::Action::kCopy;
  }
  return out;
}

}  // namespace ck::publish
