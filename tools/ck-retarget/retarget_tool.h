// ck-retarget: adds the change between GPT and Hybrid to a plan, carries it out with --output; explains patterns and pipeline splits.
//
// Errors. Those of options.h, libs/megatron/pattern.h and shards.h, libs/plan; pattern.* and retarget.* as errors of their own when a pattern on the command
//         line has no GPT counterpart; retarget.input_format (kInput); with --output those of libs/run/carry_out.h.
// Manual. docs/manual/ck-retarget.md.
#ifndef CK_TOOLS_CK_RETARGET_RETARGET_TOOL_H_
#define CK_TOOLS_CK_RETARGET_RETARGET_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::retarget {

int Run(cli::Context& context);

}  // namespace ck::retarget

#endif  // CK_TOOLS_CK_RETARGET_RETARGET_TOOL_H_
