// The tables. A family is its list of rules; what several share is in rule_parts.h.
#include "libs/huggingface/rule_parts.h"

namespace ck::huggingface {
namespace {

// Attention of low rank. The rows of a head are those of Hugging Face; nothing is regrouped.
Rules LatentAttention() {
  return {
      {{"decoder.layers.{i}.input_layernorm.weight"}, "h", {"model.layers.{i}.input_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.self_attention.linear_q_proj.weight"}, "u h", {"model.layers.{i}.self_attn.q_proj.weight"}, Transform::kCopy, When::kField, "q_proj"},
      {{"decoder.layers.{i}.self_attention.linear_q_down_proj.weight"}, "l h", {"model.layers.{i}.self_attn.q_a_proj.weight"}, Transform::kCopy, When::kField, "q_lora_rank"},
      {{"decoder.layers.{i}.self_attention.linear_q_up_proj.layer_norm_weight", "decoder.layers.{i}.self_attention.q_layernorm.weight"}, "l",
       {"model.layers.{i}.self_attn.q_a_layernorm.weight"}, Transform::kNorm, When::kField, "q_lora_rank"},
      {{"decoder.layers.{i}.self_attention.linear_q_up_proj.weight"}, "u l", {"model.layers.{i}.self_attn.q_b_proj.weight"}, Transform::kCopy, When::kField, "q_lora_rank"},
      {{"decoder.layers.{i}.self_attention.linear_kv_down_proj.weight"}, "c h", {"model.layers.{i}.self_attn.kv_a_proj_with_mqa.weight"}},
      {{"decoder.layers.{i}.self_attention.linear_kv_up_proj.layer_norm_weight", "decoder.layers.{i}.self_attention.kv_layernorm.weight"}, "z",
       {"model.layers.{i}.self_attn.kv_a_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.self_attention.linear_kv_up_proj.weight"}, "w z", {"model.layers.{i}.self_attn.kv_b_proj.weight"}},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h v", {"model.layers.{i}.self_attn.o_proj.weight"}},
  };
}

// An MLP without a gate.
Rules UpMlp() {
  return {
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight", "decoder.layers.{i}.pre_mlp_layernorm.weight"}, "h", {"model.layers.{i}.post_attention_layernorm.weight"}, Transform::kNorm},
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "f h", {"model.layers.{i}.mlp.up_proj.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"model.layers.{i}.mlp.down_proj.weight"}},
      {{"decoder.layers.{i}.mlp.linear_fc1.bias"}, "f", {"model.layers.{i}.mlp.up_proj.bias"}, Transform::kCopy, When::kField, "mlp_bias"},
      {{"decoder.layers.{i}.mlp.linear_fc2.bias"}, "h", {"model.layers.{i}.mlp.down_proj.bias"}, Transform::kCopy, When::kField, "mlp_bias"},
  };
}

// w1 is the gate, w3 the up projection, w2 the way back.
Rules MixtralExperts() {
  return {
      MoeNorm(),
      {{"decoder.layers.{i}.mlp.router.weight"}, "E h", {"model.layers.{i}.block_sparse_moe.gate.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc1.weight"}, "E 2m h",
       {"model.layers.{i}.block_sparse_moe.experts.{e}.w1.weight", "model.layers.{i}.block_sparse_moe.experts.{e}.w3.weight"}, Transform::kGateUp, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc2.weight"}, "E h m", {"model.layers.{i}.block_sparse_moe.experts.{e}.w2.weight"}, Transform::kCopy, When::kMoe},
  };
}

}  // namespace

std::vector<Table> LlamaLikeTables() {
  return {
      {Family::kLlama, Join({Ends(), Attention(), AttentionBias(), Mlp(When::kAlways), MlpBias()})},
      {Family::kMistral, Join({Ends(), Attention(), Mlp(When::kAlways)})},
      {Family::kQwen2, Join({Ends(), Attention(), {QkvBias(When::kAlways, "")}, Mlp(When::kAlways)})},
      {Family::kQwen3, Join({Ends(), Attention(), AttentionBias(), QueryKeyNorm(), Mlp(When::kAlways)})},
      {Family::kQwen2Moe, Join({Ends(), Attention(), {QkvBias(When::kField, "qkv_bias")}, Mlp(When::kDense), Experts(), GatedSharedExpert()})},
      {Family::kQwen3Moe, Join({Ends(), Attention(), AttentionBias(), QueryKeyNorm(), Mlp(When::kDense), Experts()})},
      {Family::kNemotron, Join({Ends(), Attention(), AttentionBias(), NormBiases(), UpMlp()})},
      {Family::kDeepseekV2, Join({Ends(), LatentAttention(), Mlp(When::kDense), Experts(), SharedExperts()})},
      {Family::kDeepseekV3, Join({Ends(), LatentAttention(), Mlp(When::kDense), Experts(), {CorrectionBias()}, SharedExperts()})},
      {Family::kMixtral, Join({Ends(), Attention(), MixtralExperts()})},
  };
}

}  // namespace ck::huggingface
