// A Megatron model as the tables see it: one key per tensor and layer, whatever the checkpoint's form.
//
// Forms.   Layers stacked along axis 0 or keyed one by one; a wrapper prefix (model., module.); GPT or Hybrid (a GPT layer is then an attention layer and the MLP
//          or MoE layer after it); a gated fc1 in two tensors (weight_w, weight_v), as Megatron-FSDP writes it.
// Errors.  split.adapter, split.layers, split.hybrid, split.model_object (kInput), and those of ParsePattern.
#ifndef CK_HUGGINGFACE_MODEL_SOURCE_H_
#define CK_HUGGINGFACE_MODEL_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

inline constexpr uint64_t kMaxLayers = 100'000;  // the deepest models have some hundred

// One tensor of the view, or one row of a stacked one.
struct Part {
  uint32_t tensor = 0;          // index into the view's tensors
  std::optional<uint64_t> row;  // of its axis 0
};

struct Parameter {
  DType dtype = DType::kF32;
  Dims shape;               // without the layer axis
  std::vector<Part> parts;  // one, or the halves of a gated fc1, joined along axis 0
  std::string source_name;  // the first part's key in the checkpoint, for messages
};

struct ModelSource {
  std::map<std::string, Parameter> parameters;  // by key, "decoder.layers.0.self_attention.linear_qkv.weight"
  uint64_t layers = 0;                          // of the decoder, as a GPT model counts
  std::map<std::string, transform::LeftOut> left_out;  // by rule
};

// kKeep: the layers of a Hybrid model keep their numbers and may be Mamba layers; else they become those of a GPT model.
enum class HybridLayers { kAsGpt, kKeep };
ModelSource ReadModelSource(const transform::View& view, HybridLayers hybrid_layers = HybridLayers::kAsGpt);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_MODEL_SOURCE_H_
