// ck-coeffs: gives the inputs of a plan their weights, and shows them.
//
// Weights come from exactly one place: --weights, a schedule (--style), or the plan itself. Without an option that says
// which, the plan's own weights stay; a plan without any gets the schedule "linear".
// Errors. coeffs.no_inputs, coeffs.count_differs, coeffs.partly_weighted (kInput), those of libs/cli, libs/plan and
//         libs/coefficients. Warnings: coeffs.negative_weight, coeffs.sum_not_one, coeffs.not_ascending.
// Manual. docs/manual/ck-coeffs.md.
#ifndef CK_TOOLS_CK_COEFFS_COEFFS_TOOL_H_
#define CK_TOOLS_CK_COEFFS_COEFFS_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::coeffs {

int Run(cli::Context& context);

}  // namespace ck::coeffs

#endif  // CK_TOOLS_CK_COEFFS_COEFFS_TOOL_H_
