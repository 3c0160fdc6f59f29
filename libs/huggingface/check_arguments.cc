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

bool IsOff(const SavedArgs& args, std::string_view name) { return !args.IsSet(name); }

Accepts Is(std::string text) {
  return [text](const SavedArgs& args, std::string_view name) { return args.IsAbsent(name) || args.String(name) == text; };
}

Accepts IsNumber(double number) {
  return [number](const SavedArgs& args, std::string_view name) { return args.IsAbsent(name) || args.Double(name) == number; };
}

bool IsAbsent(const SavedArgs& args, std::string_view name) { return args.IsAbsent(name); }

// What libs/huggingface/megatron_config.h does not look at.
std::vector<ArgumentRule> RulesFor(Family family) {
  std::vector<ArgumentRule> rules = {{"qk_l2_norm", IsOff, "False"}};
  if (family != Family::kGptOss) {
    rules.push_back({"glu_linear_offset", IsNumber(0), "0"});
    rules.push_back({"activation_func_clamp_value", IsAbsent, "None"});
  }
  if (family != Family::kNemotronH) rules.push_back({"moe_latent_size", IsAbsent, "None"});
  const bool slides_in_some = family == Family::kGemma2 || family == Family::kGemma3 || family == Family::kGptOss;
  const bool slides = slides_in_some || family == Family::kMistral || family == Family::kMixtral || family == Family::kPhi3 || family == Family::kStarcoder2;
  if (!slides_in_some) rules.push_back({"window_attn_skip_freq", IsAbsent, "None"});
  if (!slides) rules.push_back({"window_size", IsAbsent, "None"});
  if (family == Family::kMixtral) rules.push_back({"moe_router_pre_softmax", IsOff, "False: this class normalises the weights of the chosen experts"});
  const bool own_router = family == Family::kDeepseekV2 || family == Family::kDeepseekV3 || family == Family::kGlm4Moe || family == Family::kNemotronH;
  if (own_router) return rules;
  rules.push_back({"moe_router_score_function", Is("softmax"), "softmax"});
  rules.push_back({"moe_router_topk_scaling_factor", IsNumber(1), "None"});
  rules.push_back({"moe_router_num_groups", IsAbsent, "None"});
  rules.push_back({"moe_router_group_topk", IsAbsent, "None"});
  return rules;
}

}  // namespace

void CheckArguments(const Architecture& architecture, const SavedArgs& args) {
  if (!args.exist()) return;
  for (const ArgumentRule& rule : RulesFor(architecture.family)) {
    if (rule.accepts(args, rule.name)) continue;
    throw InputError("split.unsupported_argument", Cat("args.", rule.name, " is ", args.Text(rule.name), ", ", ClassName(architecture), " computes ", rule.expected));
  }
}

}  // namespace ck::huggingface
