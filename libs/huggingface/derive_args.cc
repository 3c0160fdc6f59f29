#include <algorithm>
#include <cmath>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/hybrid_layers.h"
#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/rope_config.h"

namespace ck::huggingface {
namespace {

constexpr std::monostate kNone;

class Writer {
 public:
  explicit Writer(DerivedArgs& out) : out_(out) {}
  void Set(std::string_view name, ArgumentValue value) {
    out_.arguments.push_back({std::string(name), std::move(value)});
  }
  void Int(std::string_view name, uint64_t value) { Set(name, static_cast<int64_t>(value)); }
  void OptionalInt(std::string_view name, std::optional<uint64_t> value) {
    if (value) {
      Int(name, *value);
    } else {
      Set(name, kNone);
    }
  }
  void Warn(std::string text) { out_.warnings.push_back(std::move(text)); }

 private:
  DerivedArgs& out_;
};

std::optional<int64_t> Whole(double value) {
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (!(std::fabs(value) <= kMostExact) || std::trunc(value) != value) return std::nullopt;
  return static_cast<int64_t>(value);
}

bool IsHybrid(const ModelConfig& model) {
  return model.architecture.family == Family::kNemotronH || model.architecture.family == Family::kMamba2;
}

void SizeArgs(Writer& out, const ModelConfig& model, const ArgsOptions& options) {
  out.Int("num_layers", model.layer_count());
  out.Int("hidden_size", model.hidden);
  out.Int("ffn_hidden_size", model.ffn != 0 ? model.ffn : 4 * model.hidden);
  // Megatron wants a count even where no layer has attention.
  out.Int("num_attention_heads", model.heads != 0 ? model.heads : 1);
  const bool grouped = model.heads != 0 && !model.mla && model.kv_heads != model.heads;
  out.Set("group_query_attention", grouped);
  out.Int("num_query_groups", grouped ? model.kv_heads : 1);
  const uint64_t channels = model.heads == 0 ? model.hidden
                            : model.mla      ? model.mla->nope_dim + model.mla->rope_dim
                                             : model.head_dim;
  out.Int("kv_channels", channels);
  out.OptionalInt("max_position_embeddings", model.max_positions);
  out.Int("vocab_size", model.vocab);
  out.Int("padded_vocab_size", options.padded_vocab);
  out.Int("make_vocab_size_divisible_by", options.make_vocab_size_divisible_by);
  out.Set("untie_embeddings_and_output_weights", !model.tied);
  const std::string pattern = IsHybrid(model) ? PatternOf(model.layers) : "";
  // The name up to r0.16 and the one from then on.
  for (const char* name : {"hybrid_layer_pattern", "hybrid_override_pattern"})
    out.Set(name, pattern.empty() ? ArgumentValue(kNone) : ArgumentValue(pattern));
  out.Set("is_hybrid_model", !pattern.empty());
  out.OptionalInt("mtp_num_layers", model.mtp_layers != 0 ? std::optional<uint64_t>(model.mtp_layers) : std::nullopt);
}

void NormArgs(Writer& out, const ModelConfig& model, bool zero_centered) {
  out.Set("normalization", model.row().normalization == Normalization::kRms ? "RMSNorm" : "LayerNorm");
  out.Set("layernorm_epsilon", model.norm_eps);
  out.Set("norm_epsilon", model.norm_eps);
  out.Set("layernorm_zero_centered_gamma", zero_centered);
  out.Set("apply_layernorm_1p", zero_centered);
  out.Set("qk_layernorm", model.qk_norm != QkNorm::kNone || model.mla.has_value());
  if (model.mla && model.norm_eps != 1e-6) {
    out.Warn(Cat("transformers computes q_a_layernorm and kv_a_layernorm with 1e-06, Megatron with layernorm_epsilon ",
                 FormatDouble(model.norm_eps)));
  }
  if (model.qk_norm == QkNorm::kFullWidth)
    out.Warn("stock Megatron-Core norms q and k per head; these norms span all heads");
}

void BiasAndActivationArgs(Writer& out, const ModelConfig& model) {
  const Biases& biases = model.biases;
  const bool linear = biases.mlp || biases.attention_out || biases.mamba;
  out.Set("add_bias_linear", linear);
  out.Set("add_qkv_bias", biases.qkv);
  const bool all = (model.heads == 0 || model.mla || biases.attention_out) && (model.ffn == 0 || biases.mlp) &&
                   (!model.mamba || biases.mamba) && (!model.heads || biases.qkv);
  if (linear && !all) out.Warn("only some linear layers have a bias; Megatron's add_bias_linear gives one to all");
  if (model.mamba && !biases.conv) out.Warn("the convolutions have no bias; Megatron-Core's always have one");
  const bool gated = model.row().gated == Gated::kYes;
  out.Set("swiglu", gated && model.activation == Activation::kSilu);
  out.Set("quick_geglu", model.activation == Activation::kClampedSwiglu);
  out.Set("squared_relu", model.activation == Activation::kRelu2);
  out.Set("openai_gelu", !gated && model.activation == Activation::kGeluTanh);
  out.Set("bias_gelu_fusion", false);
  const bool clamped = model.activation == Activation::kClampedSwiglu;
  out.Set("activation_func_clamp_value", clamped ? ArgumentValue(7.0) : ArgumentValue(kNone));
  out.Set("glu_linear_offset", clamped ? 1.0 : 0.0);
  if (gated && (model.activation == Activation::kGelu || model.activation == Activation::kGeluTanh)) {
    out.Warn(
        "no argument of stock Megatron-Core gives a gated gelu; set activation_func and gated_linear_unit in code");
  }
}

void ScalingArgs(Writer& out, const ModelConfig& model) {
  const RopeScaling scaling = model.rope ? model.rope->scaling : RopeScaling{};
  const bool llama = scaling.kind == RopeKind::kLlama3, yarn = scaling.kind == RopeKind::kYarn;
  out.Set("use_rope_scaling", llama);
  out.Set("rope_scaling_factor", llama ? scaling.factor.value_or(8) : 8.0);
  if (llama && (scaling.low_freq_factor != 1.0 || scaling.high_freq_factor != 4.0 ||
                scaling.original_max_positions != uint64_t{8192})) {
    out.Warn("rope_scaling llama3 has other numbers than 1, 4 and 8192, which stand in Megatron-Core's code");
  }
  const bool linear = scaling.kind == RopeKind::kLinear;
  const auto factor = linear ? Whole(*scaling.factor) : std::nullopt;
  out.Set("rotary_seq_len_interpolation_factor", factor ? ArgumentValue(*factor) : ArgumentValue(kNone));
  if (linear && !factor) {
    out.Warn(Cat("rope_scaling has factor ", FormatDouble(*scaling.factor),
                 ", Megatron's interpolation factor is an integer"));
  }
  if (scaling.kind == RopeKind::kDynamic || scaling.kind == RopeKind::kLongrope) {
    out.Warn(Cat("rope_scaling is ", RopeKindName(scaling.kind), ", which Megatron-Core does not have"));
  }
  const auto number = [&](std::string_view name, std::optional<double> value, double missing) {
    out.Set(name, value.value_or(missing));
  };
  if (model.mla) {
    out.Set("rope_type", yarn ? "yarn" : "rope");
    number("rotary_scaling_factor", yarn ? scaling.factor : std::nullopt, 1);
    out.Int("original_max_position_embeddings",
            scaling.original_max_positions.value_or(model.max_positions.value_or(4096)));
    number("beta_fast", scaling.beta_fast, 32);
    number("beta_slow", scaling.beta_slow, 1);
    number("mscale", scaling.mscale, 1);
    number("mscale_all_dim", scaling.mscale_all_dim, 0);
  } else if (yarn) {
    number("yarn_rotary_scaling_factor", scaling.factor, 1);
    out.Int("yarn_original_max_position_embeddings",
            scaling.original_max_positions.value_or(model.max_positions.value_or(4096)));
    number("yarn_beta_fast", scaling.beta_fast, 32);
    number("yarn_beta_slow", scaling.beta_slow, 1);
    number("yarn_mscale", scaling.mscale, 1);
    number("yarn_mscale_all_dim", scaling.mscale_all_dim, 0);
    out.Set("yarn_correction_range_round_to_int", scaling.truncate.value_or(true));
  }
}

void RopeArgs(Writer& out, const ModelConfig& model) {
  const bool yarn = model.rope && !model.mla && model.rope->scaling.kind == RopeKind::kYarn;
  out.Set("position_embedding_type", !model.rope ? "none" : yarn ? "yarn" : "rope");
  const double theta = model.rope ? model.rope->theta : 10000;
  // Megatron's argument is an integer; other numbers are kept as they are.
  const auto whole = Whole(theta);
  out.Set("rotary_base", whole ? ArgumentValue(*whole) : ArgumentValue(theta));
  out.Set("rotary_percent", model.rope ? model.rope->partial_factor : 1.0);
  out.Set("rotary_interleaved", model.architecture.family == Family::kGlm4);
  ScalingArgs(out, model);
  if (model.local_rope && !(*model.local_rope == *model.rope)) {
    out.Warn(Cat("layers with a window rotate with base ", FormatDouble(model.local_rope->theta), ", the others with ",
                 FormatDouble(theta), "; stock Megatron-Core has one base"));
  }
}

void WindowArgs(Writer& out, const ModelConfig& model) {
  std::vector<int64_t> windowed;
  for (const LayerKind kind : model.layers) windowed.push_back(kind == LayerKind::kSlidingAttention ? 1 : 0);
  const bool any = model.sliding_window.has_value();
  const bool all = std::find(windowed.begin(), windowed.end(), 0) == windowed.end();
  out.Set("window_size", any ? ArgumentValue(std::vector<int64_t>{static_cast<int64_t>(*model.sliding_window) - 1, 0})
                             : ArgumentValue(kNone));
  out.Set("window_attn_skip_freq", any && !all ? ArgumentValue(windowed) : ArgumentValue(kNone));
  out.Set("softmax_type", model.architecture.family == Family::kGptOss ? "learnable" : "vanilla");
  if (model.query_pre_attn_scalar && *model.query_pre_attn_scalar != static_cast<double>(model.head_dim)) {
    out.Warn(Cat("query_pre_attn_scalar is ", FormatDouble(*model.query_pre_attn_scalar),
                 ", Megatron-Core divides by the square root of ", model.head_dim));
  }
  if (model.attention_softcap || model.final_softcap)
    out.Warn("logits are capped, which stock Megatron-Core does not do");
}

void ExpertArgs(Writer& out, const ModelConfig& model) {
  const Experts none;
  const Experts& experts = model.experts ? *model.experts : none;
  const bool any = model.experts.has_value();
  const auto optional = [&](std::string_view name, uint64_t value) {
    out.OptionalInt(name, any && value != 0 ? std::optional<uint64_t>(value) : std::nullopt);
  };
  optional("num_experts", experts.count);
  std::vector<int64_t> layers;
  for (const bool has : model.expert_layers) layers.push_back(has ? 1 : 0);
  const bool list = any && !IsHybrid(model) && std::find(layers.begin(), layers.end(), 0) != layers.end();
  out.Set("moe_layer_freq", list ? ArgumentValue(layers) : ArgumentValue(int64_t{1}));
  optional("moe_ffn_hidden_size", experts.width);
  out.Int("moe_router_topk", any ? experts.per_token : 2);
  optional("moe_shared_expert_intermediate_size", experts.shared_width);
  out.Set("moe_shared_expert_gate", experts.shared_gate);
  out.Set("moe_router_score_function", experts.sigmoid ? "sigmoid" : "softmax");
  out.Set("moe_router_enable_expert_bias", experts.correction_bias);
  out.Set("moe_router_pre_softmax", any && !experts.sigmoid && !experts.normalize);
  const bool grouped = any && experts.groups > 1;
  optional("moe_router_num_groups", grouped ? experts.groups : 0);
  optional("moe_router_group_topk", grouped ? experts.groups_per_token : 0);
  out.Set("moe_router_topk_scaling_factor",
          any && experts.scaling_factor != 1 ? ArgumentValue(experts.scaling_factor) : ArgumentValue(kNone));
  optional("moe_latent_size", experts.latent_width.value_or(0));
  out.Set("moe_router_dtype", experts.sigmoid ? ArgumentValue("fp32") : ArgumentValue(kNone));
  if (any && experts.sigmoid && experts.normalize != (experts.per_token > 1)) {
    out.Warn(
        "norm_topk_prob: Megatron divides the weights of a sigmoid router by their sum exactly when it chooses more "
        "than one");
  }
  const uint64_t best = model.architecture.family == Family::kDeepseekV2 ? 1 : 2;
  if (grouped && experts.per_token / experts.groups_per_token != best) {
    out.Warn(Cat("transformers ranks a group of experts by its best ", best, ", Megatron by its best ",
                 experts.per_token / experts.groups_per_token));
  }
}

void MixerArgs(Writer& out, const ModelConfig& model) {
  out.Set("multi_latent_attention", model.mla.has_value());
  if (model.mla) {
    out.OptionalInt("q_lora_rank", model.mla->q_rank);
    out.Int("kv_lora_rank", model.mla->kv_rank);
    out.Int("qk_head_dim", model.mla->nope_dim);
    out.Int("qk_pos_emb_head_dim", model.mla->rope_dim);
    out.Int("v_head_dim", model.mla->value_dim);
  }
  out.Set("attention_output_gate", model.architecture.family == Family::kQwen3Next);
  out.Set("experimental_attention_variant", model.gdn ? ArgumentValue("gated_delta_net") : ArgumentValue(kNone));
  if (model.gdn) {
    std::vector<int64_t> linear;
    for (const LayerKind kind : model.layers) linear.push_back(kind == LayerKind::kLinearAttention ? 1 : 0);
    out.Set("linear_attention_freq", linear);
    out.Int("linear_num_key_heads", model.gdn->key_heads);
    out.Int("linear_key_head_dim", model.gdn->key_dim);
    out.Int("linear_num_value_heads", model.gdn->value_heads);
    out.Int("linear_value_head_dim", model.gdn->value_dim);
    out.Int("linear_conv_kernel_dim", model.gdn->conv_taps);
  } else {
    out.Set("linear_attention_freq", kNone);
  }
  if (!model.mamba) return;
  out.Int("mamba_num_heads", model.mamba->heads);
  out.Int("mamba_head_dim", model.mamba->head_dim);
  out.Int("mamba_num_groups", model.mamba->groups);
  out.Int("mamba_state_dim", model.mamba->state);
  constexpr uint64_t kMegatronConvTaps = 4;
  if (model.mamba->conv_taps != kMegatronConvTaps) {
    out.Warn(Cat("convolutions have ", model.mamba->conv_taps, " taps, Megatron-Core's mixer has ", kMegatronConvTaps));
  }
}

}  // namespace

DerivedArgs ArgsFromConfig(const ModelConfig& model, const ArgsOptions& options) {
  if (model.parallel_residual) {
    throw InputError("huggingface.config_unsupported",
                     Cat(ClassName(model.architecture),
                         ": attention and MLP work side by side (use_parallel_residual, parallel_attn); Megatron-Core "
                         "has no such layer"));
  }
  DerivedArgs out;
  out.zero_centered_norms =
      model.row().norm_form == NormForm::kOnePlus && options.impl == TransformerImpl::kTransformerEngine;
  Writer writer(out);
  SizeArgs(writer, model, options);
  NormArgs(writer, model, out.zero_centered_norms);
  BiasAndActivationArgs(writer, model);
  RopeArgs(writer, model);
  WindowArgs(writer, model);
  ExpertArgs(writer, model);
  MixerArgs(writer, model);
  writer.Set("transformer_impl", options.impl == TransformerImpl::kLocal ? "local" : "transformer_engine");
  const std::string dtype = model.dtype.empty() ? "float32" : model.dtype;
  writer.Set("params_dtype", TorchDtype{dtype});
  writer.Set("bf16", dtype == "bfloat16");
  writer.Set("fp16", dtype == "float16");
  return out;
}

}  // namespace ck::huggingface
