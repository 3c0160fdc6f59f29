// The contents that the result of a plan would have: what carrying it out would write, from metadata alone.
#ifndef CK_TOOLS_CK_META_FROM_PLAN_H_
#define CK_TOOLS_CK_META_FROM_PLAN_H_

#include "libs/cli/diagnostics.h"
#include "libs/plan/plan.h"
#include "tools/ck-meta/contents.h"

namespace ck::meta {

// Runs the checks that carrying out runs. Errors: those of plan::CheckRunnable and libs/pipeline, the findings of the
// checks (pipeline.checks_failed when there are several, each on a line before it).
Contents FromPlan(const plan::Plan& plan, ChunkLists chunk_lists, cli::Diagnostics& diagnostics);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_FROM_PLAN_H_
