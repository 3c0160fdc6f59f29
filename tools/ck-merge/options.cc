#include "tools/ck-merge/options.h"

#include <cmath>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"
#include "libs/coefficients/schedule.h"

namespace ck::merge {

namespace {

using cli::Arity;

constexpr char kInputs[] = "Inputs";
constexpr char kResult[] = "Result";

std::vector<cli::Option> InputOptions() {
  return {
      {.name = "--merge-inputs", .arity = Arity::kList, .value = "PATH:WEIGHT", .help = "The same as operands. With --start-checkpoint: one root.", .group = kInputs},
      {.name = "--normalize", .help = "Divide the weights of PATH:WEIGHT inputs by their sum.", .group = kInputs},
      {.name = "--start-checkpoint", .aliases = {"--start"}, .arity = Arity::kOne, .value = "N", .help = "Merge the checkpoints of a root from this iteration on.", .group = kInputs},
      {.name = "--end-checkpoint", .aliases = {"--end"}, .arity = Arity::kOne, .value = "N", .help = "Up to this iteration, which must exist.", .group = kInputs},
      {.name = "--min-iteration-interval", .aliases = {"--min-interval"}, .arity = Arity::kOne, .value = "N", .help = "Keep checkpoints at least N iterations apart, counted back from the last.", .group = kInputs},
      {.name = "--min-checkpoints", .arity = Arity::kOne, .value = "N", .help = "Fail with fewer inputs than this.", .group = kInputs},
      {.name = "--merge-style", .aliases = {"--style"}, .arity = Arity::kOne, .value = "STYLE", .help = "Weights of a range by a schedule. Default: linear.", .group = kInputs, .choices = coefficients::StyleNames()},
      {.name = "--coefficient-seed", .aliases = {"--seed"}, .arity = Arity::kOne, .value = "N", .help = "Seed of the __scramble styles. Default: 0.", .group = kInputs},
      {.name = "--ckpt-format", .arity = Arity::kOne, .value = "torch_dist", .choices = {"torch_dist"}, .shown = cli::Shown::kNo},
      {.name = "--merge-balance-rank-work", .shown = cli::Shown::kNo},
      {.name = "--merge-byte-accounting", .arity = Arity::kOne, .value = "MODE", .choices = {"rank0", "all", "none"}, .shown = cli::Shown::kNo},
  };
}

std::vector<cli::Option> ResultOptions() {
  return {
      {.name = "--dtype", .arity = Arity::kOne, .value = "DTYPE", .help = "Dtype of the averaged tensors: same, float32, float16, bfloat16. Tensors that must stay as they are (expert_bias, A_log, D, dt_bias) stay.",
       .group = kResult, .choices = {"same", "float32", "float16", "bfloat16"}},
      {.name = "--cast-all", .help = "Let --dtype cast every averaged tensor.", .group = kResult},
      {.name = "--merge-save-dtype", .arity = Arity::kOne, .value = "DTYPE", .help = "--dtype DTYPE --cast-all.", .group = kResult, .choices = {"same", "float32", "float16", "bfloat16"}},
      {.name = "--weights-only", .help = "Leave optimizer, rng and rerun state out instead of refusing it.", .group = kResult},
      {.name = "--copy-identical", .help = "Copy tensors without an average (integers, bool, fp8) when all inputs hold the same bytes.", .group = kResult},
      {.name = "--extra-state-from", .aliases = {"--extra-state-source-index"}, .arity = Arity::kOne, .value = "INDEX", .help = "The input whose extra states are copied, counted from 0. Default: 0.", .group = kResult},
      {.name = "--common-from", .arity = Arity::kOne, .value = "INDEX", .help = "The input whose common state is used. Default: the one that has the output's iteration, else 0.", .group = kResult},
      {.name = "--common-state-checkpoint", .arity = Arity::kOne, .value = "PATH", .help = "Another checkpoint that supplies common state and extra states.", .group = kResult},
  };
}

plan::SaveDtype ReadDtype(const std::string& name) {
  if (name == "float32") return plan::SaveDtype::kFloat32;
  if (name == "float16") return plan::SaveDtype::kFloat16;
  if (name == "bfloat16") return plan::SaveDtype::kBfloat16;
  return plan::SaveDtype::kSame;
}

plan::MergeStep ReadStep(const cli::Args& args) {
  cli::RefuseTogether(args, {"--dtype", "--merge-save-dtype"});
  cli::RefuseTogether(args, {"--common-from", "--common-state-checkpoint"});
  if (args.Has("--cast-all") && !args.Has("--dtype") && !args.Has("--merge-save-dtype")) {
    throw UsageError("usage.missing_option", "option --cast-all needs --dtype: which dtype to cast to");
  }
  plan::MergeStep step;
  step.dtype = ReadDtype(args.Has("--merge-save-dtype") ? args.GetOr("--merge-save-dtype", "same") : args.GetOr("--dtype", "same"));
  step.cast_all = args.Has("--cast-all") || (args.Has("--merge-save-dtype") && step.dtype != plan::SaveDtype::kSame);
  step.weights_only = args.Has("--weights-only");
  step.copy_identical = args.Has("--copy-identical");
  step.extra_state_from = args.GetUint("--extra-state-from").value_or(0);
  if (const auto index = args.GetUint("--common-from")) step.common_from = *index;
  return step;
}

std::string ReadSeed(const cli::Args& args) {
  const std::string seed = args.GetOr("--coefficient-seed", "0");
  if (coefficients::IsSeed(seed)) return seed;
  throw UsageError("usage.bad_value", Cat("value of ", args.NameUsed("--coefficient-seed"), " is ", Quote(seed), ", expected an integer"));
}

uint64_t ReadMinCheckpoints(const cli::Args& args) {
  const auto count = args.GetUint("--min-checkpoints");
  if (count && *count == 0) throw UsageError("usage.bad_value", "value of --min-checkpoints is 0, expected at least 1");
  return count.value_or(0);
}

void RefuseWithoutRange(const cli::Args& args) {
  for (const char* option : {"--merge-style", "--coefficient-seed", "--min-iteration-interval"}) {
    if (args.Has(option)) throw UsageError("usage.missing_option", Cat("option ", args.NameUsed(option), " needs --start-checkpoint and --end-checkpoint: it belongs to a range"));
  }
}

// A range of one root, as --start-checkpoint asks for.
void ReadRange(const cli::Args& args, const std::vector<std::string>& paths, Options& out) {
  if (paths.size() != 1) throw UsageError("usage.bad_value", Cat("a range is over one root, ", paths.size(), " are given"));
  if (args.Has("--normalize")) throw UsageError("usage.conflict", "--normalize is for PATH:WEIGHT inputs; the weights of a range sum to 1");
  out.source = Options::Source::kRange;
  out.root = paths[0];
  out.range.start = args.GetUint("--start-checkpoint");
  out.range.end = args.GetUint("--end-checkpoint");
  out.range.min_interval = args.GetInt("--min-iteration-interval").value_or(0);
  out.range.min_checkpoints = ReadMinCheckpoints(args);
  out.style = args.GetOr("--merge-style", "linear");
  out.seed = ReadSeed(args);
  checkpoint::CheckSelection(out.range);
}

bool IsPlanName(const std::string& text) { return text == "-" || EndsWith(text, ".json"); }

void ReadInputs(const cli::Args& args, Options& out) {
  std::vector<std::string> paths = args.operands();
  const bool plan_operand = paths.size() == 1 && IsPlanName(paths[0]);
  if (plan_operand && args.Has("--merge-inputs")) throw UsageError("usage.conflict", "a plan and --merge-inputs are given; inputs come from one place");
  if (plan_operand) {
    out.plan_file = paths[0];
    paths.clear();
  }
  for (const std::string& path : args.All("--merge-inputs")) paths.push_back(path);
  if (args.Has("--start-checkpoint")) return ReadRange(args, paths, out);
  RefuseWithoutRange(args);
  if (paths.empty()) {
    // A plan. --end alone has no meaning for it.
    for (const char* option : {"--normalize", "--end-checkpoint", "--min-checkpoints"}) {
      if (args.Has(option)) throw UsageError("usage.conflict", Cat(args.NameUsed(option), " needs inputs on the command line; a plan has its own"));
    }
    return;
  }
  out.source = Options::Source::kManual;
  out.normalize = args.Has("--normalize");
  out.range.min_checkpoints = ReadMinCheckpoints(args);
  out.end_ignored = args.Has("--end-checkpoint");
  for (const std::string& path : paths) out.inputs.push_back(ParseWeightedPath(args.Has("--merge-inputs") ? "--merge-inputs" : "operand", path));
}

}  // namespace

cli::Command CommandLine() {
  return {
      .tool = "ck-merge",
      .summary = "Averages checkpoints of one model, each with its weight.",
      .usage = {"ck-merge [OPTIONS] [PLAN.json | -]", "ck-merge [OPTIONS] PATH:WEIGHT... [--output OUT]",
                "ck-merge --merge-inputs ROOT --start-checkpoint N --end-checkpoint N --merge-output OUT"},
      .description =
          "Adds the step \"merge\" to a plan and prints it; with --output carries the plan out. The sum is accumulated in single precision with fused "
          "multiply-add, in the order of the inputs, and rounded once.\n\n"
          "PATH is a checkpoint or a root with a marker. The last colon splits PATH and WEIGHT. A negative weight subtracts; a weight of 0 reads no data.",
      .operands = {.name = "PATH:WEIGHT", .min_count = 0, .max_count = 100000},
      .options = cli::Concat({InputOptions(), ResultOptions(), {cli::OutputOption({"--merge-output"})}, cli::CarryOutOptions()}),
      .examples = {"ck-ls RUN --start 1000 --end 5000 | ck-coeffs --style minus-sqrt | ck-merge | ck-publish OUT",
                   "ck-merge A:0.25 B:0.75 --output OUT --output-iteration 2000"},
      .exit_codes = {{1, ""}},
  };
}

WeightedPath ParseWeightedPath(const std::string& name, const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw UsageError("usage.missing_weight", Cat(name, " ", Quote(text), " has no weight, expected PATH:WEIGHT"));
  }
  const std::string weight_text = text.substr(colon + 1);
  const auto weight = ParseDouble(weight_text);
  if (!weight) throw UsageError("usage.bad_weight", Cat("weight ", Quote(weight_text), " of ", name, " ", Quote(text), " is not a number"));
  if (!std::isfinite(*weight)) throw UsageError("usage.bad_weight", Cat("weight ", Quote(weight_text), " of ", name, " ", Quote(text), " is not finite"));
  return {.path = text.substr(0, colon), .weight = *weight};
}

Options ReadOptions(const cli::Args& args) {
  Options out;
  ReadInputs(args, out);
  out.step = ReadStep(args);
  out.common_path = args.Get("--common-state-checkpoint");
  out.output = args.Get("--output");
  cli::CheckCarryOutOptions(args);
  if (!out.output) cli::RefuseCarryOutOptions(args, "needs --output: without it the plan is printed and nothing is carried out");
  return out;
}

}  // namespace ck::merge
