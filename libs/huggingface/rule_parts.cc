#include "libs/huggingface/rule_parts.h"

namespace ck::huggingface {

Rules Join(std::initializer_list<Rules> parts) {
  Rules out;
  for (const Rules& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Rules Ends() {
  return {
      {{"embedding.word_embeddings.weight"}, "V h", {"model.embed_tokens.weight"}, Transform::kUnpad},
      {{"decoder.final_layernorm.weight"}, "h", {"model.norm.weight"}, Transform::kNorm},
  };
}

Rule InputNorm() {
  return {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.{i}.input_layernorm.weight"}, "h", {"model.layers.{i}.input_layernorm.weight"}, Transform::kNorm};
}

Rules Projections() {
  return {
      {{"decoder.layers.{i}.self_attention.linear_qkv.weight"}, "k h",
       {"model.layers.{i}.self_attn.q_proj.weight", "model.layers.{i}.self_attn.k_proj.weight", "model.layers.{i}.self_attn.v_proj.weight"}, Transform::kQkv},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h q", {"model.layers.{i}.self_attn.o_proj.weight"}},
  };
}

Rules Attention() { return Join({{InputNorm()}, Projections()}); }

Rule QkvBias(When when, std::string_view field) {
  return {{"decoder.layers.{i}.self_attention.linear_qkv.bias"}, "k",
          {"model.layers.{i}.self_attn.q_proj.bias", "model.layers.{i}.self_attn.k_proj.bias", "model.layers.{i}.self_attn.v_proj.bias"}, Transform::kQkv, when, field};
}

// Classes whose attention_bias means the output projection too.
Rules AttentionBias() {
  return {
      QkvBias(When::kField, "attention_bias"),
      {{"decoder.layers.{i}.self_attention.linear_proj.bias"}, "h", {"model.layers.{i}.self_attn.o_proj.bias"}, Transform::kCopy, When::kField, "attention_bias"},
  };
}

Rules QueryKeyNorm() {
  return {
      {{"decoder.layers.{i}.self_attention.q_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.q_norm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.self_attention.k_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.k_norm.weight"}, Transform::kNorm},
  };
}

Rule MlpNorm(std::string_view hf, When when) {
  return {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight", "decoder.layers.{i}.pre_mlp_layernorm.weight"}, "h", {hf}, Transform::kNorm, when};
}

Rules Mlp(When when) { return Join({{MlpNorm("model.layers.{i}.post_attention_layernorm.weight", when)}, GateUpDown(when)}); }

Rules GateUpDown(When when) {
  return {
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "2f h", {"model.layers.{i}.mlp.gate_proj.weight", "model.layers.{i}.mlp.up_proj.weight"}, Transform::kGateUp, when},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"model.layers.{i}.mlp.down_proj.weight"}, Transform::kCopy, when},
  };
}

Rules MlpBias() {
  return {
      {{"decoder.layers.{i}.mlp.linear_fc1.bias"}, "2f", {"model.layers.{i}.mlp.gate_proj.bias", "model.layers.{i}.mlp.up_proj.bias"}, Transform::kGateUp, When::kField, "mlp_bias"},
      {{"decoder.layers.{i}.mlp.linear_fc2.bias"}, "h", {"model.layers.{i}.mlp.down_proj.bias"}, Transform::kCopy, When::kField, "mlp_bias"},
  };
}

Rule MoeNorm() {
  return {{"decoder.layers.{i}.pre_mlp_layernorm.weight", "decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight"}, "h", {"model.layers.{i}.post_attention_layernorm.weight"}, Transform::kNorm, When::kMoe};
}

// Qwen and DeepSeek layout of the published files: one tensor per expert.
Rules Experts() {
  return {
      MoeNorm(),
      {{"decoder.layers.{i}.mlp.router.weight"}, "E h", {"model.layers.{i}.mlp.gate.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc1.weight"}, "E 2m h",
       {"model.layers.{i}.mlp.experts.{e}.gate_proj.weight", "model.layers.{i}.mlp.experts.{e}.up_proj.weight"}, Transform::kGateUp, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc2.weight"}, "E h m", {"model.layers.{i}.mlp.experts.{e}.down_proj.weight"}, Transform::kCopy, When::kMoe},
  };
}

Rules GatedSharedExpert() {
  return {
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc1.weight"}, "2s h",
       {"model.layers.{i}.mlp.shared_expert.gate_proj.weight", "model.layers.{i}.mlp.shared_expert.up_proj.weight"}, Transform::kGateUp, When::kMoe},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc2.weight"}, "h s", {"model.layers.{i}.mlp.shared_expert.down_proj.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.shared_experts.gate_weight"}, "1 h", {"model.layers.{i}.mlp.shared_expert_gate.weight"}, Transform::kCopy, When::kMoe},
  };
}

Rules SharedExperts() {
  return {
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc1.weight"}, "2s h",
       {"model.layers.{i}.mlp.shared_experts.gate_proj.weight", "model.layers.{i}.mlp.shared_experts.up_proj.weight"}, Transform::kGateUp, When::kMoe, "n_shared_experts"},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc2.weight"}, "h s", {"model.layers.{i}.mlp.shared_experts.down_proj.weight"}, Transform::kCopy, When::kMoe, "n_shared_experts"},
  };
}

Rule CorrectionBias() {
  return {{"decoder.layers.{i}.mlp.router.expert_bias"}, "E", {"model.layers.{i}.mlp.gate.e_score_correction_bias"}, Transform::kCopy, When::kMoe};
}

// Norms with a bias, in front of attention and MLP and at the end.
Rules NormBiases() {
  return {
      {{"decoder.final_layernorm.bias"}, "h", {"model.norm.bias"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_bias", "decoder.layers.{i}.input_layernorm.bias"}, "h", {"model.layers.{i}.input_layernorm.bias"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_bias", "decoder.layers.{i}.pre_mlp_layernorm.bias"}, "h", {"model.layers.{i}.post_attention_layernorm.bias"}},
  };
}

}  // namespace ck::huggingface
