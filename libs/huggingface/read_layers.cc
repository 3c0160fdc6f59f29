#include <algorithm>

#include "libs/base/text.h"
#include "libs/huggingface/hybrid_layers.h"
#include "libs/huggingface/read_parts.h"

namespace ck::huggingface {
namespace {

std::vector<LayerKind> ReadLayerTypes(const Fields& config, uint64_t layers) {
  std::vector<LayerKind> out;
  for (const std::string& word : config.Strings("layer_types")) {
    if (word == "full_attention") {
      out.push_back(LayerKind::kFullAttention);
    } else if (word == "sliding_attention") {
      out.push_back(LayerKind::kSlidingAttention);
    } else if (word == "linear_attention") {
      out.push_back(LayerKind::kLinearAttention);
    } else {
      throw config.Wrong("layer_types", "full_attention, sliding_attention or linear_attention");
    }
  }
  if (!out.empty() && out.size() != layers) {
    throw InputError("huggingface.config_conflict", Cat(config.Named("layer_types"), " has ", out.size(), " items, ",
                                                        Quote("num_hidden_layers"), " is ", layers));
  }
  return out;
}

// Every `period`-th layer is `last`, the others `first`.
std::vector<LayerKind> Periodic(uint64_t layers, uint64_t period, LayerKind first, LayerKind last) {
  std::vector<LayerKind> out;
  for (uint64_t i = 0; i < layers; ++i) out.push_back(period != 0 && (i + 1) % period == 0 ? last : first);
  return out;
}

std::vector<LayerKind> ReadWindows(const Fields& config, ModelConfig& model, uint64_t layers) {
  using enum LayerKind;
  constexpr uint64_t kGemmaWindow = 4096, kMistralWindow = 4096, kGptOssWindow = 128;
  std::vector<LayerKind> given = ReadLayerTypes(config, layers);
  const auto all = [&](LayerKind kind) { return std::vector<LayerKind>(layers, kind); };
  const auto window = config.Uint("sliding_window");
  const auto given_or = [&](std::vector<LayerKind> otherwise) {
    return given.empty() ? std::move(otherwise) : std::move(given);
  };
  switch (model.architecture.family) {
    case Family::kMistral:
    case Family::kMixtral:
    case Family::kPhi3:
    case Family::kStarcoder2:
      model.sliding_window = window;
      if (model.architecture.family == Family::kMistral && !config.Present("sliding_window"))
        model.sliding_window = kMistralWindow;
      return all(model.sliding_window ? kSlidingAttention : kFullAttention);
    case Family::kQwen2:
    case Family::kQwen3:
    case Family::kQwen2Moe: {
      if (!config.Bool("use_sliding_window").value_or(false) || window.value_or(0) == 0) return all(kFullAttention);
      model.sliding_window = window;
      constexpr uint64_t kDefaultWindowLayers = 28;
      const uint64_t first = config.Uint("max_window_layers").value_or(kDefaultWindowLayers);
      std::vector<LayerKind> out;
      for (uint64_t i = 0; i < layers; ++i) out.push_back(i >= first ? kSlidingAttention : kFullAttention);
      return given_or(std::move(out));
    }
    case Family::kQwen3Moe:
      if (config.Bool("use_sliding_window").value_or(false)) model.sliding_window = window;
      return all(model.sliding_window ? kSlidingAttention : kFullAttention);
    case Family::kGemma2:
      model.sliding_window = window.value_or(kGemmaWindow);
      return given_or(Periodic(layers, 2, kSlidingAttention, kFullAttention));
    case Family::kGemma3: {
      model.sliding_window = window.value_or(kGemmaWindow);
      constexpr uint64_t kDefaultPattern = 6;
      const uint64_t pattern =
          config.UintOf({"sliding_window_pattern", "_sliding_window_pattern"}).value_or(kDefaultPattern);
      return given_or(Periodic(layers, pattern, kSlidingAttention, kFullAttention));
    }
    case Family::kGptOss:
      model.sliding_window = window.value_or(kGptOssWindow);
      return given_or(Periodic(layers, 2, kSlidingAttention, kFullAttention));
    case Family::kQwen3Next: {
      constexpr uint64_t kDefaultInterval = 4;
      return given_or(Periodic(layers, config.Uint("full_attention_interval").value_or(kDefaultInterval),
                               kLinearAttention, kFullAttention));
    }
    default:
      return all(kFullAttention);
  }
}

std::vector<bool> ReadExpertLayers(const Fields& config, const ModelConfig& model) {
  const uint64_t layers = model.layers.size();
  std::vector<bool> out(layers, false);
  switch (model.architecture.family) {
    case Family::kMixtral:
    case Family::kOlmoe:
    case Family::kGptOss:
      out.assign(layers, true);
      break;
    case Family::kQwen2Moe:
    case Family::kQwen3Moe:
    case Family::kQwen3Next: {
      const uint64_t step = config.Uint("decoder_sparse_step").value_or(1);
      if (step == 0) throw config.Wrong("decoder_sparse_step", "a positive integer");
      for (uint64_t i = 0; i < layers; ++i) out[i] = (i + 1) % step == 0;
      if (const json::Value* dense = config.Find("mlp_only_layers")) {
        if (dense->AsArray() == nullptr) throw config.Wrong("mlp_only_layers", "a list of layers");
        for (const json::Value& item : *dense->AsArray()) {
          if (!item.AsUint()) throw config.Wrong("mlp_only_layers", "a list of layers");
          if (*item.AsUint() < layers) out[*item.AsUint()] = false;
        }
      }
      break;
    }
    case Family::kDeepseekV2:
    case Family::kDeepseekV3:
    case Family::kGlm4Moe: {
      const auto dense = config.Uint("first_k_dense_replace");
      if (!dense) throw config.Missing("first_k_dense_replace");
      for (uint64_t i = *dense; i < layers; ++i) out[i] = true;
      break;
    }
    case Family::kNemotronH:
      std::transform(model.layers.begin(), model.layers.end(), out.begin(),
                     [](LayerKind kind) { return kind == LayerKind::kExpertsOnly; });
      break;
    default:
      break;
  }
  return out;
}

}  // namespace

void ReadLayers(const Fields& config, ModelConfig& model) {
  if (model.architecture.family == Family::kNemotronH) {
    model.layers = ReadHybridLayers(config);
  } else {
    const uint64_t layers = config.Size("num_hidden_layers");
    if (layers > kMaxConfigLayers) {
      throw InputError("huggingface.config_range",
                       Cat(config.Named("num_hidden_layers"), " is ", layers, ", expected at most ", kMaxConfigLayers));
    }
    model.layers = model.architecture.family == Family::kMamba2 ? std::vector<LayerKind>(layers, LayerKind::kMamba)
                                                                : ReadWindows(config, model, layers);
  }
  const bool linear = std::count(model.layers.begin(), model.layers.end(), LayerKind::kLinearAttention) > 0;
  if (linear && model.architecture.family != Family::kQwen3Next)
    throw config.Wrong("layer_types", "full_attention or sliding_attention");
  const bool sliding = std::count(model.layers.begin(), model.layers.end(), LayerKind::kSlidingAttention) > 0;
  if (!sliding) model.sliding_window.reset();
  if (sliding && model.sliding_window.value_or(0) == 0)
    throw config.Wrong("sliding_window", "a positive integer, as layers have a window");
  model.expert_layers = ReadExpertLayers(config, model);
}

}  // namespace ck::huggingface
