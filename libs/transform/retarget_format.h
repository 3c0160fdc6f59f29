// One model in the other of Megatron's two formats: torch_dist (logical tensors, experts on an axis, Mamba tensors in parts) and fsdp_dtensor (the names
// that modules have in memory: gated fc1 in halves _w and _v, one tensor per expert, Mamba tensors packed; args and the rest as byte objects).
//
// The activation comes from args (swiglu) and must fit the shapes; nothing is guessed. Optimizer, rng and rerun state is left out.
// Findings: retarget.unmapped, .prefix, .gated, .experts, .mamba_size, .mtp, .no_args.
#ifndef CK_TRANSFORM_RETARGET_FORMAT_H_
#define CK_TRANSFORM_RETARGET_FORMAT_H_

#include "libs/plan/plan.h"
#include "libs/transform/retarget.h"
#include "libs/transform/view.h"

namespace ck::transform {

// `source` is a torch_dist view with one key per layer.
Retargeted ToFsdpDtensor(const plan::RetargetStep& step, View source);

// `source` is an fsdp_dtensor view. The result has one key per layer and no extra states.
Retargeted ToTorchDist(const plan::RetargetStep& step, View source);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_FORMAT_H_
