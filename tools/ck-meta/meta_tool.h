// ck-meta: what is in a checkpoint, or what would be in the result of a plan.
//
// Errors.  meta.no_args (kInput), beside those of libs/cli, libs/plan, libs/pipeline and libs/checkpoint.
// Warnings. checkpoint.missing_file, checkpoint.short_file, checkpoint.incomplete, common.both_forms, meta.no_match,
//          meta.iteration_differs, meta.odd_metadata, meta.unknown_class, meta.state_cut, meta.unread_objects, and the
//          errors of a common state that cannot be read.
// Manual.  docs/manual/ck-meta.md.
#ifndef CK_TOOLS_CK_META_META_TOOL_H_
#define CK_TOOLS_CK_META_META_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::meta {

int Run(cli::Context& context);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_META_TOOL_H_
