// ck-merge: adds the weighted sum to a plan, or makes a plan from inputs and weights; carries it out with --output.
//
// Errors. Those of options.h, libs/plan, libs/coefficients, libs/checkpoint/select.h; merge.step_exists (kInput); with --output those of libs/run/carry_out.h.
//         Warnings: coeffs.negative_weight, coeffs.sum_not_one, merge.input_repeated, merge.end_ignored.
// Manual. docs/manual/ck-merge.md.
#ifndef CK_TOOLS_CK_MERGE_MERGE_TOOL_H_
#define CK_TOOLS_CK_MERGE_MERGE_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::merge {

int Run(cli::Context& context);

}  // namespace ck::merge

#endif  // CK_TOOLS_CK_MERGE_MERGE_TOOL_H_
