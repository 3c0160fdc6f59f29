// GPT families whose layers differ from Llama's: more norms, fused tensors, biases, no gate.
// Post norms stand under the names of Megatron-Bridge; Megatron-Core alone has no such layer.
#include "libs/huggingface/rule_parts.h"

namespace ck::huggingface {
namespace {

Rule PostAttentionNorm(std::string_view hf) { return {{"decoder.layers.{i}.self_attention.linear_proj.post_layernorm.weight"}, "h", {hf}, Transform::kNorm}; }
Rule PostMlpNorm(std::string_view hf) { return {{"decoder.layers.{i}.mlp.linear_fc2.post_layernorm.weight"}, "h", {hf}, Transform::kNorm}; }

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
      {{"decoder.layers.{i}.self_attention.q_layernorm.weight"}, "q", {"model.layers.{i}.self_attn.q_norm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.self_attention.k_layernorm.weight"}, "g", {"model.layers.{i}.self_attn.k_norm.weight"}, Transform::kNorm},
  };
}

Rules Starcoder2() {
  return Join({Ends(), Attention(), NormBiases(), {
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
  return Join({Ends(), Attention(), {QkvBias(When::kField, "attention_bias")}, Mlp(When::kDense), Experts(), {CorrectionBias()}, SharedExperts(), {
      {{"decoder.layers.{i}.self_attention.q_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.q_norm.weight"}, Transform::kNorm, When::kField, "use_qk_norm"},
      {{"decoder.layers.{i}.self_attention.k_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.k_norm.weight"}, Transform::kNorm, When::kField, "use_qk_norm"},
  }});
}

// No norm in front of attention or MLP.
Rules Olmo2() {
  return Join({Ends(), Projections(), AttentionBias(), FullWidthNorms(), GateUpDown(), {
      PostAttentionNorm("model.layers.{i}.post_attention_layernorm.weight"),
      PostMlpNorm("model.layers.{i}.post_feedforward_layernorm.weight"),
  }});
}

Rules GptNeox() {
  return {
      {{"embedding.word_embeddings.weight"}, "V h", {"gpt_neox.embed_in.weight"}, Transform::kUnpad},
      {{"decoder.final_layernorm.weight"}, "h", {"gpt_neox.final_layer_norm.weight"}, Transform::kNorm},
      {{"decoder.final_layernorm.bias"}, "h", {"gpt_neox.final_layer_norm.bias"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.{i}.input_layernorm.weight"}, "h", {"gpt_neox.layers.{i}.input_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_bias", "decoder.layers.{i}.input_layernorm.bias"}, "h", {"gpt_neox.layers.{i}.input_layernorm.bias"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.weight"}, "k h", {"gpt_neox.layers.{i}.attention.query_key_value.weight"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.bias"}, "k", {"gpt_neox.layers.{i}.attention.query_key_value.bias"}, Transform::kCopy, When::kField, "attention_bias"},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h q", {"gpt_neox.layers.{i}.attention.dense.weight"}},
      {{"decoder.layers.{i}.self_attention.linear_proj.bias"}, "h", {"gpt_neox.layers.{i}.attention.dense.bias"}, Transform::kCopy, When::kField, "attention_bias"},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight", "decoder.layers.{i}.pre_mlp_layernorm.weight"}, "h", {"gpt_neox.layers.{i}.post_attention_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_bias", "decoder.layers.{i}.pre_mlp_layernorm.bias"}, "h", {"gpt_neox.layers.{i}.post_attention_layernorm.bias"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "f h", {"gpt_neox.layers.{i}.mlp.dense_h_to_4h.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.bias"}, "f", {"gpt_neox.layers.{i}.mlp.dense_h_to_4h.bias"}},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"gpt_neox.layers.{i}.mlp.dense_4h_to_h.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc2.bias"}, "h", {"gpt_neox.layers.{i}.mlp.dense_4h_to_h.bias"}},
  };
}

// The class without attention and MLP side by side: the old decoder with two norms a layer.
Rules Falcon() {
  return {
      {{"embedding.word_embeddings.weight"}, "V h", {"transformer.word_embeddings.weight"}, Transform::kUnpad},
      {{"decoder.final_layernorm.weight"}, "h", {"transformer.ln_f.weight"}, Transform::kNorm},
      {{"decoder.final_layernorm.bias"}, "h", {"transformer.ln_f.bias"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.{i}.input_layernorm.weight"}, "h", {"transformer.h.{i}.input_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_bias", "decoder.layers.{i}.input_layernorm.bias"}, "h", {"transformer.h.{i}.input_layernorm.bias"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.weight"}, "k h", {"transformer.h.{i}.self_attention.query_key_value.weight"}},
      {{"decoder.layers.{i}.self_attention.linear_qkv.bias"}, "k", {"transformer.h.{i}.self_attention.query_key_value.bias"}, Transform::kCopy, When::kField, "bias"},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h q", {"transformer.h.{i}.self_attention.dense.weight"}},
      {{"decoder.layers.{i}.self_attention.linear_proj.bias"}, "h", {"transformer.h.{i}.self_attention.dense.bias"}, Transform::kCopy, When::kField, "bias"},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight", "decoder.layers.{i}.pre_mlp_layernorm.weight"}, "h", {"transformer.h.{i}.post_attention_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_bias", "decoder.layers.{i}.pre_mlp_layernorm.bias"}, "h", {"transformer.h.{i}.post_attention_layernorm.bias"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "f h", {"transformer.h.{i}.mlp.dense_h_to_4h.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.bias"}, "f", {"transformer.h.{i}.mlp.dense_h_to_4h.bias"}, Transform::kCopy, When::kField, "bias"},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"transformer.h.{i}.mlp.dense_4h_to_h.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc2.bias"}, "h", {"transformer.h.{i}.mlp.dense_4h_to_h.bias"}, Transform::kCopy, When::kField, "bias"},
  };
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
      {Family::kGptNeox, GptNeox(), LayerForm::kGpt, "embed_out.weight", "classifier.weight", "classifier.bias"},
      {Family::kFalcon, Falcon(), LayerForm::kGpt, "lm_head.weight", "classifier.weight", "classifier.bias"},
  };
}

}  // namespace ck::huggingface
