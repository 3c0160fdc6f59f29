// What ck-merge --output, ck-publish and every other verb with --output share: options, progress, summary, ck.result.
//
// Errors. Those of libs/run/carry_out.h. A run that a signal stopped exits with 128 + the signal's number.
#ifndef CK_CLI_CARRY_OUT_H_
#define CK_CLI_CARRY_OUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "libs/cli/command.h"
#include "libs/cli/run_main.h"
#include "libs/plan/plan.h"

namespace ck::cli {

// RunOptions and TargetOptions, and --if-same, --stage-only, --ignore-free-space.
std::vector<Option> CarryOutOptions();

// What can be said of these options before anything is opened. Throws usage.bad_value, usage.conflict.
void CheckCarryOutOptions(const Args& args);

// For a command that carries nothing out: throws usage.missing_option "option --dry-run WHY" for the first of them that is given. --iteration and --release are
// part of the plan and stay allowed.
void RefuseCarryOutOptions(const Args& args, std::string_view why);

// Puts --iteration and --release into the plan's target.
void ApplyTarget(const Args& args, plan::Plan& plan);

// Carries `plan` out to `output` as the options say; prints ck.result (or what --dry-run would do) on stdout and the summary on stderr. Returns the exit code.
int CarryOutPlan(Context& context, const plan::Plan& plan, const std::string& output);

}  // namespace ck::cli

#endif  // CK_CLI_CARRY_OUT_H_
