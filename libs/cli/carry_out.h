// What ck-merge --output, ck-publish and every other verb with --output share: options, progress, summary, ck.result.
//
// Errors. Those of libs/run/carry_out.h. A run that a signal stopped exits with 128 + the signal's number.
#ifndef CK_CLI_CARRY_OUT_H_
#define CK_CLI_CARRY_OUT_H_

#include <string>
#include <vector>

#include "libs/cli/command.h"
#include "libs/cli/run_main.h"
#include "libs/plan/plan.h"

namespace ck::cli {

// RunOptions and TargetOptions, and --if-same, --stage-only, --ignore-free-space.
std::vector<Option> CarryOutOptions();

// Puts --iteration and --release into the plan's target.
void ApplyTarget(const Args& args, plan::Plan& plan);

// Carries `plan` out to `output` as the options say; prints ck.result (or what --dry-run would do) on stdout and the summary on stderr. Returns the exit code.
int CarryOutPlan(Context& context, const plan::Plan& plan, const std::string& output);

}  // namespace ck::cli

#endif  // CK_CLI_CARRY_OUT_H_
