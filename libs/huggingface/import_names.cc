#include "libs/huggingface/import_names.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

constexpr std::string_view kFusedNorm = ".layer_norm_";

bool IsFloat8OrLess(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2FNUZ:
    case DType::kF8E8M0:
    case DType::kF4:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string> WholeNames(const Rule& rule, std::optional<uint64_t> layer) {
  const std::string_view pattern = rule.hf[0];
  const size_t at = pattern.find(".{e}.");
  if (at == std::string_view::npos) return {};
  const std::string prefix = Expand(pattern.substr(0, at), "{i}", layer.value_or(0));
  std::string_view last = pattern.substr(at + 5);  // "gate_proj.weight"
  last = last.substr(0, last.find('.'));
  const std::string name = rule.transform == Transform::kGateUp ? "gate_up_proj" : last == "w2" ? "down_proj" : std::string(last);
  std::vector<std::string> out = {Cat(prefix, ".", name)};
  if (const std::string other = OtherName(prefix); !other.empty()) out.push_back(Cat(other, ".", name));
  return out;
}

std::string OtherName(const std::string& name) {
  constexpr std::string_view kOld = ".block_sparse_moe.";
  const size_t at = name.find(kOld);
  return at == std::string::npos ? "" : Cat(name.substr(0, at), ".mlp.", name.substr(at + kOld.size()));
}

bool IsRotaryBuffer(std::string_view name) { return EndsWith(name, ".rotary_emb.inv_freq"); }

void RefuseAdapterOrQuantized(const std::string& name, DType dtype) {
  for (const std::string_view part : {"lora_", "adapter.", "base_layer"}) {
    if (name.find(part) == std::string::npos) continue;
    throw InputError("split.adapter", Cat("tensor ", Quote(name), " belongs to an adapter; merge the adapter into the model first"));
  }
  static constexpr std::string_view kEndings[] = {"_scale_inv", ".weight_scale", ".input_scale", "_blocks", "_scales", ".qweight", ".qzeros", ".scales", ".absmax", ".quant_map", ".g_idx"};
  const bool quantized = IsFloat8OrLess(dtype) || std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) { return EndsWith(name, ending); });
  if (quantized) throw InputError("split.quantized", Cat("tensor ", Quote(name), ", ", Name(dtype), ", is part of a quantised weight; dequantise the model first"));
}

std::string KeyFor(const Rule& rule, std::optional<uint64_t> layer, TransformerImpl impl, LocalNorms local_norms) {
  std::string_view chosen = rule.megatron[0];
  if (impl == TransformerImpl::kLocal && local_norms != LocalNorms::kAsTheEngine && !JoinsTensors(rule.transform)) {
    for (const std::string_view key : rule.megatron) {
      const bool fused = key.find(kFusedNorm) != std::string_view::npos;
      if (fused == (local_norms == LocalNorms::kFused)) {
        chosen = key;
        break;
      }
    }
  }
  return Expand(chosen, "{i}", layer.value_or(0));
}

std::string SomeNames(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) shown.push_back(Quote(names[i]));
  return Cat(Join(shown, ", "), names.size() > kShown ? Cat(" and ", names.size() - kShown, " more") : "");
}

}  // namespace ck::huggingface
