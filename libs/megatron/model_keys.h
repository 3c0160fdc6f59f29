// The parts of a model key: which layer it belongs to, and which half of a GPT layer.
//
// Keys     are those of GPTModel and HybridModel after their wrapper prefix (model., module., any number of them).
// Shards   A byte object's key is NAME/shard_OFFSET_SHAPE, both joined by dots.
// Source.  docs/formats/megatron.md
#ifndef CK_MEGATRON_MODEL_KEYS_H_
#define CK_MEGATRON_MODEL_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libs/tensor/box.h"

namespace ck::megatron {

// The wrapper prefix of a key: what stands before embedding., decoder., output_layer. or mtp., when it is made of "model." and "module." only.
// nullopt for a key without such a part.
std::optional<std::string_view> WrapperPrefix(std::string_view key);

struct ModelKey {
  enum class Part {
    kLayer,      // decoder.layers.[N.]rest
    kFinalNorm,  // decoder.final_layernorm.rest (GPT), decoder.final_norm.rest (Hybrid)
    kEmbedding,
    kOutput,  // output_layer.
    kMtp,
    kOther,
  };
  Part part = Part::kOther;
  std::optional<uint64_t> layer;   // kLayer: nullopt in the stacked form
  bool hybrid_final_norm = false;  // kFinalNorm
  std::string_view rest;           // kLayer and kFinalNorm: after the layer or the norm, else the whole key
};

// `key` without its prefix.
ModelKey ParseModelKey(std::string_view key);

enum class LayerPart { kAttention, kMlp, kMamba, kUnknown };

// Which part of a layer `rest` belongs to; kUnknown for anything that neither GPT attention, MLP or MoE nor Mamba-2 has: nothing is guessed.
LayerPart PartOfLayer(std::string_view rest);

struct ShardName {
  std::string_view name;  // NAME
  Dims offset, shape;     // equal rank, at least 1
};
// nullopt for a key that has no shard, or a malformed one.
std::optional<ShardName> ParseShardName(std::string_view key);
std::string FormatShardName(std::string_view name, const Dims& offset, const Dims& shape);

}  // namespace ck::megatron

#endif  // CK_MEGATRON_MODEL_KEYS_H_
