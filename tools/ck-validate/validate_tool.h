// ck-validate: checks checkpoints or a plan, and passes a clean plan on.
//
// Exit.   0 clean (warnings included), 1 with findings of severity error, whose line has the id validate.findings; for a plan each finding has a line before it.
// Errors. Those of libs/validate, libs/cli, libs/plan, and of resolving a root (libs/checkpoint/discover.h).
// Manual. docs/manual/ck-validate.md.
#ifndef CK_TOOLS_CK_VALIDATE_VALIDATE_TOOL_H_
#define CK_TOOLS_CK_VALIDATE_VALIDATE_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::validate {

int Run(cli::Context& context);

}  // namespace ck::validate

#endif  // CK_TOOLS_CK_VALIDATE_VALIDATE_TOOL_H_
