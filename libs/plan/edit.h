// What the verbs do to a plan. Each keeps the plan one that Encode accepts.
//
// Errors.  kInput: plan.step_order, plan.weight_count, plan.bad_target.
// Source.  docs/manual/plan.md.
#ifndef CK_PLAN_EDIT_H_
#define CK_PLAN_EDIT_H_

#include <string_view>
#include <vector>

#include "libs/plan/plan.h"

namespace ck::plan {

// Appends the step. plan.step_order when the plan has such a step already, or one that must come after it. A retarget
// step that resets iterations sets the target to 0.
void AddStep(Plan& plan, Step step);

// Gives input i the weight i and records where the weights came from. plan.weight_count unless there is one for each
// input.
void SetWeights(Plan& plan, const std::vector<double>& weights, Coefficients from);

// "release", or a decimal number from 0 to 2^63 - 1; else plan.bad_target.
TargetIteration ParseTarget(std::string_view text);

}  // namespace ck::plan

#endif  // CK_PLAN_EDIT_H_
