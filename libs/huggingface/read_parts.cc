#include "libs/huggingface/read_parts.h"

#include <algorithm>
#include <cmath>

#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

bool Any(const std::vector<LayerKind>& layers, LayerKind kind) {
  return std::find(layers.begin(), layers.end(), kind) != layers.end();
}

Error Unsupported(const Fields& config, std::string_view name, std::string_view why) {
  return InputError("huggingface.config_unsupported",
                    Cat(config.Named(name), " is ", ShowValue(*config.object().Find(name)), ": ", why));
}

uint64_t Product(const Fields& config, std::string_view first, uint64_t a, std::string_view second, uint64_t b) {
  const uint64_t product = a * b;  // each at most kMaxConfigSize
  if (product > kMaxConfigSize) {
    throw InputError("huggingface.config_range", Cat(config.Named(first), " times ", Quote(second), " is ", product,
                                                     ", expected at most ", kMaxConfigSize));
  }
  return product;
}

bool DefaultNormalize(Family family) {
  return family == Family::kQwen3Next || family == Family::kDeepseekV3 || family == Family::kGlm4Moe ||
         family == Family::kNemotronH;
}

void ReadRouting(const Fields& config, Family family, Experts& experts) {
  experts.normalize = config.Bool("norm_topk_prob").value_or(DefaultNormalize(family));
  switch (family) {
    case Family::kMixtral:
    case Family::kGptOss:
      experts.normalize = true;  // no field
      return;
    case Family::kDeepseekV2: {
      experts.normalize = false;  // neither version looks at the field
      experts.topk_method = config.String("topk_method").value_or("greedy");
      if (experts.topk_method != "greedy" && experts.topk_method != "group_limited_greedy") {
        throw config.Wrong("topk_method", "greedy or group_limited_greedy");
      }
      break;
    }
    case Family::kDeepseekV3:
    case Family::kGlm4Moe:
    case Family::kNemotronH:
      experts.sigmoid = true;
      experts.correction_bias = true;
      break;
    default:
      return;
  }
  experts.scaling_factor = config.Double("routed_scaling_factor").value_or(family == Family::kDeepseekV3 ? 2.5 : 1.0);
  if (experts.topk_method == "greedy") return;
  const auto groups = config.Uint("n_group"), chosen = config.Uint("topk_group");
  if (family == Family::kDeepseekV3 && (!groups || !chosen)) throw config.Missing(groups ? "topk_group" : "n_group");
  experts.groups = groups.value_or(1);
  experts.groups_per_token = chosen.value_or(1);
  if (experts.groups == 0 || experts.count % experts.groups != 0)
    throw config.Wrong("n_group", Cat("a divisor of ", experts.count, " experts"));
  if (experts.groups_per_token == 0 || experts.groups_per_token > experts.groups)
    throw config.Wrong("topk_group", Cat("1 to ", experts.groups));
}

void ReadSharedExperts(const Fields& config, Family family, Experts& experts) {
  switch (family) {
    case Family::kQwen2Moe:
    case Family::kQwen3Next:
      experts.shared_width = config.Size("shared_expert_intermediate_size");
      experts.shared_gate = true;
      return;
    case Family::kDeepseekV2:
    case Family::kDeepseekV3:
    case Family::kGlm4Moe:
      // The classes have different defaults here, and null has none.
      if (!config.Present("n_shared_experts")) throw config.Missing("n_shared_experts");
      experts.shared_count = config.Uint("n_shared_experts").value_or(0);
      experts.shared_width =
          Product(config, "n_shared_experts", experts.shared_count, "moe_intermediate_size", experts.width);
      return;
    case Family::kNemotronH:
      experts.shared_count = 1;  // always there; n_shared_experts is not read
      experts.shared_width = config.Size("moe_shared_expert_intermediate_size");
      experts.latent_width = config.Uint("moe_latent_size");
      return;
    default:
      return;
  }
}

}  // namespace

void ReadExperts(const Fields& config, ModelConfig& model) {
  if (std::find(model.expert_layers.begin(), model.expert_layers.end(), true) == model.expert_layers.end()) return;
  const Family family = model.architecture.family;
  Experts experts;
  const auto count = config.UintOf({model.row().experts, "num_experts", "num_local_experts", "n_routed_experts"});
  if (count.value_or(0) == 0) throw config.Missing(model.row().experts);
  experts.count = *count;
  experts.per_token = config.Size("num_experts_per_tok");
  if (experts.per_token > experts.count)
    throw config.Wrong("num_experts_per_tok", Cat("at most ", experts.count, " experts"));
  const bool own_width = family != Family::kMixtral && family != Family::kOlmoe && family != Family::kGptOss;
  experts.width = own_width ? config.Size("moe_intermediate_size") : model.ffn;
  ReadSharedExperts(config, family, experts);
  ReadRouting(config, family, experts);
  model.experts = experts;
}

void ReadMixers(const Fields& config, ModelConfig& model) {
  const Family family = model.architecture.family;
  if (family == Family::kDeepseekV2 || family == Family::kDeepseekV3) {
    Mla mla;
    if (!config.Present("q_lora_rank")) throw config.Missing("q_lora_rank");
    mla.q_rank = config.Uint("q_lora_rank");
    mla.kv_rank = config.Size("kv_lora_rank");
    mla.nope_dim = config.Size("qk_nope_head_dim");
    mla.rope_dim = config.Size("qk_rope_head_dim");
    mla.value_dim = config.Size("v_head_dim");
    if (mla.q_rank == uint64_t{0}) throw config.Wrong("q_lora_rank", "null or a positive integer");
    const auto sum = config.Uint("qk_head_dim");
    if (sum && *sum != mla.nope_dim + mla.rope_dim)
      throw config.Wrong("qk_head_dim", Cat("qk_nope_head_dim + qk_rope_head_dim, ", mla.nope_dim + mla.rope_dim));
    model.mla = mla;
  }
  if (Any(model.layers, LayerKind::kMamba)) {
    const bool pure = family == Family::kMamba2;
    const std::string_view heads = pure ? "num_heads" : "mamba_num_heads",
                           head_dim = pure ? "head_dim" : "mamba_head_dim";
    Mamba mamba;
    mamba.heads = config.Size(heads);
    mamba.head_dim = config.Size(head_dim);
    mamba.groups = config.Size("n_groups");
    mamba.state = config.Size(pure ? "state_size" : "ssm_state_size");
    mamba.conv_taps = config.Size("conv_kernel");
    mamba.chunk_size = config.Size("chunk_size");
    const uint64_t inner = Product(config, heads, mamba.heads, head_dim, mamba.head_dim);
    Product(config, "n_groups", mamba.groups, "state_size", mamba.state);
    if (mamba.heads % mamba.groups != 0) throw config.Wrong("n_groups", Cat("a divisor of ", mamba.heads, " heads"));
    if (pure) {
      const uint64_t expand = config.Uint("expand").value_or(2);
      if (expand * model.hidden != inner) {
        throw config.Wrong("expand", Cat("num_heads * head_dim / hidden_size: ", mamba.heads, " * ", mamba.head_dim,
                                         " / ", model.hidden));
      }
    }
    model.mamba = mamba;
  }
  if (Any(model.layers, LayerKind::kLinearAttention)) {
    Gdn gdn;
    gdn.key_heads = config.Size("linear_num_key_heads");
    gdn.key_dim = config.Size("linear_key_head_dim");
    gdn.value_heads = config.Size("linear_num_value_heads");
    gdn.value_dim = config.Size("linear_value_head_dim");
    gdn.conv_taps = config.Size("linear_conv_kernel_dim");
    Product(config, "linear_num_key_heads", gdn.key_heads, "linear_key_head_dim", gdn.key_dim);
    Product(config, "linear_num_value_heads", gdn.value_heads, "linear_value_head_dim", gdn.value_dim);
    if (gdn.value_heads % gdn.key_heads != 0)
      throw config.Wrong("linear_num_value_heads", Cat("a multiple of ", gdn.key_heads, " key heads"));
    model.gdn = gdn;
  }
}

void RefuseUnsupported(const Fields& config, Family family) {
  for (const char* name : {"quantization_config", "compression_config"}) {
    const auto quantized = config.Object(name);
    if (!quantized) continue;
    const auto method = quantized->String("quant_method");
    throw InputError("huggingface.quantized_config",
                     Cat(config.Named(name), ": the weights are quantised (",
                         method ? Quote(*method) : "no quant_method", "); convert them to bfloat16 first"));
  }
  if (config.Bool("alibi").value_or(false)) throw Unsupported(config, "alibi", "Megatron-Core has no ALiBi");
  if (config.Find("clip_qkv") != nullptr)
    throw Unsupported(config, "clip_qkv", "Megatron-Core does not clamp q, k and v");
  if (config.Bool("use_bidirectional_attention").value_or(false)) {
    throw Unsupported(config, "use_bidirectional_attention", "Megatron-Core's GPT looks back only");
  }
  if (family == Family::kDeepseekV3 && !config.Bool("rope_interleave").value_or(true)) {
    throw Unsupported(config, "rope_interleave", "Megatron-Core's MLA interleaves");
  }
  if ((family == Family::kDeepseekV2 || family == Family::kDeepseekV3) &&
      config.Uint("moe_layer_freq").value_or(1) != 1) {
    throw Unsupported(config, "moe_layer_freq", "transformers does not read it");
  }
  if (family == Family::kGptOss) {
    if (config.Double("swiglu_alpha").value_or(1.702) != 1.702)
      throw Unsupported(config, "swiglu_alpha", "4.57 takes 1.702");
    if (config.Double("swiglu_limit").value_or(7.0) != 7.0) throw Unsupported(config, "swiglu_limit", "4.57 takes 7.0");
  }
  if (family != Family::kMamba2 && family != Family::kNemotronH) return;
  if (!config.Bool("rms_norm").value_or(true))
    throw Unsupported(config, "rms_norm", "Megatron-Core's mixer always has the gated norm");
  if (config.Bool("mamba_proj_bias").value_or(false))
    throw Unsupported(config, "mamba_proj_bias", "transformers does not read it");
  const json::Value* limit = config.Find("time_step_limit");
  if (limit == nullptr) return;
  const json::Array* pair = limit->AsArray();
  const auto infinite = [](const json::Value& value) {
    if (const auto number = value.AsDouble()) return std::isinf(*number) && *number > 0;
    const json::Object* object = value.AsObject();
    const json::Value* text = object == nullptr ? nullptr : object->Find("__float__");
    return text != nullptr && text->AsString() != nullptr && *text->AsString() == "Infinity";
  };
  if (pair == nullptr || pair->size() != 2 || (*pair)[0].AsDouble() != 0.0 || !infinite((*pair)[1])) {
    throw Unsupported(config, "time_step_limit",
                      "Megatron-Core has no limit of time steps, only [0, Infinity] is the same");
  }
}

}  // namespace ck::huggingface
