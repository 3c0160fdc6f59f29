// ck-ls: lists checkpoints and selects the inputs of a plan.
//
// A plan's inputs are decided from names and metadata.json alone. Only a selected checkpoint without metadata.json
// has its metadata parsed, because nothing else tells fsdp_dtensor from plain DCP.
// Errors.  ls.not_a_root (kInput), beside those of libs/cli, libs/plan and libs/checkpoint (discover.h, select.h).
//          Warnings: marker.dangling, marker.malformed, checkpoint.duplicate_iteration.
// Manual.  docs/manual/ck-ls.md.
#ifndef CK_TOOLS_CK_LS_LS_TOOL_H_
#define CK_TOOLS_CK_LS_LS_TOOL_H_

#include "libs/cli/run_main.h"

namespace ck::ls {

int Run(cli::Context& context);

}  // namespace ck::ls

#endif  // CK_TOOLS_CK_LS_LS_TOOL_H_
