// What a merge does with each entry of a checkpoint. Shared by its checks and its view, so that they cannot disagree.
#ifndef CK_TRANSFORM_MERGE_RULES_H_
#define CK_TRANSFORM_MERGE_RULES_H_

#include "libs/checkpoint/checkpoint.h"
#include "libs/dcp/metadata.h"

namespace ck::transform {

enum class TensorRole {
  kAverage,
  kExtraState,     // copied from one source
  kTrainingState,  // refused, or left out with weights_only
};

enum class ObjectRole {
  kExtraState,     // copied from one source
  kCommon,         // common state: torch_dist replaces it by common.pt; fsdp_dtensor and dcp copy it from the common source
  kTrainingState,  // refused, or left out with weights_only
  kModelObject,    // a byte object under a model key: always refused
};

// In plain DCP any tensor that is not recognised as training state is a model tensor: such checkpoints have no fixed roots.
TensorRole RoleOf(checkpoint::Format format, const dcp::Tensor& tensor);
ObjectRole RoleOf(checkpoint::Format format, const dcp::Object& object);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_MERGE_RULES_H_
