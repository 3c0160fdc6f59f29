#include "libs/transform/copy.h"

#include <utility>

#include "libs/checkpoint/common_state.h"
#include "libs/megatron/common_document.h"
#include "libs/transform/loose_common.h"

namespace ck::transform {

View CopyView(std::shared_ptr<const checkpoint::Checkpoint> source, std::optional<int64_t> iteration) {
  View view;
  view.inputs = {source};
  view.format = source->format();
  for (const dcp::Tensor& tensor : source->tensors()) {
    const auto number = static_cast<uint32_t>(view.leaves.size());
    view.leaves.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = Arithmetic::kCopy, .terms = {{.input = 0, .weight = 1.0}}});
    view.tensors.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .chunks = ChunkBoxes(tensor), .pieces = {Piece::Whole(number, tensor.shape)}});
  }
  const bool torch_dist = view.format == checkpoint::Format::kTorchDist;
  for (const dcp::Object& object : source->objects()) {
    if (torch_dist && checkpoint::IsCommonStateKey(object.name)) continue;  // becomes common.pt
    Object out{.name = object.name, .input = 0, .source_name = object.name, .literal = {}};
    if (iteration && !torch_dist) out.literal = WithIteration(*source, object, *iteration);
    view.objects.push_back(std::move(out));
  }
  KeepPlannerData(*source, view);
  if (torch_dist) {
    view.common = megatron::CopyCommonState(checkpoint::ReadCommonState(*source));
    if (iteration) megatron::SetIteration(*view.common, *iteration);
  }
  return view;
}

}  // namespace ck::transform
