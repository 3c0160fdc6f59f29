#include "libs/megatron/model_keys.h"

#include <algorithm>
#include <array>

#include "libs/base/text.h"

namespace ck::megatron {
namespace {

constexpr std::array<std::string_view, 4> kRoots = {"embedding.", "decoder.", "output_layer.", "mtp."};
constexpr std::string_view kLayers = "decoder.layers.";

bool Consume(std::string_view& text, std::string_view prefix) {
  if (!StartsWith(text, prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// True when `text` is `module` or something inside it.
bool IsInside(std::string_view text, std::string_view module) {
  return StartsWith(text, module) && (text.size() == module.size() || text[module.size()] == '.');
}

template <size_t N>
bool IsInsideAny(std::string_view text, const std::array<std::string_view, N>& modules) {
  return std::any_of(modules.begin(), modules.end(), [&](std::string_view module) { return IsInside(text, module); });
}

std::optional<Dims> ParseDots(std::string_view text) {
  Dims out;
  for (const std::string& part : Split(text, '.')) {
    const auto number = ParseUint64(part);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

std::string FormatDots(const Dims& dims) {
  std::vector<std::string> parts;
  for (const uint64_t dim : dims) parts.push_back(Cat(dim));
  return Join(parts, ".");
}

}  // namespace

std::optional<std::string_view> WrapperPrefix(std::string_view key) {
  std::string_view rest = key;
  while (Consume(rest, "model.") || Consume(rest, "module.")) {
  }
  const bool known = std::any_of(kRoots.begin(), kRoots.end(), [&](std::string_view root) { return StartsWith(rest, root); });
  if (!known) return std::nullopt;
  return key.substr(0, key.size() - rest.size());
}

ModelKey ParseModelKey(std::string_view key) {
  ModelKey out;
  out.rest = key;
  std::string_view rest = key;
  if (Consume(rest, kLayers)) {
    const size_t dot = rest.find('.');
    const auto layer = dot == std::string_view::npos ? std::nullopt : ParseUint64(rest.substr(0, dot));
    out.part = ModelKey::Part::kLayer;
    out.layer = layer;
    out.rest = layer ? rest.substr(dot + 1) : rest;
  } else if (Consume(rest, "decoder.final_layernorm.") || Consume(rest, "decoder.final_norm.")) {
    out.part = ModelKey::Part::kFinalNorm;
    out.hybrid_final_norm = StartsWith(key, "decoder.final_norm.");
    out.rest = rest;
  } else if (StartsWith(key, "embedding.")) {
    out.part = ModelKey::Part::kEmbedding;
  } else if (StartsWith(key, "output_layer.")) {
    out.part = ModelKey::Part::kOutput;
  } else if (StartsWith(key, "mtp.")) {
    out.part = ModelKey::Part::kMtp;
  }
  return out;
}

LayerPart PartOfLayer(std::string_view rest) {
  static constexpr std::array<std::string_view, 6> kAttention = {
      "input_layernorm",           "self_attention.linear_qkv", "self_attention.linear_proj", "self_attention.q_layernorm", "self_attention.k_layernorm",
      "self_attention.core_attention"};
  static constexpr std::array<std::string_view, 8> kMlp = {"pre_mlp_layernorm", "mlp.linear_fc1",     "mlp.linear_fc2",      "mlp.router",
                                                           "mlp.experts",       "mlp.shared_experts", "mlp.fc1_latent_proj", "mlp.fc2_latent_proj"};
  static constexpr std::array<std::string_view, 2> kMamba = {"mixer", "norm"};
  if (StartsWith(rest, "self_attention.core_attention.indexer.")) return LayerPart::kUnknown;  // sparse attention
  if (IsInsideAny(rest, kAttention)) return LayerPart::kAttention;
  if (IsInsideAny(rest, kMlp)) return LayerPart::kMlp;
  if (IsInsideAny(rest, kMamba)) return LayerPart::kMamba;
  return LayerPart::kUnknown;
}

std::optional<ShardName> ParseShardName(std::string_view key) {
  constexpr std::string_view kShard = "/shard_";
  const size_t at = key.rfind(kShard);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view numbers = key.substr(at + kShard.size());
  const size_t underscore = numbers.find('_');
  if (underscore == std::string_view::npos) return std::nullopt;
  auto offset = ParseDots(numbers.substr(0, underscore)), shape = ParseDots(numbers.substr(underscore + 1));
  if (!offset || !shape || offset->size() != shape->size()) return std::nullopt;
  return ShardName{.name = key.substr(0, at), .offset = std::move(*offset), .shape = std::move(*shape)};
}

std::string FormatShardName(std::string_view name, const Dims& offset, const Dims& shape) {
  return Cat(name, "/shard_", FormatDots(offset), "_", FormatDots(shape));
}

}  // namespace ck::megatron
