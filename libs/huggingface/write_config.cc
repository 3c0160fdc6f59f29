#include <algorithm>
#include <cmath>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/config.h"
#include "libs/huggingface/hybrid_layers.h"
#include "libs/huggingface/rope_config.h"

namespace ck::huggingface {
namespace {

Error NotExpressible(const ModelConfig& model, std::string_view what) {
  return InputError("huggingface.config_not_expressible",
                    Cat(ClassName(model.architecture), ": no config.json of this class says that ", what));
}

std::string_view ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
    case Activation::kClampedSwiglu:
      return "silu";
    case Activation::kGelu:
      return "gelu";
    case Activation::kGeluTanh:
      return "gelu_pytorch_tanh";
    case Activation::kRelu2:
      return "relu2";
  }
  throw InternalError("internal.activation", "unknown activation");
}

void WriteIdentity(json::Object& out, const ModelConfig& model) {
  out.Set("architectures", json::Array{ClassName(model.architecture)});
  out.Set("model_type", model.row().model_type);
  if (!model.dtype.empty()) out.Set("torch_dtype", model.dtype);
  out.Set("tie_word_embeddings", model.tied);
  out.Set("vocab_size", model.vocab);
  out.Set("hidden_size", model.hidden);
  out.Set("num_hidden_layers", model.layer_count());
  if (model.max_positions) out.Set("max_position_embeddings", *model.max_positions);
  if (model.labels == 0) return;
  json::Object names, numbers;
  for (uint64_t i = 0; i < model.labels; ++i) {
    const std::string label = Cat("LABEL_", i);
    names.Set(Cat(i), label);
    numbers.Set(label, i);
  }
  out.Set("id2label", names).Set("label2id", numbers);
}

void WriteAttention(json::Object& out, const ModelConfig& model) {
  const Family family = model.architecture.family;
  if (model.heads == 0) return;
  out.Set("num_attention_heads", model.heads);
  if (family == Family::kFalcon) {
    out.Set("new_decoder_architecture", model.new_decoder_architecture);
    out.Set("multi_query", !model.new_decoder_architecture && model.kv_heads == 1 && model.heads != 1);
    out.Set("num_kv_heads", model.kv_heads).Set("parallel_attn", model.parallel_residual).Set("alibi", false);
    if (!model.new_decoder_architecture && model.kv_heads != 1 && model.kv_heads != model.heads) {
      throw NotExpressible(model, "the old layout has more than one and fewer than all key-value heads");
    }
  } else if (family == Family::kGptNeox) {
    out.Set("use_parallel_residual", model.parallel_residual);
    if (model.kv_heads != model.heads) throw NotExpressible(model, "heads share keys and values");
  } else {
    out.Set("num_key_value_heads", model.kv_heads);
  }
  const bool quotient = model.heads * model.head_dim == model.hidden;
  const HeadDimField field = model.row().head_dim;
  if (field == HeadDimField::kWritten || (field == HeadDimField::kWhenDifferent && !quotient))
    out.Set("head_dim", model.head_dim);
  if (field == HeadDimField::kNone && !quotient) {
    throw NotExpressible(model,
                         Cat(model.heads, " heads of ", model.head_dim, " are another width than ", model.hidden));
  }
  if (family == Family::kGlm4Moe) out.Set("use_qk_norm", model.qk_norm == QkNorm::kHead);
}

void WriteBiases(json::Object& out, const ModelConfig& model) {
  const BiasFields& fields = model.row().bias;
  const Biases& biases = model.biases;
  const auto write = [&](std::string_view name, bool fixed, bool value, std::string_view where) {
    if (!name.empty()) {
      if (out.Find(name) != nullptr && out.Find(name)->AsBool() != value)
        throw NotExpressible(model, Cat("only some linear layers have a bias (", where, ")"));
      out.Set(name, value);
    } else if (fixed != value) {
      throw NotExpressible(model, Cat(where, value ? " has a bias" : " has no bias"));
    }
  };
  if (model.heads != 0) {
    write(fields.attention, fields.attention_default, biases.qkv, "q, k and v");
    if (biases.attention_out != (fields.covers_out && biases.qkv)) {
      throw NotExpressible(model, Cat("o_proj has ", biases.attention_out ? "a bias" : "no bias",
                                      " and q, k and v have ", biases.qkv ? "one" : "none"));
    }
  }
  if (model.ffn != 0) write(fields.mlp, fields.mlp_default, biases.mlp, "the MLP");
  if (!model.mamba) return;
  out.Set("use_bias", biases.mamba);
  out.Set("use_conv_bias", biases.conv);
}

json::Array LayerTypes(const ModelConfig& model) {
  json::Array out;
  for (const LayerKind kind : model.layers) {
    out.push_back(kind == LayerKind::kLinearAttention    ? "linear_attention"
                  : kind == LayerKind::kSlidingAttention ? "sliding_attention"
                                                         : "full_attention");
  }
  return out;
}

void WriteLayers(json::Object& out, const ModelConfig& model) {
  const auto count =
      static_cast<uint64_t>(std::count(model.layers.begin(), model.layers.end(), LayerKind::kSlidingAttention));
  const json::Value window = model.sliding_window ? json::Value(*model.sliding_window) : json::Value(nullptr);
  switch (model.architecture.family) {
    case Family::kMistral:
    case Family::kMixtral:
    case Family::kPhi3:
    case Family::kStarcoder2:
      if (count != 0 && count != model.layer_count()) throw NotExpressible(model, "only some layers have a window");
      out.Set("sliding_window", window);
      break;
    case Family::kQwen3Moe:
      if (count != 0 && count != model.layer_count()) throw NotExpressible(model, "only some layers have a window");
      out.Set("use_sliding_window", count != 0).Set("sliding_window", window);
      break;
    case Family::kQwen2:
    case Family::kQwen3:
    case Family::kQwen2Moe: {
      // 4.57's Qwen2-MoE reads max_window_layers alone, so the windows must be the last layers.
      const auto first = static_cast<uint64_t>(
          std::find(model.layers.begin(), model.layers.end(), LayerKind::kSlidingAttention) - model.layers.begin());
      if (count != 0 && first + count != model.layer_count())
        throw NotExpressible(model, "a layer with a window comes before one without");
      out.Set("use_sliding_window", count != 0)
          .Set("sliding_window", window)
          .Set("max_window_layers", first)
          .Set("layer_types", LayerTypes(model));
      break;
    }
    case Family::kGemma2:
    case Family::kGemma3:
    case Family::kGptOss:
      if (model.sliding_window) out.Set("sliding_window", window);
      out.Set("layer_types", LayerTypes(model));
      break;
    case Family::kQwen3Next:
      out.Set("layer_types", LayerTypes(model));
      break;
    case Family::kNemotronH:
      out.Set("hybrid_override_pattern", PatternOf(model.layers));
      break;
    default:
      if (count != 0) throw NotExpressible(model, "layers have a window");
  }
}

void WriteExpertLayers(json::Object& out, const ModelConfig& model) {
  switch (model.architecture.family) {
    case Family::kQwen2Moe:
    case Family::kQwen3Moe:
    case Family::kQwen3Next: {
      json::Array dense;
      for (uint64_t i = 0; i < model.layer_count(); ++i) {
        if (!model.HasExperts(i)) dense.emplace_back(i);
      }
      out.Set("decoder_sparse_step", 1).Set("mlp_only_layers", dense);
      break;
    }
    case Family::kDeepseekV2:
    case Family::kDeepseekV3:
    case Family::kGlm4Moe: {
      const auto first = std::find(model.expert_layers.begin(), model.expert_layers.end(), true);
      if (std::find(first, model.expert_layers.end(), false) != model.expert_layers.end())
        throw NotExpressible(model, "a dense layer comes after one with experts");
      out.Set("first_k_dense_replace", static_cast<uint64_t>(first - model.expert_layers.begin()));
      break;
    }
    case Family::kMixtral:
    case Family::kOlmoe:
    case Family::kGptOss:
      if (!model.experts || std::count(model.expert_layers.begin(), model.expert_layers.end(), false) != 0)
        throw NotExpressible(model, "a layer has no experts");
      break;
    case Family::kNemotronH:
      break;
    default:
      if (model.experts) throw NotExpressible(model, "layers have experts");
  }
}

void WriteSharedExperts(json::Object& out, const ModelConfig& model) {
  const Experts& experts = *model.experts;
  switch (model.architecture.family) {
    case Family::kQwen2Moe:
    case Family::kQwen3Next:
      if (experts.shared_width == 0 || !experts.shared_gate)
        throw NotExpressible(model, "there is no shared expert with a gate");
      out.Set("shared_expert_intermediate_size", experts.shared_width);
      return;
    case Family::kDeepseekV2:
    case Family::kDeepseekV3:
    case Family::kGlm4Moe:
      if (experts.shared_gate) throw NotExpressible(model, "the shared experts have a gate");
      if (experts.width == 0 || experts.shared_width % experts.width != 0) {
        throw NotExpressible(model, Cat("the shared experts are ", experts.shared_width,
                                        " wide, no multiple of the routed width ", experts.width));
      }
      out.Set("n_shared_experts", experts.shared_width / experts.width);
      return;
    case Family::kNemotronH:
      if (experts.shared_width == 0 || experts.shared_gate)
        throw NotExpressible(model, "there is no shared expert, or one with a gate");
      out.Set("n_shared_experts", 1).Set("moe_shared_expert_intermediate_size", experts.shared_width);
      out.Set("moe_latent_size", experts.latent_width ? json::Value(*experts.latent_width) : json::Value(nullptr));
      return;
    default:
      if (experts.shared_width != 0) throw NotExpressible(model, "there are shared experts");
  }
}

void WriteRouting(json::Object& out, const ModelConfig& model) {
  const Experts& experts = *model.experts;
  const Family family = model.architecture.family;
  const bool sigmoid = family == Family::kDeepseekV3 || family == Family::kGlm4Moe || family == Family::kNemotronH;
  if (experts.sigmoid != sigmoid)
    throw NotExpressible(model, Cat("the router's score is ", experts.sigmoid ? "sigmoid" : "softmax"));
  if (experts.correction_bias != sigmoid)
    throw NotExpressible(model, Cat("the router has ", experts.correction_bias ? "a" : "no", " correction bias"));
  const bool fixed = family == Family::kMixtral || family == Family::kGptOss || family == Family::kDeepseekV2;
  if (fixed && experts.normalize != (family != Family::kDeepseekV2))
    throw NotExpressible(model,
                         Cat("the chosen weights are ", experts.normalize ? "" : "not ", "divided by their sum"));
  if (!fixed || family == Family::kDeepseekV2) out.Set("norm_topk_prob", experts.normalize);
  if (!sigmoid && family != Family::kDeepseekV2) {
    if (experts.groups != 1 || experts.scaling_factor != 1)
      throw NotExpressible(model, "experts are chosen by groups or their weights scaled");
    return;
  }
  if (family == Family::kDeepseekV2) out.Set("topk_method", experts.topk_method);
  out.Set("n_group", experts.groups)
      .Set("topk_group", experts.groups_per_token)
      .Set("routed_scaling_factor", experts.scaling_factor);
}

void WriteExperts(json::Object& out, const ModelConfig& model) {
  WriteExpertLayers(out, model);
  if (!model.experts) return;
  const Experts& experts = *model.experts;
  const Family family = model.architecture.family;
  out.Set(model.row().experts, experts.count);
  out.Set("num_experts_per_tok", experts.per_token);
  if (family == Family::kMixtral || family == Family::kOlmoe || family == Family::kGptOss) {
    if (experts.width != model.ffn)
      throw NotExpressible(model, Cat("an expert is ", experts.width, " wide and intermediate_size is ", model.ffn));
  } else {
    out.Set("moe_intermediate_size", experts.width);
  }
  WriteSharedExperts(out, model);
  WriteRouting(out, model);
}

void WriteMixers(json::Object& out, const ModelConfig& model) {
  if (model.mla) {
    out.Set("q_lora_rank", model.mla->q_rank ? json::Value(*model.mla->q_rank) : json::Value(nullptr));
    out.Set("kv_lora_rank", model.mla->kv_rank)
        .Set("qk_nope_head_dim", model.mla->nope_dim)
        .Set("qk_rope_head_dim", model.mla->rope_dim);
    out.Set("qk_head_dim", model.mla->nope_dim + model.mla->rope_dim).Set("v_head_dim", model.mla->value_dim);
  }
  if (model.gdn) {
    out.Set("linear_num_key_heads", model.gdn->key_heads).Set("linear_key_head_dim", model.gdn->key_dim);
    out.Set("linear_num_value_heads", model.gdn->value_heads).Set("linear_value_head_dim", model.gdn->value_dim);
    out.Set("linear_conv_kernel_dim", model.gdn->conv_taps);
  }
  if (!model.mamba) return;
  const Mamba& mamba = *model.mamba;
  const uint64_t inner = mamba.heads * mamba.head_dim;
  if (model.architecture.family == Family::kMamba2) {
    if (inner % model.hidden != 0)
      throw NotExpressible(model, Cat("the mixer is ", inner, " wide, no multiple of the hidden size ", model.hidden));
    out.Set("num_heads", mamba.heads)
        .Set("head_dim", mamba.head_dim)
        .Set("state_size", mamba.state)
        .Set("expand", inner / model.hidden);
  } else {
    out.Set("mamba_num_heads", mamba.heads).Set("mamba_head_dim", mamba.head_dim).Set("ssm_state_size", mamba.state);
  }
  out.Set("n_groups", mamba.groups).Set("conv_kernel", mamba.conv_taps).Set("chunk_size", mamba.chunk_size);
}

void WriteTokens(json::Object& out, const ModelConfig& model) {
  // Explicit, because the classes' defaults may lie outside the vocabulary: an embedding with such a padding row cannot
  // be built.
  const auto inside = [&](int64_t token) { return token >= 0 && static_cast<uint64_t>(token) < model.vocab; };
  const auto one = [&](std::optional<int64_t> token) {
    return token && inside(*token) ? json::Value(*token) : json::Value(nullptr);
  };
  out.Set("bos_token_id", one(model.bos_token));
  json::Array eos;
  for (const int64_t token : model.eos_tokens) {
    if (inside(token)) eos.emplace_back(token);
  }
  out.Set("eos_token_id", eos.empty() ? json::Value(nullptr) : eos.size() == 1 ? eos.front() : json::Value(eos));
  out.Set("pad_token_id", one(model.pad_token));
}

}  // namespace

json::Object WriteConfig(const ModelConfig& model) {
  json::Object out;
  const Family family = model.architecture.family;
  const FamilyRow& row = model.row();
  WriteIdentity(out, model);
  if (model.ffn != 0) out.Set(family == Family::kFalcon ? "ffn_hidden_size" : "intermediate_size", model.ffn);
  WriteAttention(out, model);
  WriteBiases(out, model);
  WriteLayers(out, model);
  out.Set(row.norm_eps, model.norm_eps);
  if (family == Family::kGlm4Moe || model.qk_norm == row.qk_norm) {
    out.Set(row.activation, ActivationName(model.activation));
    if (family == Family::kGemma) out.Set("hidden_act", ActivationName(model.activation));
  } else {
    throw NotExpressible(model,
                         model.qk_norm == QkNorm::kNone ? "q and k have no norms" : "q and k have norms of this kind");
  }
  WriteRopes(out, model);
  WriteExperts(out, model);
  WriteMixers(out, model);
  if (family == Family::kDeepseekV3 || family == Family::kGlm4Moe || family == Family::kNemotronH) {
    out.Set("num_nextn_predict_layers", model.mtp_layers);
  } else if (model.mtp_layers != 0 && family != Family::kQwen3Next) {
    throw NotExpressible(model, "there are layers that predict further tokens");
  }
  const auto number = [&](std::string_view name, std::optional<double> value) {
    out.Set(name, value ? json::Value(*value) : json::Value(nullptr));
  };
  if (family == Family::kGemma2 || family == Family::kGemma3) {
    const double scalar = model.query_pre_attn_scalar.value_or(static_cast<double>(model.head_dim));
    constexpr double kMostExact = 9007199254740992.0;  // 2^53
    // 5 wants an integer here.
    if (!(scalar > 0 && scalar <= kMostExact && std::trunc(scalar) == scalar)) {
      throw NotExpressible(model, Cat("query_pre_attn_scalar is ", FormatDouble(scalar), ", no positive integer"));
    }
    out.Set("query_pre_attn_scalar", static_cast<int64_t>(scalar));
    number("attn_logit_softcapping", model.attention_softcap);
    number("final_logit_softcapping", model.final_softcap);
  }
  WriteTokens(out, model);
  return out;
}

std::string ConfigText(const json::Object& config) {
  return json::Write(config, {.indent = 2, .final_newline = true, .extensions = json::Extensions::kPythonNumbers});
}

}  // namespace ck::huggingface
