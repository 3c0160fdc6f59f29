// The training arguments of a checkpoint: `args` of the common state, or the byte object `args` of fsdp_dtensor.
#ifndef CK_TOOLS_CK_META_ARGS_H_
#define CK_TOOLS_CK_META_ARGS_H_

#include <string>

#include "libs/cli/diagnostics.h"
#include "tools/ck-meta/contents.h"

namespace ck::meta {

// Where they are. Throws meta.no_args (kInput), and the errors of reading the object.
State TakeArgs(Contents& contents);

// One JSON object of the arguments whose name the filter matches.
std::string ArgsDocument(const State& args, const NameFilter& filter, cli::Diagnostics& diagnostics);
// A row for each.
std::string ArgsTable(const State& args, const NameFilter& filter);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_ARGS_H_
