#include "tools/ck-merge/merge_tool.h"

#include <set>
#include <string>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/checkpoint/discover.h"
#include "libs/checkpoint/select.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/plan_input.h"
#include "libs/coefficients/schedule.h"
#include "libs/pipeline/named_input.h"
#include "libs/plan/plan.h"
#include "tools/ck-merge/options.h"

namespace ck::merge {

namespace {

constexpr char kManual[] = "manual";

plan::Plan ManualPlan(const Options& options, cli::Diagnostics& diagnostics) {
  plan::Plan plan;
  std::vector<double> weights;
  for (const WeightedPath& input : options.inputs) {
    pipeline::NamedInput named = pipeline::ResolveInput(input.path);
    if (!named.note.empty()) diagnostics.Note(named.note);
    plan.inputs.push_back(std::move(named.input));
    weights.push_back(input.weight);
  }
  if (plan.inputs.size() < options.range.min_checkpoints) {
    const size_t count = plan.inputs.size();
    throw InputError("select.too_few", Cat(count, count == 1 ? " input is" : " inputs are", " given, --min-checkpoints wants ", options.range.min_checkpoints));
  }
  if (options.normalize) weights = coefficients::Normalize(weights);
  for (size_t i = 0; i < weights.size(); ++i) plan.inputs[i].weight = weights[i];
  plan.coefficients = {.style = kManual, .seed = "0", .normalized = options.normalize};
  return plan;
}

plan::Plan RangePlan(const Options& options, cli::Diagnostics& diagnostics) {
  const checkpoint::Listing listing = checkpoint::ListRoot(options.root, checkpoint::Depth::kNames);
  if (listing.is_checkpoint) {
    throw InputError("select.no_root", Cat(listing.root, " is a checkpoint; a range is over a root with iter_* directories"));
  }
  const checkpoint::Selected selected = checkpoint::Select(listing, options.range);
  if (!selected.note.empty()) diagnostics.Note(selected.note);
  plan::Plan plan;
  for (const checkpoint::Found& found : selected.checkpoints) plan.inputs.push_back(pipeline::InputFor(found.path, found.iteration));
  const std::vector<double> weights = coefficients::Schedule(options.style, plan.inputs.size(), options.seed);
  for (size_t i = 0; i < weights.size(); ++i) plan.inputs[i].weight = weights[i];
  plan.coefficients = {.style = options.style, .seed = options.seed, .normalized = true};
  plan.target = static_cast<int64_t>(*options.range.end);
  return plan;
}

plan::Plan InitialPlan(const Options& options, cli::Context& context) {
  switch (options.source) {
    case Options::Source::kManual:
      return ManualPlan(options, context.diagnostics);
    case Options::Source::kRange:
      return RangePlan(options, context.diagnostics);
    case Options::Source::kPlan:
      break;
  }
  return cli::ReadPlan(context.streams, options.plan_file);
}

void AddStep(const Options& options, plan::Plan& plan, cli::Diagnostics& diagnostics) {
  if (plan::FindStep<plan::MergeStep>(plan)) throw InputError("merge.step_exists", "the plan has a merge step already");
  plan::MergeStep step = options.step;
  if (options.common_path) {
    const pipeline::NamedInput common = pipeline::ResolveInput(*options.common_path);
    if (!common.note.empty()) diagnostics.Note(common.note);
    step.common_from = common.input.path;
  }
  plan.steps.emplace_back(std::move(step));
}

// The warnings of weights given by hand; a schedule's need none.
void WarnAboutWeights(const plan::Plan& plan, cli::Diagnostics& diagnostics) {
  if (plan.coefficients.style.value_or(kManual) != kManual) return;
  std::vector<double> weights;
  for (const plan::Input& input : plan.inputs) {
    if (!input.weight) return;  // plan.missing_weight comes when it is carried out
    weights.push_back(*input.weight);
  }
  if (weights.empty()) return;
  const auto normalized = plan.coefficients.normalized ? coefficients::Normalized::kYes : coefficients::Normalized::kNo;
  for (const coefficients::Warning& warning : coefficients::Warnings(weights, normalized)) diagnostics.Warn(warning.id, warning.message);
}

// The same checkpoint twice counts with the sum of its weights: legal, and rarely meant.
void WarnAboutRepeats(const plan::Plan& plan, cli::Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (const plan::Input& input : plan.inputs) {
    if (!seen.insert(input.path).second) diagnostics.Warn("merge.input_repeated", Cat("input ", Quote(input.path, 4096), " is given more than once; its weights add up"));
  }
}

}  // namespace

int Run(cli::Context& context) {
  const Options options = ReadOptions(context.args);
  plan::Plan plan = InitialPlan(options, context);
  AddStep(options, plan, context.diagnostics);
  if (options.end_ignored) context.diagnostics.Warn("merge.end_ignored", "--end-checkpoint without --start-checkpoint selects nothing: the inputs are those given with their weights");
  WarnAboutRepeats(plan, context.diagnostics);
  cli::ApplyTarget(context.args, plan);
  WarnAboutWeights(plan, context.diagnostics);
  plan.producer = {"ck-merge", std::string(kVersion)};
  if (options.output) return cli::CarryOutPlan(context, plan, *options.output);
  context.streams.Print(plan::Encode(plan));
  return 0;
}

}  // namespace ck::merge
