#include <algorithm>

#include "libs/base/text.h"
#include "libs/huggingface/derive_parts.h"
#include "libs/huggingface/hybrid_layers.h"
#include "libs/megatron/pattern.h"

namespace ck::huggingface {
namespace {

std::string ClassOf(const ModelConfig& model) {
  return ClassName(model.architecture);
}

// A Hybrid model whose layers pair up as attention, MLP is the GPT model of half as many.
void PairLayers(const SavedArgs& args, std::string_view name, const megatron::Pattern& pattern, ModelConfig& model) {
  const auto faults = megatron::CheckGptPattern(pattern, megatron::Reorder::kRefuse);
  if (!faults.empty())
    throw args.NotExpressible(
        name, Cat(ClassOf(model), " has attention and an MLP in every layer: ", faults.front().message));
  const megatron::GptLayers gpt = megatron::MapGptLayers(pattern);
  if (!gpt.mamba.empty()) throw args.NotExpressible(name, Cat(ClassOf(model), " has no Mamba layers"));
  model.layers.assign(gpt.attention.size(), LayerKind::kFullAttention);
  for (const uint64_t layer : gpt.mlp)
    model.expert_layers.push_back(pattern.layers[layer].family == megatron::Family::kMoe);
}

void DeriveHybrid(const SavedArgs& args, ModelConfig& model) {
  const std::string_view name = args.PatternName();
  const megatron::Pattern pattern = megatron::ParsePattern(*args.String(name));
  const Family family = model.architecture.family;
  if (family != Family::kNemotronH && family != Family::kMamba2) {
    PairLayers(args, name, pattern, model);
    return;
  }
  model.layers = LayersOfPattern(pattern.Symbols());
  if (family == Family::kMamba2 && std::count(model.layers.begin(), model.layers.end(), LayerKind::kMamba) !=
                                       static_cast<int64_t>(model.layers.size())) {
    throw args.NotExpressible(name, "Mamba2ForCausalLM has Mamba layers only");
  }
  for (const LayerKind kind : model.layers) model.expert_layers.push_back(kind == LayerKind::kExpertsOnly);
  model.mtp_layers = pattern.mtp_depth;
}

// moe_layer_freq: N gives every N-th layer experts, beginning with the first; a list has one number a layer.
std::vector<bool> ExpertLayers(const SavedArgs& args, uint64_t layers) {
  std::vector<bool> out(layers, false);
  if (args.Uint("num_experts").value_or(0) == 0) return out;
  const auto frequency = args.Ints("moe_layer_freq").value_or(std::vector<int64_t>{1});
  const bool list = args.Ints("moe_layer_freq") && !args.IsInt("moe_layer_freq");
  if (list ? frequency.size() != layers : frequency.front() < 1)
    throw args.Wrong("moe_layer_freq", Cat("a positive integer or a list of ", layers));
  for (uint64_t i = 0; i < layers; ++i)
    out[i] = list ? frequency[i] != 0 : i % static_cast<uint64_t>(frequency.front()) == 0;
  return out;
}

// N: every N-th layer is the exception; a list has 1 for the rule.
std::vector<bool> EveryButNth(const SavedArgs& args, std::string_view name, uint64_t layers) {
  std::vector<bool> out(layers, true);
  const auto frequency = args.Ints(name);
  if (!frequency) return out;
  const bool list = !args.IsInt(name);
  if (list ? frequency->size() != layers : frequency->front() < 1)
    throw args.Wrong(name, Cat("a positive integer or a list of ", layers));
  for (uint64_t i = 0; i < layers; ++i)
    out[i] = list ? (*frequency)[i] != 0 : (i + 1) % static_cast<uint64_t>(frequency->front()) != 0;
  return out;
}

void DeriveWindows(const SavedArgs& args, ModelConfig& model) {
  const auto window = args.Ints("window_size");
  if (!window || window->front() < 0) return;
  if (window->size() != 2 || (*window)[1] > 0)
    throw args.NotExpressible("window_size", "only (w - 1, 0), a window that looks back, has a field");
  if (static_cast<uint64_t>(window->front()) >= kMaxConfigSize)
    throw args.Wrong("window_size", Cat("below ", kMaxConfigSize));
  model.sliding_window = static_cast<uint64_t>(window->front()) + 1;
  const auto windowed = EveryButNth(args, "window_attn_skip_freq", model.layers.size());
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (windowed[i] && model.layers[i] == LayerKind::kFullAttention) model.layers[i] = LayerKind::kSlidingAttention;
  }
  if (std::find(model.layers.begin(), model.layers.end(), LayerKind::kSlidingAttention) == model.layers.end())
    model.sliding_window.reset();
}

void DeriveLinearAttention(const SavedArgs& args, ModelConfig& model) {
  const std::string variant =
      args.String("experimental_attention_variant").value_or(args.String("linear_attention_type").value_or(""));
  const bool next = model.architecture.family == Family::kQwen3Next;
  const std::string_view name =
      args.Has("experimental_attention_variant") ? "experimental_attention_variant" : "linear_attention_type";
  if (!next && !variant.empty()) throw args.NotExpressible(name, Cat(ClassOf(model), " has no such layers"));
  if (!next) return;
  if (variant != "gated_delta_net") throw args.NotExpressible(name, "Qwen3NextForCausalLM has gated_delta_net layers");
  if (!args.Has("linear_attention_freq")) throw args.Missing("linear_attention_freq");
  const auto linear = EveryButNth(args, "linear_attention_freq", model.layers.size());
  for (size_t i = 0; i < linear.size(); ++i) {
    if (linear[i]) model.layers[i] = LayerKind::kLinearAttention;
  }
  model.gdn = Gdn{.key_heads = args.Size("linear_num_key_heads"),
                  .key_dim = args.Size("linear_key_head_dim"),
                  .value_heads = args.Size("linear_num_value_heads"),
                  .value_dim = args.Size("linear_value_head_dim"),
                  .conv_taps = args.Size("linear_conv_kernel_dim")};
}

}  // namespace

void DeriveLayers(const SavedArgs& args, ModelConfig& model) {
  for (const char* name :
       {"heterogeneous_block_specs", "heterogeneous_layers_config_path", "heterogeneous_layers_config_encoded_json"}) {
    if (args.IsSet(name)) throw args.NotExpressible(name, Cat(ClassOf(model), " has layers of one shape"));
  }
  if (!args.PatternName().empty()) {
    DeriveHybrid(args, model);
  } else {
    const Family family = model.architecture.family;
    if (family == Family::kNemotronH || family == Family::kMamba2) throw args.Missing("hybrid_layer_pattern");
    const uint64_t layers = args.Size("num_layers");
    if (layers > kMaxConfigLayers) throw args.Wrong("num_layers", Cat("at most ", kMaxConfigLayers));
    model.layers.assign(layers, LayerKind::kFullAttention);
    model.expert_layers = ExpertLayers(args, layers);
    model.mtp_layers = args.Uint("mtp_num_layers").value_or(0);
  }
  DeriveWindows(args, model);
  DeriveLinearAttention(args, model);
}

}  // namespace ck::huggingface
