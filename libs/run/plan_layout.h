// What carrying a plan out writes, computed from the plan and the view of its result: for the run itself and for ck-meta, which shows it.
#ifndef CK_RUN_PLAN_LAYOUT_H_
#define CK_RUN_PLAN_LAYOUT_H_

#include <string>

#include "libs/plan/plan.h"
#include "libs/run/layout.h"
#include "libs/transform/view.h"

namespace ck::run {

// What is recorded as the maker of an output, "ck 0.1.0": not the tool that was typed, because the output is a function of the plan.
std::string Producer();

// The plan as it is written beside the data, into kPlanFile.
std::string RecordedPlan(plan::Plan plan);

// Every file but the sidecars, which the view lists; total_bytes counts them too.
Layout LayOutPlan(const plan::Plan& plan, const transform::View& view);

}  // namespace ck::run

#endif  // CK_RUN_PLAN_LAYOUT_H_
