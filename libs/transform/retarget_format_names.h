// Names of layer tensors in fsdp_dtensor, taken apart.
#ifndef CK_TRANSFORM_RETARGET_FORMAT_NAMES_H_
#define CK_TRANSFORM_RETARGET_FORMAT_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ck::transform {

enum class Half { kGate, kUp };  // _w, _v

// A tensor of fsdp_dtensor as a part of one of torch_dist.
struct FsdpName {
  std::string rest;  // of the torch_dist tensor, after the layer
  std::optional<uint64_t> expert;
  std::optional<Half> half;
};

// mlp.experts.linear_fc1.weight3_w, mlp.experts.local_experts.3.linear_fc1.weight_w -> mlp.experts.experts.linear_fc1.weight, 3, gate;
// mlp.linear_fc1.weight_v -> mlp.linear_fc1.weight, up. Norms keep their names.
FsdpName ParseFsdpName(std::string_view rest);

// True for fc1 of a dense, shared or expert MLP, weight or bias: what a gated activation makes two halves of.
bool IsGatedTensor(std::string_view rest);

// The name of one part, as modules with grouped experts have it.
std::string FormatFsdpName(const FsdpName& name);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_FORMAT_NAMES_H_
