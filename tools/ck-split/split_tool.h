// ck-split: adds the step from Megatron to Hugging Face to a plan, or makes a plan from one checkpoint; carries it out with --output.
//
// Errors. Those of options.h, libs/plan, libs/pipeline/named_input.h; split.verl_directory (kInput); with --output those of libs/run/carry_out.h.
// Manual. docs/manual/ck-split.md.
#ifndef CK_TOOLS_CK_SPLIT_SPLIT_TOOL_H_
#define CK_TOOLS_CK_SPLIT_SPLIT_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::split {

int Run(cli::Context& context);

}  // namespace ck::split

#endif  // CK_TOOLS_CK_SPLIT_SPLIT_TOOL_H_
