// GPT families whose layers differ from Llama's: more norms, fused tensors, biases, no gate.
// Post norms stand under the names of Megatron-Bridge; Megatron-Core alone has no such layer.
#include "libs/huggingface/rule_parts.h"

namespace ck::huggingface {
namespace {

Rule PostAttentionNorm(std::string_view hf) { return {{"decoder.layers.{i}.self_attention.linear_proj.post_layernorm.weight"}, "h", {hf}}; }
Rule PostMlpNorm(std::string_view hf) { return {{"decoder.layers.{i}.mlp.linear_fc2.post_layernorm.weight"}, "h", {hf}}; }

// Four norms a layer: in front of attention and MLP and behind each. Gemma 2 and 3.
Rules FourNorms() {
  return {
      InputNorm(),
      PostAttentionNorm("model.layers.{i}.post_attention_layernorm.weight"),
      MlpNorm("model.layers.{i}.pre_feedforward_layernorm.weight"),
      PostMlpNorm("model.layers.{i}.post_feedforward_layernorm.weight"),
  };
}

// Over all heads at once.
Rules FullWidthNorms() {
  return {
      {{"decoder.layers.{i}.self_attention.q_layernorm.weight"}, "q", {"model.layers.{i}.self_attn.q_norm.weight"}},
      {{"decoder.layers.{i}.self_attention.k_layernorm.weight"}, "g", {"model.layers.{i}.self_attn.k_norm.weight"}},
  };
}

// Norms with a bias.
Rules LayerNormBiases() {
  return {
      {{"decoder.final_layernorm.bias"}, "h", {"model.norm.bias"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_bias", "decoder.layers.{i}.input_layernorm.bias"}, "h", {"model.layers.{i}.input_layernorm.bias"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_bias", "decoder.layers.{i}.pre_mlp_layernorm.bias"}, "h", {"model.layers.{i}.post_attention_layernorm.bias"}},
  };
}

Rules Starcoder2() {
  return Join({Ends(), Attention(), LayerNormBiases(), {
      MlpNorm("model.layers.{i}.post_attention_layernorm.weight"),
      QkvBias(When::kField, "use_bias"),
      {{"decoder.layers.{i}.self_attention.linear_proj.bias"}, "h", {"model.layers.{i}.self_attn.o_proj.bias"}, Transform::kCopy, When::kField, "use_bias"},
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "f h", {"model.layers.{i}.mlp.c_fc.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.bias"}, "f", {"model.layers.{i}.mlp.c_fc.bias"}, Transform::kCopy, When::kField, "use_bias"},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"model.layers.{i}.mlp.c_proj.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc2.bias"}, "h", {"model.layers.{i}.mlp.c_proj.bias"}, Transform::kCopy, When::kField, "use_bias"},
  }});
}

// Gate and up stay one tensor.
Rules FusedGateUp() {
  return {
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "2f h", {"model.layers.{i}.mlp.gate_up_proj.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"model.layers.{i}.mlp.down_proj.weight"}},
  };
}

Rules Phi3() {
  return Join({Ends(), FusedGateUp(), {
      InputNorm(),
      {{"decoder.layers.{i}.self_attention.linear_qkv.weight"}, "k h", {"model.layers.{i}.self_attn.qkv_proj.weight"}, Transform::kQkvJoin},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h q", {"model.layers.{i}.self_attn.o_proj.weight"}},
      MlpNorm("model.layers.{i}.post_attention_layernorm.weight"),
  }});
}

// post_attention_layernorm is the norm in front of the MLP here, not the one behind attention.
Rules Glm4() {
  return Join({Ends(), Attention(), {QkvBias(When::kField, "attention_bias")}, FusedGateUp(), {
      PostAttentionNorm("model.layers.{i}.post_self_attn_layernorm.weight"),
      MlpNorm("model.layers.{i}.post_attention_layernorm.weight"),
      PostMlpNorm("model.layers.{i}.post_mlp_layernorm.weight"),
  }});
}

Rules Glm4Moe() {
  return Join({Ends(), Attention(), {QkvBias(When::kField, "attention_bias")}, Mlp(When::kDense), Experts(), {
      {{"decoder.layers.{i}.self_attention.q_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.q_norm.weight"}, Transform::kCopy, When::kField, "use_qk_norm"},
      {{"decoder.layers.{i}.self_attention.k_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.k_norm.weight"}, Transform::kCopy, When::kField, "use_qk_norm"},
      {{"decoder.layers.{i}.mlp.router.expert_bias"}, "E", {"model.layers.{i}.mlp.gate.e_score_correction_bias"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc1.weight"}, "2s h",
       {"model.layers.{i}.mlp.shared_experts.gate_proj.weight", "model.layers.{i}.mlp.shared_experts.up_proj.weight"}, Transform::kGateUp, When::kMoe},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc2.weight"}, "h s", {"model.layers.{i}.mlp.shared_experts.down_proj.weight"}, Transform::kCopy, When::kMoe},
  }});
}

// No norm in front of attention or MLP.
Rules Olmo2() {
  return Join({Ends(), Projections(), AttentionBias(), FullWidthNorms(), GateUpDown(), {
      PostAttentionNorm("model.layers.{i}.post_attention_layernorm.weight"),
      PostMlpNorm("model.layers.{i}.post_feedforward_layernorm.weight"),
  }});
}

}  // namespace

std::vector<Table> OtherGptTables() {
  return {
      {Family::kGemma, Join({Ends(), Attention(), AttentionBias(), Mlp(When::kAlways)})},
      {Family::kGemma2, Join({Ends(), FourNorms(), Projections(), AttentionBias(), GateUpDown()})},
      {Family::kGemma3, Join({Ends(), FourNorms(), Projections(), AttentionBias(), QueryKeyNorm(), GateUpDown()})},
      {Family::kPhi3, Phi3()},
      {Family::kStarcoder2, Starcoder2()},
      {Family::kGlm4, Glm4()},
      {Family::kGlm4Moe, Glm4Moe()},
      {Family::kOlmoe, Join({Ends(), Attention(), AttentionBias(), FullWidthNorms(), Experts()})},
      {Family::kOlmo2, Olmo2()},
  };
}

}  // namespace ck::huggingface
