// Between the plan's words and libs/run's.
#ifndef CK_RUN_TARGET_H_
#define CK_RUN_TARGET_H_

#include "libs/checkpoint/checkpoint.h"
#include "libs/plan/plan.h"
#include "libs/run/placement.h"

namespace ck::run {

TargetIteration TargetOf(const plan::TargetIteration& target);
plan::Format FormatOf(checkpoint::Format format);

}  // namespace ck::run

#endif  // CK_RUN_TARGET_H_
