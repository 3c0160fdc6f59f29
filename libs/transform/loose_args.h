// The args and the iteration of an fsdp_dtensor view, which are byte objects of their own, as a common document and back.
#ifndef CK_TRANSFORM_LOOSE_ARGS_H_
#define CK_TRANSFORM_LOOSE_ARGS_H_

#include "libs/megatron/common_document.h"
#include "libs/transform/retarget_emit.h"
#include "libs/transform/view.h"

namespace ck::transform {

// A dict with `args` and `iteration`, as far as the view has such objects. Errors: those of reading a torch.save stream.
megatron::CommonDocument ReadLooseArgs(const View& view);

// All loose common state of the view (args, iteration, checkpoint_version, opt_param_scheduler, ...) as one dict. An object that holds tensors is refused:
// retarget.loose_tensor (kInput).
megatron::CommonDocument ReadLooseCommon(const View& view);

// Makes loose objects of a common state, and their paths in view.planner_data: one for each value, the values of opt_param_scheduler one by one. Other
// dicts are left out by the rule common_state.NAME.
void AddLooseObjects(const megatron::CommonDocument& document, View& view, LeftOutTally& left_out);

// Adds the paths of the view's tensors: model.KEY is KEY under `model`.
void AddModelPaths(View& view);

// Puts what the document says into the view's objects of these names; objects that the view has not are not made.
void WriteLooseArgs(const megatron::CommonDocument& document, View& view);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_LOOSE_ARGS_H_
