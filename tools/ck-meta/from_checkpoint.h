// The contents of a checkpoint. Only metadata and the common state are read.
//
// What is not whole is listed as far as it goes: missing and short files, a common state that cannot be read, classes
// that ck does not know are warnings.
#ifndef CK_TOOLS_CK_META_FROM_CHECKPOINT_H_
#define CK_TOOLS_CK_META_FROM_CHECKPOINT_H_

#include <string>

#include "libs/cli/diagnostics.h"
#include "tools/ck-meta/contents.h"

namespace ck::meta {

// `path` is a checkpoint, or a root that its marker resolves. Errors: those of checkpoint::Resolve and
// checkpoint::Checkpoint::Open.
Contents FromCheckpoint(const std::string& path, ChunkLists chunk_lists, cli::Diagnostics& diagnostics);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_FROM_CHECKPOINT_H_
