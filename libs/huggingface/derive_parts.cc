#include "libs/huggingface/derive_parts.h"

#include <algorithm>
#include <cmath>

#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

// Megatron multiplies by (0.1 mscale ln factor + 1) / (0.1 all_dim ln factor + 1). transformers does so when neither is
// 0, else it takes 1 and 0.
void SetMscale(double mscale, double all_dim, RopeScaling& out) {
  if (mscale != 0 && all_dim != 0) {
    out.mscale = mscale;
    out.mscale_all_dim = all_dim;
  } else if (mscale != 1 || all_dim != 0) {
    const double logarithm = *out.factor > 1 ? std::log(*out.factor) : 0;
    out.attention_factor = (0.1 * mscale * logarithm + 1) / (0.1 * all_dim * logarithm + 1);
    if (all_dim != 0) out.mscale_all_dim = all_dim;  // DeepSeek's softmax reads it
  }
}

// MLATransformerConfig's defaults, which hold where a file does not have the argument.
RopeScaling LatentYarn(const SavedArgs& args) {
  RopeScaling out;
  out.kind = RopeKind::kYarn;
  out.factor = args.Double("rotary_scaling_factor").value_or(40);
  out.original_max_positions = args.Uint("original_max_position_embeddings").value_or(4096);
  out.beta_fast = args.Double("beta_fast").value_or(32);
  out.beta_slow = args.Double("beta_slow").value_or(1);
  SetMscale(args.Double("mscale").value_or(1), args.Double("mscale_all_dim").value_or(0), out);
  return out;
}

RopeScaling GptYarn(const SavedArgs& args) {
  RopeScaling out;
  out.kind = RopeKind::kYarn;
  out.factor = args.Double("yarn_rotary_scaling_factor");
  if (!out.factor) throw args.Missing("yarn_rotary_scaling_factor");
  out.original_max_positions = args.Size("yarn_original_max_position_embeddings");
  out.beta_fast = args.Double("yarn_beta_fast");
  out.beta_slow = args.Double("yarn_beta_slow");
  SetMscale(args.Double("yarn_mscale").value_or(1), args.Double("yarn_mscale_all_dim").value_or(0), out);
  if (args.Has("yarn_correction_range_round_to_int")) out.truncate = args.Flag("yarn_correction_range_round_to_int");
  return out;
}

// Megatron-Core has these numbers in its code (rotary_pos_embedding.py).
RopeScaling LlamaScaling(double factor) {
  RopeScaling out;
  out.kind = RopeKind::kLlama3;
  out.factor = factor;
  out.low_freq_factor = 1;
  out.high_freq_factor = 4;
  out.original_max_positions = 8192;
  return out;
}

RopeScaling DeriveScaling(const SavedArgs& args, const ModelConfig& model, std::string_view positions) {
  if (model.mla) return args.String("rope_type").value_or("yarn") == "yarn" ? LatentYarn(args) : RopeScaling{};
  if (positions == "yarn") return GptYarn(args);
  if (args.Flag("use_rope_scaling")) return LlamaScaling(args.Double("rope_scaling_factor").value_or(8));
  RopeScaling out;
  const double interpolation = args.Double("rotary_seq_len_interpolation_factor").value_or(1);
  if (interpolation == 1) return out;
  out.kind = RopeKind::kLinear;
  out.factor = interpolation;
  return out;
}

}  // namespace

void DeriveRope(const SavedArgs& args, ModelConfig& model) {
  const FamilyRow& row = model.row();
  std::string positions = args.String("position_embedding_type").value_or("learned_absolute");
  // Very old files have a flag of their own.
  if (args.Flag("use_rotary_position_embeddings")) positions = "rope";
  const bool attention = std::any_of(model.layers.begin(), model.layers.end(), [](LayerKind kind) {
    return kind != LayerKind::kMamba && kind != LayerKind::kMlpOnly;
  });
  if (row.default_rope_theta == 0) {
    if (attention && positions != "none")
      throw args.NotExpressible("position_embedding_type", Cat(ClassName(model.architecture), " has no positions"));
    return;
  }
  if (positions != "rope" && positions != "yarn") {
    throw args.NotExpressible("position_embedding_type", Cat(ClassName(model.architecture), " has rotary positions"));
  }
  if (args.IsSet("no_rope_freq"))
    throw args.NotExpressible("no_rope_freq", Cat(ClassName(model.architecture), " rotates in every layer"));
  // MLA interleaves by itself.
  const bool interleaved = args.Flag("rotary_interleaved");
  if (!model.mla && interleaved != (model.architecture.family == Family::kGlm4)) {
    throw args.NotExpressible("rotary_interleaved",
                              Cat(ClassName(model.architecture), interleaved ? " pairs halves" : " pairs neighbours"));
  }
  Rope rope;
  // Gemma3: one base per kind of layer, the local one first.
  const auto bases = args.Doubles("rotary_base").value_or(std::vector<double>{10000});
  const bool two = model.architecture.family == Family::kGemma3;
  if (bases.empty() || bases.size() > (two ? 2u : 1u))
    throw args.Wrong("rotary_base", two ? "one number or two" : "one number");
  rope.theta = bases.back();
  rope.partial_factor = args.Double("rotary_percent").value_or(1);
  rope.scaling = DeriveScaling(args, model, positions);
  if (two) {
    model.local_rope = rope;
    model.local_rope->theta = bases.front();
    model.local_rope->scaling = {};
  }
  model.rope = rope;
}

void DeriveExperts(const SavedArgs& args, DerivedConfig& derived) {
  ModelConfig& model = derived.model;
  if (std::find(model.expert_layers.begin(), model.expert_layers.end(), true) == model.expert_layers.end()) return;
  const Family family = model.architecture.family;
  Experts experts;
  experts.count = args.Size("num_experts");
  experts.per_token = args.Uint("moe_router_topk").value_or(2);
  experts.width = args.Uint("moe_ffn_hidden_size").value_or(model.ffn);
  experts.shared_width = args.Uint("moe_shared_expert_intermediate_size").value_or(0);
  experts.shared_gate = args.Flag("moe_shared_expert_gate");
  experts.latent_width = args.Uint("moe_latent_size");
  const std::string score = args.String("moe_router_score_function").value_or("softmax");
  if (score != "softmax" && score != "sigmoid")
    throw args.NotExpressible("moe_router_score_function", "only softmax and sigmoid have a field");
  experts.sigmoid = score == "sigmoid";
  experts.correction_bias = args.Flag("moe_router_enable_expert_bias");
  // A softmax over the chosen ones, or weights divided by their sum, is the same number; sigmoid divides when there is
  // more than one.
  experts.normalize = experts.sigmoid ? experts.per_token > 1 : !args.Flag("moe_router_pre_softmax");
  experts.groups = args.Uint("moe_router_num_groups").value_or(1);
  experts.groups_per_token = args.Uint("moe_router_group_topk").value_or(1);
  experts.scaling_factor = args.Double("moe_router_topk_scaling_factor").value_or(1);
  if (args.Flag("moe_apply_probs_on_input"))
    throw args.NotExpressible("moe_apply_probs_on_input", "transformers multiplies behind the experts");
  if (experts.groups == 0 || experts.groups_per_token == 0)
    throw args.Wrong("moe_router_num_groups", "None or a positive integer");
  if (family == Family::kDeepseekV2) experts.topk_method = experts.groups > 1 ? "group_limited_greedy" : "greedy";
  if (family == Family::kDeepseekV2 || family == Family::kDeepseekV3 || family == Family::kGlm4Moe ||
      family == Family::kNemotronH) {
    if (family != Family::kNemotronH && experts.width != 0) experts.shared_count = experts.shared_width / experts.width;
    if (family == Family::kNemotronH) experts.shared_count = 1;
    // Megatron ranks a group by its best topk / group_topk experts, transformers by its best one (V2) or its best two.
    const uint64_t ranked = experts.per_token / experts.groups_per_token, best = family == Family::kDeepseekV2 ? 1 : 2;
    if (experts.groups > 1 && ranked != best) {
      derived.warnings.push_back(Cat("args.moe_router_group_topk is ", experts.groups_per_token, " of top ",
                                     experts.per_token, ": Megatron ranks a group of experts by its best ", ranked,
                                     ", transformers by its best ", best, "; some tokens will choose other experts"));
    }
  }
  // One field for both: no dense layer is left that could be of another width.
  if (family == Family::kMixtral || family == Family::kOlmoe || family == Family::kGptOss) model.ffn = experts.width;
  model.experts = experts;
}

}  // namespace ck::huggingface
