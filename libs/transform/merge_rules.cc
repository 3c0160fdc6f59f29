#include "libs/transform/merge_rules.h"

#include "libs/base/text.h"
#include "libs/megatron/keys.h"

namespace ck::transform {
namespace {

using checkpoint::Format;
using megatron::KeyClass;

// Roots that other trainers give to training state in plain DCP.
bool IsForeignTrainingState(std::string_view name) {
  for (const std::string_view root : {"optim", "lr_scheduler", "train_state", "dataloader", "scheduler", "rng", "random_states"}) {
    if (StartsWith(name, root)) return true;
  }
  return false;
}

}  // namespace

TensorRole RoleOf(Format format, const dcp::Tensor& tensor) {
  switch (megatron::Classify(tensor.name)) {
    case KeyClass::kModel:
      return TensorRole::kAverage;
    case KeyClass::kExtraState:
      return TensorRole::kExtraState;
    case KeyClass::kOther:
      return format == Format::kDcp && !IsForeignTrainingState(tensor.name) ? TensorRole::kAverage : TensorRole::kTrainingState;
    default:
      return TensorRole::kTrainingState;
  }
}

ObjectRole RoleOf(Format format, const dcp::Object& object) {
  switch (megatron::Classify(object.name)) {
    case KeyClass::kModel:
      return ObjectRole::kModelObject;
    case KeyClass::kExtraState:
      return ObjectRole::kExtraState;
    case KeyClass::kCommon:
      // torch_dist keeps its common state in one known object; loose ones are foreign there.
      return format != Format::kTorchDist || StartsWith(object.name, "common_state/") ? ObjectRole::kCommon : ObjectRole::kTrainingState;
    default:
      return ObjectRole::kTrainingState;
  }
}

}  // namespace ck::transform
