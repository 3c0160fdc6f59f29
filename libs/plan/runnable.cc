#include "libs/base/text.h"
#include "libs/plan/forms.h"
#include "libs/plan/plan.h"

namespace ck::plan {
namespace {

using internal::PlanError;

void CheckIndex(const Plan& plan, uint64_t index, std::string_view member) {
  if (index < plan.inputs.size()) return;
  throw PlanError("plan.bad_index", Cat("steps[0].", member),
                  Cat("found ", index, ", but the plan has ", plan.inputs.size(), " inputs, counted from 0"));
}

void CheckMerge(const Plan& plan, const MergeStep& merge) {
  CheckIndex(plan, merge.extra_state_from, "extra_state_from");
  if (const uint64_t* index = std::get_if<uint64_t>(&merge.common_from)) CheckIndex(plan, *index, "common_from");
  if (plan.inputs.size() == 1) return;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (plan.inputs[i].weight) continue;
    throw PlanError("plan.missing_weight", Cat("inputs[", i, "]"),
                    Cat("no weight for ", Quote(plan.inputs[i].path), "; ck-coeffs gives the weights of a schedule"));
  }
}

void CheckNoMerge(const Plan& plan) {
  if (plan.inputs.size() > 1) {
    const std::string_view next = plan.steps.empty() ? "publish" : OpName(plan.steps.front());
    throw PlanError("plan.needs_merge", "steps",
                    Cat(plan.inputs.size(), " inputs reach ", Quote(next), " without a merge step; ck-merge adds one"));
  }
  const std::optional<double> weight = plan.inputs.front().weight;
  if (weight && *weight != 1) {
    throw PlanError("plan.needs_merge", "inputs[0].weight",
                    Cat("found ", FormatDouble(*weight), ", but without a merge step no weight is applied"));
  }
}

}  // namespace

std::string_view OpName(const Step& step) {
  static constexpr std::string_view kNames[] = {"merge", "retarget", "split"};
  return kNames[step.index()];
}

void CheckRunnable(const Plan& plan) {
  if (plan.inputs.empty()) throw PlanError("plan.no_inputs", "inputs", "the plan names no checkpoint");
  if (const MergeStep* merge = FindStep<MergeStep>(plan)) {
    CheckMerge(plan, *merge);
  } else {
    CheckNoMerge(plan);
  }
}

std::vector<double> Weights(const Plan& plan) {
  std::vector<double> weights;
  for (const Input& input : plan.inputs) weights.push_back(input.weight.value_or(1));
  return weights;
}

}  // namespace ck::plan
