#include "libs/huggingface/compare_config.h"

#include <algorithm>
#include <array>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/hybrid_layers.h"
#include "libs/huggingface/rope_config.h"

namespace ck::huggingface {
namespace {

using Kind = ConfigDifference::Kind;

// Fields that a tensor's shape, its presence or the rows of the vocabulary decide.
constexpr std::array kTensorFields = {
    "tie_word_embeddings",
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "intermediate_size",
    "ffn_hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "num_kv_heads",
    "multi_query",
    "new_decoder_architecture",
    "head_dim",
    "use_qk_norm",
    "attention_bias",
    "qkv_bias",
    "mlp_bias",
    "use_bias",
    "bias",
    "use_conv_bias",
    "hybrid_override_pattern",
    "decoder_sparse_step",
    "mlp_only_layers",
    "first_k_dense_replace",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "n_shared_experts",
    "moe_shared_expert_intermediate_size",
    "moe_latent_size",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "qk_head_dim",
    "v_head_dim",
    "linear_num_key_heads",
    "linear_key_head_dim",
    "linear_num_value_heads",
    "linear_value_head_dim",
    "linear_conv_kernel_dim",
    "num_heads",
    "state_size",
    "expand",
    "mamba_num_heads",
    "mamba_head_dim",
    "ssm_state_size",
    "n_groups",
    "conv_kernel",
};

constexpr std::array kTokenFields = {"bos_token_id", "eos_token_id", "pad_token_id"};

// A field of 4.57 and what says the same in other files. rope_parameters stands for every rotary field.
struct Spelling {
  std::string_view field, other;
};
constexpr std::array<Spelling, 17> kSpellings = {{
    {"rope_theta", "rope_parameters"},
    {"rope_local_base_freq", "rope_parameters"},
    {"rope_scaling", "rope_parameters"},
    {"partial_rotary_factor", "rope_parameters"},
    {"rotary_emb_base", "rope_parameters"},
    {"rotary_pct", "rope_parameters"},
    {"original_max_position_embeddings", "rope_parameters"},
    {"rotary_emb_base", "rope_theta"},
    {"rotary_pct", "partial_rotary_factor"},
    {"torch_dtype", "dtype"},
    {"num_experts", "num_local_experts"},
    {"num_local_experts", "num_experts"},
    {"hybrid_override_pattern", "layers_block_type"},
    {"num_hidden_layers", "layers_block_type"},
    {"layer_types", "sliding_window_pattern"},
    {"layer_types", "full_attention_interval"},
    {"hidden_act", "hidden_activation"},
}};

template <size_t n>
bool Contains(const std::array<const char*, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool SaidOtherwise(const json::Object& config, std::string_view field) {
  return std::any_of(kSpellings.begin(), kSpellings.end(),
                     [&](const Spelling& s) { return s.field == field && config.Find(s.other) != nullptr; });
}

bool Same(const json::Value& a, const json::Value& b) {
  return a == b || (a.AsDouble() && b.AsDouble() && a.AsDouble() == b.AsDouble());
}

Kind KindOf(std::string_view field, const ModelConfig& model) {
  // The kinds of Qwen3-Next's layers have different tensors, windows have none.
  if (field == "layer_types")
    return model.architecture.family == Family::kQwen3Next ? Kind::kContradiction : Kind::kCorrected;
  return Contains(kTensorFields, field) ? Kind::kContradiction : Kind::kCorrected;
}

std::string Text(const json::Value& value) {
  return json::Write(value, {.final_newline = false, .extensions = json::Extensions::kPythonNumbers});
}

json::Object NewRope(const Rope& rope, const json::Value& scaling, bool partial) {
  json::Object out;
  if (scaling.AsObject() != nullptr) out = *scaling.AsObject();
  out.Erase("type");
  out.Set("rope_type", RopeKindName(rope.scaling.kind)).Set("rope_theta", rope.theta);
  if (rope.scaling.kind == RopeKind::kLongrope && rope.scaling.original_max_positions) {
    out.Set("original_max_position_embeddings", *rope.scaling.original_max_positions);
  }
  if (partial) out.Set("partial_rotary_factor", rope.partial_factor);
  return out;
}

// The template's own spelling of what has changed follows.
void FollowSpellings(json::Object& out, const json::Object& after, const ModelConfig& stated,
                     const ModelConfig& written) {
  if (out.Find("rope_parameters") != nullptr && written.rope &&
      (stated.rope != written.rope || stated.local_rope != written.local_rope)) {
    const json::Value* scaling = after.Find("rope_scaling");
    const json::Object rope = NewRope(*written.rope, scaling == nullptr ? json::Value() : *scaling,
                                      after.Find("partial_rotary_factor") != nullptr);
    if (written.local_rope) {
      out.Set("rope_parameters", json::Object()
                                     .Set("full_attention", rope)
                                     .Set("sliding_attention", NewRope(*written.local_rope, nullptr, false)));
    } else {
      out.Set("rope_parameters", rope);
    }
  }
  const auto follow = [&](std::string_view other, std::string_view field) {
    const json::Value* value = after.Find(field);
    if (value != nullptr && out.Find(other) != nullptr) out.Set(other, *value);
  };
  follow("dtype", "torch_dtype");
  for (const char* other : {"num_experts", "num_local_experts", "n_routed_experts"})
    follow(other, written.row().experts);
  if (stated.layers != written.layers) {
    // What 4.57 and 5 read instead stands in the result; these would only mislead.
    for (const char* other :
         {"layers_block_type", "sliding_window_pattern", "_sliding_window_pattern", "full_attention_interval"})
      out.Erase(other);
  }
  if (after.Find("id2label") != nullptr) out.Erase("num_labels");
}

// The class is the written one: --architecture may name another than the template.
ModelConfig StatedModel(const json::Object& template_config, const ModelConfig& written) {
  json::Object config = template_config;
  config.Set("model_type", written.row().model_type);
  return ReadConfig(config, ClassName(written.architecture));
}

}  // namespace

CorrectedConfig CorrectTemplate(const json::Object& template_config, const ModelConfig& written) {
  const ModelConfig stated = StatedModel(template_config, written);
  const json::Object before = WriteConfig(stated), after = WriteConfig(written);
  CorrectedConfig out{.config = template_config, .differences = {}};
  for (const auto& [name, value] : after.members()) {
    if (Contains(kTokenFields, name)) continue;
    const json::Value* own = template_config.Find(name);
    const json::Value* meant = before.Find(name);
    const bool identity = name == "architectures" || name == "model_type";
    if (identity && own != nullptr) meant = own;
    const bool says = own != nullptr || SaidOtherwise(template_config, name);
    if (meant != nullptr && Same(*meant, value) && says) {
      if (own == nullptr) out.config.Set(name, value);
      continue;
    }
    out.config.Set(name, value);
    const bool added = !says && (meant == nullptr || Same(*meant, value));
    out.differences.push_back({.field = name,
                               .template_value = own != nullptr             ? Text(*own)
                                                 : says && meant != nullptr ? Text(*meant)
                                                                            : "",
                               .written_value = Text(value),
                               .kind = added ? Kind::kAdded : KindOf(name, written)});
  }
  for (const auto& [name, value] : before.members()) {
    if (after.Find(name) != nullptr || Contains(kTokenFields, name)) continue;
    out.config.Erase(name);
    if (template_config.Find(name) == nullptr) continue;
    out.differences.push_back(
        {.field = name, .template_value = Text(value), .written_value = "", .kind = KindOf(name, written)});
  }
  FollowSpellings(out.config, after, stated, written);
  // [0, inf], all that is accepted, is the default; 4.57 cannot read what 5 writes for it.
  out.config.Erase("time_step_limit");

  ModelConfig expected = written;
  ModelConfig result = ReadConfig(out.config);
  result.bos_token = expected.bos_token;
  result.eos_tokens = expected.eos_tokens;
  result.pad_token = expected.pad_token;
  Check(result == expected, "a corrected config.json says what was to be written");
  return out;
}

std::string DifferenceText(const ConfigDifference& difference) {
  const auto shown = [](const std::string& text) { return text.empty() ? std::string("(absent)") : text; };
  return Cat(difference.field, " ", shown(difference.template_value), " -> ", shown(difference.written_value));
}

}  // namespace ck::huggingface
