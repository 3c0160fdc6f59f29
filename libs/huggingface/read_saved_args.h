// Finds the training arguments of a checkpoint: in its common state, or in its object `args` (fsdp_dtensor, plain DCP).
// Errors: those of reading a torch.save stream.
#ifndef CK_HUGGINGFACE_READ_SAVED_ARGS_H_
#define CK_HUGGINGFACE_READ_SAVED_ARGS_H_

#include "libs/huggingface/saved_args.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

// The view must outlive the result.
SavedArgs ReadSavedArgs(const transform::View& view);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_READ_SAVED_ARGS_H_
