#include "libs/huggingface/caster.h"

#include <optional>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/megatron/keys.h"
#include "libs/tensor/dtype.h"

namespace ck::huggingface {
namespace {

std::optional<DType> CastTarget(plan::SaveDtype dtype) {
  switch (dtype) {
    case plan::SaveDtype::kSame:
      return std::nullopt;
    case plan::SaveDtype::kFloat32:
      return DType::kF32;
    case plan::SaveDtype::kFloat16:
      return DType::kF16;
    case plan::SaveDtype::kBfloat16:
      return DType::kBF16;
  }
  throw InternalError("internal.check_failed", "a save dtype is one of four");
}

}  // namespace

// What a merge keeps, the sinks of a softmax, and the router of the classes that hold its weight in fp32 whatever the model's dtype is.
bool Caster::KeepsDtype(const std::string& key) const {
  if (megatron::KeepsDtype(key) || EndsWith(key, ".softmax_offset")) return true;
  switch (family_) {
    case Family::kDeepseekV2:
    case Family::kDeepseekV3:
    case Family::kGlm4Moe:
    case Family::kNemotronH:
      return EndsWith(key, ".mlp.router.weight");
    default:
      return false;
  }
}

void Caster::Apply(const transform::View& source, const std::string& key, transform::Tensor& tensor) {
  const auto target = CastTarget(step_.dtype);
  if (!target || *target == tensor.dtype || !IsMergeable(tensor.dtype)) return;
  if (!step_.cast_all && KeepsDtype(key)) {
    ++kept_;
    return;
  }
  for (const transform::Piece& piece : tensor.pieces) {
    const DType stored = source.leaves[piece.leaf].dtype;
    if (stored == tensor.dtype) continue;
    throw InputError("split.double_cast", Cat("tensor ", Quote(key), " is cast from ", Name(stored), " to ", Name(tensor.dtype), " by an earlier step and would be cast to ", Name(*target),
                                              " by the split: give one --dtype only"));
  }
  tensor.dtype = *target;
}

void Caster::AddNote(transform::View& view) const {
  if (kept_ > 0) view.notes.push_back(Cat(kept_, " tensors keep their dtype (expert_bias, A_log, D, dt_bias, softmax_offset, routers that the class holds in fp32); --cast-all casts them too"));
}

}  // namespace ck::huggingface
