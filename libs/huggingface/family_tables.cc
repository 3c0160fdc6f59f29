// The tables. A family is its list of rules; what several share is in rule_parts.h.
#include "libs/huggingface/rule_parts.h"

namespace ck::huggingface {
namespace {

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
      {Family::kMixtral, Join({Ends(), Attention(), MixtralExperts()})},
  };
}

}  // namespace ck::huggingface
