// Arguments of Megatron that change what a model computes without a tensor that would show it.
#include <functional>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/check_arguments.h"

namespace ck::huggingface {
namespace {

using Accepts = std::function<bool(const SavedArgs&, std::string_view)>;

// An argument, what of it the classes compute, and that in words. Absent arguments are accepted: older versions did not have the feature.
struct ArgumentRule {
  std::string_view name;
  Accepts accepts;
  std::string_view expected;
};

bool IsOff(const SavedArgs& args, std::string_view name) { return args.IsNone(name) || args.Bool(name) == false; }
bool IsOn(const SavedArgs& args, std::string_view name) { return args.IsNone(name) || args.Bool(name) == true; }

Accepts Is(std::string text) {
  return [text](const SavedArgs& args, std::string_view name) { return args.IsNone(name) || args.String(name) == text; };
}

Accepts IsNumber(double number) {
  return [number](const SavedArgs& args, std::string_view name) { return args.IsNone(name) || args.Number(name) == number; };
}

bool IsAbsent(const SavedArgs& args, std::string_view name) { return args.IsNone(name); }

const std::vector<ArgumentRule>& CommonRules() {
  static const std::vector<ArgumentRule> rules = {
      {"normalization", Is("RMSNorm"), "RMSNorm"},
      {"layernorm_zero_centered_gamma", IsOff, "False: the norms of this class multiply by the weight itself"},
      {"apply_layernorm_1p", IsOff, "False: the norms of this class multiply by the weight itself"},
      {"apply_residual_connection_post_layernorm", IsOff, "False"},
      {"swiglu", IsOn, "True"},
      {"squared_relu", IsOff, "False"},
      {"quick_geglu", IsOff, "False"},
      {"glu_linear_offset", IsNumber(0), "0"},
      {"activation_func_clamp_value", IsAbsent, "None"},
      {"position_embedding_type", Is("rope"), "rope"},
      {"rotary_percent", IsNumber(1), "1"},
      {"rotary_interleaved", IsOff, "False"},
      {"no_rope_freq", IsAbsent, "None"},
      {"multi_latent_attention", IsOff, "False"},
      {"attention_output_gate", IsOff, "False"},
      {"experimental_attention_variant", IsAbsent, "None"},
      {"linear_attention_freq", IsAbsent, "None"},
      {"softmax_type", Is("vanilla"), "vanilla"},
      {"qk_l2_norm", IsOff, "False"},
      {"window_attn_skip_freq", IsAbsent, "None"},
      {"moe_router_score_function", Is("softmax"), "softmax"},
      {"moe_router_topk_scaling_factor", [](const SavedArgs& args, std::string_view name) { return IsNumber(1)(args, name); }, "None"},
      {"moe_router_num_groups", IsAbsent, "None"},
      {"moe_router_group_topk", IsAbsent, "None"},
      {"moe_apply_probs_on_input", IsOff, "False"},
      {"moe_latent_size", IsAbsent, "None"},
  };
  return rules;
}

// What holds for some families only.
std::vector<ArgumentRule> OwnRules(Family family) {
  const bool slides = family == Family::kMistral || family == Family::kMixtral;
  std::vector<ArgumentRule> out;
  if (!slides) out.push_back({"window_size", IsAbsent, "None"});
  if (family == Family::kMixtral) out.push_back({"moe_router_pre_softmax", IsOff, "False: this class normalises the weights of the chosen experts"});
  return out;
}

}  // namespace

void CheckArguments(const Architecture& architecture, const SavedArgs& args) {
  if (!args.exist()) return;
  std::vector<ArgumentRule> rules = CommonRules();
  for (ArgumentRule& rule : OwnRules(architecture.family)) rules.push_back(std::move(rule));
  for (const ArgumentRule& rule : rules) {
    if (rule.accepts(args, rule.name)) continue;
    throw InputError("split.unsupported_argument", Cat("args.", rule.name, " is ", args.Text(rule.name), ", ", ClassName(architecture), " computes ", rule.expected));
  }
}

}  // namespace ck::huggingface
