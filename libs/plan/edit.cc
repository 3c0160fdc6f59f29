#include "libs/plan/edit.h"

#include "libs/base/text.h"
#include "libs/plan/forms.h"

namespace ck::plan {

using internal::PlanError;

void AddStep(Plan& plan, Step step) {
  if (!plan.steps.empty()) {
    const Step& last = plan.steps.back();
    if (step.index() == last.index()) {
      throw PlanError("plan.step_order", "steps", Cat("the plan has a ", Quote(OpName(step)), " step already"));
    }
    if (step.index() < last.index()) {
      throw PlanError(
          "plan.step_order", "steps",
          Cat(Quote(OpName(step)), " cannot follow ", Quote(OpName(last)), ": the order is merge, retarget, split"));
    }
  }
  const RetargetStep* retarget = std::get_if<RetargetStep>(&step);
  if (retarget != nullptr && retarget->reset_iterations) plan.target = int64_t{0};
  plan.steps.push_back(std::move(step));
}

void SetWeights(Plan& plan, const std::vector<double>& weights, Coefficients from) {
  if (weights.size() != plan.inputs.size()) {
    throw PlanError("plan.weight_count", "inputs", Cat(weights.size(), " weights for ", plan.inputs.size(), " inputs"));
  }
  for (size_t i = 0; i < weights.size(); ++i) plan.inputs[i].weight = weights[i];
  plan.coefficients = std::move(from);
}

TargetIteration ParseTarget(std::string_view text) {
  if (text == "release") return Release{};
  const std::optional<int64_t> iteration = ParseInt64(text);
  if (!iteration || *iteration < 0) {
    throw PlanError("plan.bad_target", "target.iteration",
                    Cat("found ", Quote(text), ", expected 'release' or an integer from 0 to 9223372036854775807"));
  }
  return *iteration;
}

}  // namespace ck::plan
