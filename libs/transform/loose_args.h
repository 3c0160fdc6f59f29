// The args and the iteration of an fsdp_dtensor view, which are byte objects of their own, as a common document and back.
#ifndef CK_TRANSFORM_LOOSE_ARGS_H_
#define CK_TRANSFORM_LOOSE_ARGS_H_

#include "libs/megatron/common_document.h"
#include "libs/transform/view.h"

namespace ck::transform {

// A dict with `args` and `iteration`, as far as the view has such objects. Errors: those of reading a torch.save stream.
megatron::CommonDocument ReadLooseArgs(const View& view);

// Puts what the document says into the view's objects of these names; objects that the view has not are not made.
void WriteLooseArgs(const megatron::CommonDocument& document, View& view);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_LOOSE_ARGS_H_
