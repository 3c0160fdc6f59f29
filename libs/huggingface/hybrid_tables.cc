// Families with layers that are no attention: Mamba, gated delta nets. And those whose tensors lie in other dimensions: GPT-OSS.
#include "libs/huggingface/rule_parts.h"

namespace ck::huggingface {
namespace {

// Embedding, final norm and norm of every layer of the Mamba family.
Rules Backbone() {
  return {
      {{"embedding.word_embeddings.weight"}, "V h", {"backbone.embeddings.weight"}, Transform::kUnpad},
      {{"decoder.final_norm.weight"}, "h", {"backbone.norm_f.weight"}, Transform::kNorm},
  };
}

// z is the gate, x what is scanned, B and C the state's input and output, dt the step.
Rules MambaMixer() {
  return {
      {{"decoder.layers.{i}.mixer.in_proj.layer_norm_weight", "decoder.layers.{i}.norm.weight"}, "h", {"backbone.layers.{i}.norm.weight"}, Transform::kNorm, When::kMamba},
      {{"decoder.layers.{i}.mixer.in_proj.weight.z", "decoder.layers.{i}.mixer.in_proj.weight.x", "decoder.layers.{i}.mixer.in_proj.weight.B",
        "decoder.layers.{i}.mixer.in_proj.weight.C", "decoder.layers.{i}.mixer.in_proj.weight.dt"},
       "i h, i h, n h, n h, t h", {"backbone.layers.{i}.mixer.in_proj.weight"}, Transform::kJoin, When::kMamba},
      {{"decoder.layers.{i}.mixer.in_proj.bias.z", "decoder.layers.{i}.mixer.in_proj.bias.x", "decoder.layers.{i}.mixer.in_proj.bias.B",
        "decoder.layers.{i}.mixer.in_proj.bias.C", "decoder.layers.{i}.mixer.in_proj.bias.dt"},
       "i, i, n, n, t", {"backbone.layers.{i}.mixer.in_proj.bias"}, Transform::kJoin, When::kMamba, "use_bias"},
      {{"decoder.layers.{i}.mixer.conv1d.weight.x", "decoder.layers.{i}.mixer.conv1d.weight.B", "decoder.layers.{i}.mixer.conv1d.weight.C"},
       "i 1 p, n 1 p, n 1 p", {"backbone.layers.{i}.mixer.conv1d.weight"}, Transform::kJoin, When::kMamba},
      {{"decoder.layers.{i}.mixer.conv1d.bias.x", "decoder.layers.{i}.mixer.conv1d.bias.B", "decoder.layers.{i}.mixer.conv1d.bias.C"},
       "i, n, n", {"backbone.layers.{i}.mixer.conv1d.bias"}, Transform::kJoin, When::kMamba, "use_conv_bias"},
      {{"decoder.layers.{i}.mixer.A_log"}, "t", {"backbone.layers.{i}.mixer.A_log"}, Transform::kCopy, When::kMamba},
      {{"decoder.layers.{i}.mixer.D"}, "t", {"backbone.layers.{i}.mixer.D"}, Transform::kCopy, When::kMamba},
      {{"decoder.layers.{i}.mixer.dt_bias"}, "t", {"backbone.layers.{i}.mixer.dt_bias"}, Transform::kCopy, When::kMamba},
      {{"decoder.layers.{i}.mixer.norm.weight"}, "i", {"backbone.layers.{i}.mixer.norm.weight"}, Transform::kCopy, When::kMamba},
      {{"decoder.layers.{i}.mixer.out_proj.weight"}, "h i", {"backbone.layers.{i}.mixer.out_proj.weight"}, Transform::kCopy, When::kMamba},
      {{"decoder.layers.{i}.mixer.out_proj.bias"}, "h", {"backbone.layers.{i}.mixer.out_proj.bias"}, Transform::kCopy, When::kMamba, "use_bias"},
  };
}

// Attention, MLP and experts are each a layer of their own, called mixer.
Rules NemotronHLayers() {
  return {
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.{i}.input_layernorm.weight"}, "h", {"backbone.layers.{i}.norm.weight"},
       Transform::kNorm, When::kAttention},
      {{"decoder.layers.{i}.self_attention.linear_qkv.weight"}, "k h",
       {"backbone.layers.{i}.mixer.q_proj.weight", "backbone.layers.{i}.mixer.k_proj.weight", "backbone.layers.{i}.mixer.v_proj.weight"}, Transform::kQkv, When::kAttention},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h q", {"backbone.layers.{i}.mixer.o_proj.weight"}, Transform::kCopy, When::kAttention},
      {{"decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight", "decoder.layers.{i}.pre_mlp_layernorm.weight"}, "h", {"backbone.layers.{i}.norm.weight"}, Transform::kNorm, When::kMlp},
      {{"decoder.layers.{i}.mlp.linear_fc1.weight"}, "f h", {"backbone.layers.{i}.mixer.up_proj.weight"}, Transform::kCopy, When::kMlp},
      {{"decoder.layers.{i}.mlp.linear_fc1.bias"}, "f", {"backbone.layers.{i}.mixer.up_proj.bias"}, Transform::kCopy, When::kMlp, "mlp_bias"},
      {{"decoder.layers.{i}.mlp.linear_fc2.weight"}, "h f", {"backbone.layers.{i}.mixer.down_proj.weight"}, Transform::kCopy, When::kMlp},
      {{"decoder.layers.{i}.mlp.linear_fc2.bias"}, "h", {"backbone.layers.{i}.mixer.down_proj.bias"}, Transform::kCopy, When::kMlp, "mlp_bias"},
  };
}

// With a latent width the experts work on less than the hidden size.
Rules NemotronHExperts() {
  return {
      {{"decoder.layers.{i}.pre_mlp_layernorm.weight", "decoder.layers.{i}.mlp.linear_fc1.layer_norm_weight"}, "h", {"backbone.layers.{i}.norm.weight"}, Transform::kNorm, When::kMoe},
      {{"decoder.layers.{i}.mlp.router.weight"}, "E h", {"backbone.layers.{i}.mixer.gate.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.router.expert_bias"}, "E", {"backbone.layers.{i}.mixer.gate.e_score_correction_bias"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc1.weight"}, "E m j", {"backbone.layers.{i}.mixer.experts.{e}.up_proj.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc2.weight"}, "E j m", {"backbone.layers.{i}.mixer.experts.{e}.down_proj.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.fc1_latent_proj.weight"}, "j h", {"backbone.layers.{i}.mixer.fc1_latent_proj.weight"}, Transform::kCopy, When::kMoe, "moe_latent_size"},
      {{"decoder.layers.{i}.mlp.fc2_latent_proj.weight"}, "h j", {"backbone.layers.{i}.mixer.fc2_latent_proj.weight"}, Transform::kCopy, When::kMoe, "moe_latent_size"},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc1.weight"}, "s h", {"backbone.layers.{i}.mixer.shared_experts.up_proj.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc1.bias"}, "s", {"backbone.layers.{i}.mixer.shared_experts.up_proj.bias"}, Transform::kCopy, When::kMoe, "mlp_bias"},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc2.weight"}, "h s", {"backbone.layers.{i}.mixer.shared_experts.down_proj.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.shared_experts.linear_fc2.bias"}, "h", {"backbone.layers.{i}.mixer.shared_experts.down_proj.bias"}, Transform::kCopy, When::kMoe, "mlp_bias"},
  };
}

// The class has a head of its own even where the checkpoint's is the embedding.
Rule EmbeddingAsHead() { return {{"embedding.word_embeddings.weight"}, "V h", {"lm_head.weight"}, Transform::kUnpad, When::kTied}; }

// The norm behind the delta net is the one norm of the class that multiplies by the weight itself.
Rules DeltaNet() {
  return {
      {{"decoder.layers.{i}.self_attention.in_proj.layer_norm_weight", "decoder.layers.{i}.input_layernorm.weight"}, "h", {"model.layers.{i}.input_layernorm.weight"},
       Transform::kNorm, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.in_proj.weight.query", "decoder.layers.{i}.self_attention.in_proj.weight.key", "decoder.layers.{i}.self_attention.in_proj.weight.value",
        "decoder.layers.{i}.self_attention.in_proj.weight.z"},
       "r h, r h, y h, y h", {"model.layers.{i}.linear_attn.in_proj_qkvz.weight"}, Transform::kGdnProjection, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.in_proj.weight.beta", "decoder.layers.{i}.self_attention.in_proj.weight.alpha"}, "b h, b h",
       {"model.layers.{i}.linear_attn.in_proj_ba.weight"}, Transform::kGdnGates, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.conv1d.weight.query", "decoder.layers.{i}.self_attention.conv1d.weight.key", "decoder.layers.{i}.self_attention.conv1d.weight.value"},
       "r 1 p, r 1 p, y 1 p", {"model.layers.{i}.linear_attn.conv1d.weight"}, Transform::kJoin, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.A_log"}, "b", {"model.layers.{i}.linear_attn.A_log"}, Transform::kCopy, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.dt_bias"}, "b", {"model.layers.{i}.linear_attn.dt_bias"}, Transform::kCopy, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.out_norm.weight"}, "o", {"model.layers.{i}.linear_attn.norm.weight"}, Transform::kPlainNorm, When::kDeltaNet},
      {{"decoder.layers.{i}.self_attention.out_proj.weight"}, "h y", {"model.layers.{i}.linear_attn.out_proj.weight"}, Transform::kCopy, When::kDeltaNet},
  };
}

// Attention with a gate behind each head.
Rules GatedAttention() {
  return {
      {{"decoder.layers.{i}.self_attention.linear_qkv.layer_norm_weight", "decoder.layers.{i}.input_layernorm.weight"}, "h", {"model.layers.{i}.input_layernorm.weight"},
       Transform::kNorm, When::kAttention},
      {{"decoder.layers.{i}.self_attention.linear_qkv.weight"}, "k h",
       {"model.layers.{i}.self_attn.q_proj.weight", "model.layers.{i}.self_attn.k_proj.weight", "model.layers.{i}.self_attn.v_proj.weight"}, Transform::kGatedQkv, When::kAttention},
      {{"decoder.layers.{i}.self_attention.q_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.q_norm.weight"}, Transform::kNorm, When::kAttention},
      {{"decoder.layers.{i}.self_attention.k_layernorm.weight"}, "d", {"model.layers.{i}.self_attn.k_norm.weight"}, Transform::kNorm, When::kAttention},
      {{"decoder.layers.{i}.self_attention.linear_proj.weight"}, "h q", {"model.layers.{i}.self_attn.o_proj.weight"}, Transform::kCopy, When::kAttention},
  };
}

// All experts of a layer in one tensor, input before output; gate and up are its even and odd columns.
Rules GptOssExperts() {
  return {
      MoeNorm(),
      {{"decoder.layers.{i}.mlp.router.weight"}, "E h", {"model.layers.{i}.mlp.router.weight"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.router.bias"}, "E", {"model.layers.{i}.mlp.router.bias"}, Transform::kCopy, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc1.weight"}, "E 2m h", {"model.layers.{i}.mlp.experts.gate_up_proj"}, Transform::kAlternate, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc1.bias"}, "E 2m", {"model.layers.{i}.mlp.experts.gate_up_proj_bias"}, Transform::kAlternate, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc2.weight"}, "E h m", {"model.layers.{i}.mlp.experts.down_proj"}, Transform::kTranspose, When::kMoe},
      {{"decoder.layers.{i}.mlp.experts.experts.linear_fc2.bias"}, "E h", {"model.layers.{i}.mlp.experts.down_proj_bias"}, Transform::kCopy, When::kMoe},
  };
}

// One number a head that takes part in the softmax.
Rule Sinks() { return {{"decoder.layers.{i}.self_attention.core_attention.softmax_offset"}, "a", {"model.layers.{i}.self_attn.sinks"}}; }

}  // namespace

std::vector<Table> HybridTables() {
  return {
      {Family::kGptOss, Join({Ends(), Attention(), AttentionBias(), {Sinks()}, GptOssExperts()})},
      {Family::kMamba2, Join({Backbone(), MambaMixer()}), LayerForm::kHybrid},
      {Family::kNemotronH, Join({Backbone(), {EmbeddingAsHead()}, MambaMixer(), NemotronHLayers(), NemotronHExperts()}), LayerForm::kHybrid},
      {Family::kQwen3Next, Join({Ends(), GatedAttention(), DeltaNet(), Mlp(When::kDense), Experts(), GatedSharedExpert()})},
  };
}

}  // namespace ck::huggingface
