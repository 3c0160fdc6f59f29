#include <algorithm>

#include "libs/base/text.h"
#include "libs/huggingface/derive_parts.h"
#include "libs/huggingface/megatron_config.h"

namespace ck::huggingface {
namespace {

bool IsGemma(Family family) {
  return family == Family::kGemma || family == Family::kGemma2 || family == Family::kGemma3;
}

void DeriveAttention(const SavedArgs& args, ModelConfig& model) {
  const Family family = model.architecture.family;
  const bool latent = args.Flag("multi_latent_attention");
  const bool wants_latent = family == Family::kDeepseekV2 || family == Family::kDeepseekV3;
  if (latent != wants_latent) {
    throw args.NotExpressible("multi_latent_attention", Cat(ClassName(model.architecture),
                                                            wants_latent ? " has" : " has no", " latent attention"));
  }
  if (family == Family::kMamba2) return;
  model.heads = args.Size("num_attention_heads");
  if (latent) {
    // num_query_groups is 1 here, which means nothing.
    model.kv_heads = model.heads;
    model.mla = Mla{.q_rank = args.Uint("q_lora_rank"),
                    .kv_rank = args.Size("kv_lora_rank"),
                    .nope_dim = args.Size("qk_head_dim"),
                    .rope_dim = args.Size("qk_pos_emb_head_dim"),
                    .value_dim = args.Size("v_head_dim")};
    model.head_dim = model.mla->rope_dim;
    return;
  }
  // Off, num_query_groups is 1 and the truth is one group a head.
  model.kv_heads = args.Flag("group_query_attention") ? args.Size("num_query_groups") : model.heads;
  if (model.heads % model.kv_heads != 0)
    throw args.Wrong("num_query_groups", Cat("a divisor of ", model.heads, " heads"));
  const auto channels = args.Uint("kv_channels");
  if (!channels && model.hidden % model.heads != 0) throw args.Missing("kv_channels");
  model.head_dim = channels.value_or(model.hidden / model.heads);
  const bool gate = args.Flag("attention_output_gate");
  if (gate != (family == Family::kQwen3Next)) {
    throw args.NotExpressible("attention_output_gate", Cat(ClassName(model.architecture),
                                                           gate ? " has no gate" : " has a gate", " behind attention"));
  }
}

void DeriveNorms(const SavedArgs& args, DerivedConfig& derived) {
  ModelConfig& model = derived.model;
  const FamilyRow& row = model.row();
  const std::string_view wanted = row.normalization == Normalization::kRms ? "RMSNorm" : "LayerNorm";
  if (args.String("normalization").value_or("LayerNorm") != wanted) {
    throw args.NotExpressible("normalization", Cat(ClassName(model.architecture), " has ", wanted));
  }
  auto eps = args.Double("layernorm_epsilon");
  if (!eps) eps = args.Double("norm_epsilon");  // its name up to r0.15
  if (!eps) throw args.Missing("layernorm_epsilon");
  model.norm_eps = *eps;
  derived.zero_centered_norms = args.Flag("layernorm_zero_centered_gamma") || args.Flag("apply_layernorm_1p");
  const bool qk = args.Flag("qk_layernorm");
  if (model.mla) {
    if (!qk)
      throw args.NotExpressible("qk_layernorm",
                                Cat(ClassName(model.architecture), " has norms between the latent projections"));
    constexpr double kLatentEps = 1e-6;
    if (*eps != kLatentEps) {
      derived.warnings.push_back(Cat("args.layernorm_epsilon is ", FormatDouble(*eps),
                                     ": transformers computes q_a_layernorm and kv_a_layernorm with ",
                                     FormatDouble(kLatentEps), " whatever config.json says; logits differ slightly"));
    }
    return;
  }
  if (model.heads == 0) return;
  const bool optional = model.architecture.family == Family::kGlm4Moe;
  if (!optional && qk != (row.qk_norm != QkNorm::kNone)) {
    throw args.NotExpressible("qk_layernorm",
                              Cat(ClassName(model.architecture), qk ? " has no norms" : " has norms", " of q and k"));
  }
  model.qk_norm = qk ? row.qk_norm : QkNorm::kNone;
}

void DeriveActivation(const SavedArgs& args, DerivedConfig& derived) {
  ModelConfig& model = derived.model;
  const Family family = model.architecture.family;
  if (model.ffn == 0) return;
  const bool swiglu = args.Flag("swiglu"), quick = args.Flag("quick_geglu"), squared = args.Flag("squared_relu");
  bool gated = swiglu || quick;
  if (family == Family::kGptOss) {
    if (!quick || args.Double("activation_func_clamp_value") != 7.0 || args.Double("glu_linear_offset") != 1.0) {
      throw args.NotExpressible(
          "quick_geglu",
          "GptOssForCausalLM has quick_geglu with activation_func_clamp_value 7 and glu_linear_offset 1");
    }
    model.activation = Activation::kClampedSwiglu;
  } else if (quick) {
    throw args.NotExpressible("quick_geglu", Cat(ClassName(model.architecture), " has no such activation"));
  } else if (swiglu) {
    model.activation = Activation::kSilu;
  } else if (squared) {
    model.activation = Activation::kRelu2;
  } else if (IsGemma(family)) {
    gated = true;
    model.activation = Activation::kGeluTanh;
    derived.warnings.push_back(
        "no argument says which activation gates the MLP; the class's own, gelu_pytorch_tanh, was taken");
  } else {
    // The fused kernel computes the approximation.
    const bool tanh = args.Flag("openai_gelu") || (args.Flag("bias_gelu_fusion") && args.Flag("add_bias_linear"));
    model.activation = tanh ? Activation::kGeluTanh : Activation::kGelu;
  }
  if (gated != (model.row().gated == Gated::kYes)) {
    throw args.NotExpressible(
        "swiglu", Cat(ClassName(model.architecture), gated ? " has no gate" : " has a gate", " in its MLP"));
  }
}

void DeriveBiases(const SavedArgs& args, ModelConfig& model) {
  const bool linear = args.Has("add_bias_linear")
                          ? args.Flag("add_bias_linear")
                          : args.Has("disable_bias_linear") && !args.Flag("disable_bias_linear");
  model.biases.mlp = linear && model.ffn != 0;
  model.biases.attention_out = linear && model.heads != 0;
  model.biases.qkv = model.heads != 0 && !model.mla && (linear || args.Flag("add_qkv_bias"));
  if (!model.mamba) return;
  model.biases.mamba = linear;
  model.biases.conv = true;
}

void DeriveMamba(const SavedArgs& args, ModelConfig& model) {
  if (std::find(model.layers.begin(), model.layers.end(), LayerKind::kMamba) == model.layers.end()) return;
  constexpr uint64_t kConvTaps = 4, kChunk = 128, kExpand = 2;  // numbers in Megatron-Core's code
  Mamba mamba;
  mamba.head_dim = args.Uint("mamba_head_dim").value_or(64);
  if (mamba.head_dim == 0) throw args.Wrong("mamba_head_dim", "a positive integer");
  const auto heads = args.Uint("mamba_num_heads");
  if (!heads && kExpand * model.hidden % mamba.head_dim != 0)
    throw args.Wrong("mamba_head_dim", Cat("a divisor of ", kExpand * model.hidden));
  mamba.heads = heads.value_or(kExpand * model.hidden / mamba.head_dim);
  mamba.groups = args.Size("mamba_num_groups");
  mamba.state = args.Size("mamba_state_dim");
  mamba.conv_taps = kConvTaps;
  mamba.chunk_size = kChunk;
  if (mamba.heads == 0 || mamba.heads % mamba.groups != 0)
    throw args.Wrong("mamba_num_groups", Cat("a divisor of ", mamba.heads, " heads"));
  model.mamba = mamba;
}

void CheckRest(const SavedArgs& args, DerivedConfig& derived) {
  const ModelConfig& model = derived.model;
  const Family family = model.architecture.family;
  for (const char* name : {"apply_residual_connection_post_layernorm", "use_mup"}) {
    if (args.Flag(name)) throw args.NotExpressible(name, Cat(ClassName(model.architecture), " does not compute so"));
  }
  const std::string softmax = args.String("softmax_type").value_or("vanilla");
  const std::string_view wanted = family == Family::kGptOss ? "learnable" : "vanilla";
  if (model.heads != 0 && softmax != wanted)
    throw args.NotExpressible("softmax_type", Cat(ClassName(model.architecture), " has ", wanted));
  if (IsGemma(family)) {
    derived.warnings.push_back(
        "no argument says that the embedding is multiplied by the square root of the hidden size; transformers does "
        "so");
  }
}

std::string DeriveDtype(const SavedArgs& args) {
  if (const auto dtype = args.Dtype("params_dtype")) return *dtype;
  return args.Flag("bf16") ? "bfloat16" : args.Flag("fp16") ? "float16" : "float32";
}

}  // namespace

DerivedConfig ConfigFromArgs(const Architecture& architecture, const SavedArgs& args,
                             std::optional<uint64_t> vocab) {
  if (!args.exist())
    throw InputError("huggingface.args_missing",
                     "the checkpoint has no args; a config.json cannot be derived, give one with --config");
  DerivedConfig out;
  ModelConfig& model = out.model;
  model.architecture = architecture;
  ClassName(architecture);  // throws for a class that does not exist
  const Family family = architecture.family;
  const bool score = architecture.head != Head::kCausalLm;
  model.hidden = args.Size("hidden_size");
  model.vocab = vocab ? *vocab : args.Uint("vocab_size").value_or(0);
  model.max_positions = args.Uint("max_position_embeddings");
  model.tied = !score && family != Family::kNemotronH && !args.Flag("untie_embeddings_and_output_weights");
  model.labels = score ? 1 : 0;
  model.dtype = DeriveDtype(args);
  if (family != Family::kMamba2) model.ffn = args.Uint("ffn_hidden_size").value_or(4 * model.hidden);
  DeriveAttention(args, model);
  DeriveLayers(args, model);
  DeriveMamba(args, model);
  DeriveNorms(args, out);
  DeriveActivation(args, out);
  DeriveExperts(args, out);
  DeriveBiases(args, model);
  DeriveRope(args, model);
  if (family == Family::kGemma2 || family == Family::kGemma3)
    model.query_pre_attn_scalar = static_cast<double>(model.head_dim);
  CheckRest(args, out);
  return out;
}

}  // namespace ck::huggingface
