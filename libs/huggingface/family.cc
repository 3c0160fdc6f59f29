#include "libs/huggingface/family.h"

#include <array>
#include <optional>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

constexpr auto kRms = Normalization::kRms;
constexpr auto kLayerNorm = Normalization::kLayerNorm;
constexpr auto kPlain = NormForm::kPlain;
constexpr auto kOnePlus = NormForm::kOnePlus;
constexpr auto kGated = Gated::kYes;
constexpr auto kUngated = Gated::kNo;
constexpr auto kWritten = HeadDimField::kWritten;
constexpr auto kWhenDifferent = HeadDimField::kWhenDifferent;
constexpr auto kNone = HeadDimField::kNone;
constexpr auto kNoQkNorm = QkNorm::kNone;

constexpr BiasFields kNoBias = {};
constexpr BiasFields kAttentionBias = {.attention = "attention_bias", .covers_out = true};
constexpr BiasFields kLlamaBias = {.attention = "attention_bias", .covers_out = true, .mlp = "mlp_bias"};
constexpr BiasFields kQwen2Bias = {.attention_default = true};
constexpr BiasFields kQwen2MoeBias = {.attention = "qkv_bias", .attention_default = true};
constexpr BiasFields kGlm4Bias = {.attention = "attention_bias", .attention_default = true};
constexpr BiasFields kGlm4MoeBias = {.attention = "attention_bias"};
constexpr BiasFields kNemotronHBias = {.mlp = "mlp_bias"};
constexpr BiasFields kGptOssBias = {
    .attention = "attention_bias", .attention_default = true, .covers_out = true, .mlp_default = true};
constexpr BiasFields kNeoxBias = kGptOssBias;
constexpr BiasFields kStarcoderBias = {
    .attention = "use_bias", .attention_default = true, .covers_out = true, .mlp = "use_bias", .mlp_default = true};
constexpr BiasFields kFalconBias = {.attention = "bias", .covers_out = true, .mlp = "bias"};

constexpr std::string_view kTanh = "gelu_pytorch_tanh";

// Columns: class and model_type; value and reward head; norm; MLP; eps; activation; head_dim; rope; experts; tie;
// biases.
// clang-format off
const std::vector<FamilyRow> kFamilies = {
    {Family::kLlama, "Llama", "llama", true, true, kRms, kPlain, kNoQkNorm, kGated,                   //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 0, 1e4, 1, "", false, kLlamaBias},
    {Family::kMistral, "Mistral", "mistral", true, true, kRms, kPlain, kNoQkNorm, kGated,             //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 0, 1e4, 1, "", false, kNoBias},
    {Family::kQwen2, "Qwen2", "qwen2", true, true, kRms, kPlain, kNoQkNorm, kGated,                   //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWhenDifferent, 0, 1e4, 1, "", false, kQwen2Bias},
    {Family::kQwen3, "Qwen3", "qwen3", true, true, kRms, kPlain, QkNorm::kHead, kGated,               //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 128, 1e4, 1, "", false, kAttentionBias},
    {Family::kQwen2Moe, "Qwen2Moe", "qwen2_moe", true, true, kRms, kPlain, kNoQkNorm, kGated,         //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWhenDifferent, 0, 1e4, 1, "num_experts", false, kQwen2MoeBias},
    {Family::kQwen3Moe, "Qwen3Moe", "qwen3_moe", true, true, kRms, kPlain, QkNorm::kHead, kGated,     //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 0, 1e4, 1, "num_experts", false, kAttentionBias},
    {Family::kMixtral, "Mixtral", "mixtral", true, true, kRms, kPlain, kNoQkNorm, kGated,             //
     "rms_norm_eps", 1e-5, "hidden_act", "silu", kWritten, 0, 1e6, 1, "num_local_experts", false, kNoBias},
    {Family::kDeepseekV2, "DeepseekV2", "deepseek_v2", false, true, kRms, kPlain, kNoQkNorm, kGated,  //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 0, 1e4, 1, "n_routed_experts", false, kLlamaBias},
    {Family::kDeepseekV3, "DeepseekV3", "deepseek_v3", true, true, kRms, kPlain, kNoQkNorm, kGated,   //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 0, 1e4, 1, "n_routed_experts", false, kAttentionBias},
    {Family::kGemma, "Gemma", "gemma", true, true, kRms, kOnePlus, kNoQkNorm, kGated,                 //
     "rms_norm_eps", 1e-6, "hidden_activation", kTanh, kWritten, 256, 1e4, 1, "", true, kAttentionBias},
    {Family::kGemma2, "Gemma2", "gemma2", true, true, kRms, kOnePlus, kNoQkNorm, kGated,              //
     "rms_norm_eps", 1e-6, "hidden_activation", kTanh, kWritten, 256, 1e4, 1, "", true, kAttentionBias},
    {Family::kGemma3, "Gemma3", "gemma3_text", false, true, kRms, kOnePlus, QkNorm::kHead, kGated,    //
     "rms_norm_eps", 1e-6, "hidden_activation", kTanh, kWritten, 256, 1e6, 1, "", true, kAttentionBias},
    {Family::kPhi3, "Phi3", "phi3", true, true, kRms, kPlain, kNoQkNorm, kGated,                      //
     "rms_norm_eps", 1e-5, "hidden_act", "silu", kWritten, 0, 1e4, 1, "", false, kNoBias},
    {Family::kNemotron, "Nemotron", "nemotron", true, true, kLayerNorm, kOnePlus, kNoQkNorm, kUngated,  //
     "norm_eps", 1e-5, "hidden_act", "relu2", kWritten, 0, 1e4, 0.5, "", false, kLlamaBias},
    {Family::kNemotronH, "NemotronH", "nemotron_h", false, false, kRms, kPlain, kNoQkNorm, kUngated,  //
     "layer_norm_epsilon", 1e-5, "mlp_hidden_act", "relu2", kWritten, 128, 0, 1, "n_routed_experts", false, kNemotronHBias},
    {Family::kQwen3Next, "Qwen3Next", "qwen3_next", true, true, kRms, kOnePlus, QkNorm::kHead, kGated,  //
     "rms_norm_eps", 1e-6, "hidden_act", "silu", kWritten, 256, 1e4, 0.25, "num_experts", false, kAttentionBias},
    {Family::kGptOss, "GptOss", "gpt_oss", true, true, kRms, kPlain, kNoQkNorm, kGated,               //
     "rms_norm_eps", 1e-5, "hidden_act", "silu", kWritten, 64, 150000, 1, "num_local_experts", false, kGptOssBias},
    {Family::kGlm4, "Glm4", "glm4", true, true, kRms, kPlain, kNoQkNorm, kGated,                      //
     "rms_norm_eps", 1.5625e-07, "hidden_act", "silu", kWritten, 128, 1e4, 0.5, "", false, kGlm4Bias},
    {Family::kGlm4Moe, "Glm4Moe", "glm4_moe", false, false, kRms, kPlain, QkNorm::kHead, kGated,      //
     "rms_norm_eps", 1e-5, "hidden_act", "silu", kWritten, 0, 1e4, 0.5, "n_routed_experts", false, kGlm4MoeBias},
    {Family::kStarcoder2, "Starcoder2", "starcoder2", true, true, kLayerNorm, kPlain, kNoQkNorm, kUngated,  //
     "norm_epsilon", 1e-5, "hidden_act", kTanh, kWritten, 0, 1e4, 1, "", true, kStarcoderBias},
    {Family::kMamba2, "Mamba2", "mamba2", false, false, kRms, kPlain, kNoQkNorm, kUngated,            //
     "layer_norm_epsilon", 1e-5, "hidden_act", "silu", kNone, 0, 0, 1, "", false, kNoBias},
    {Family::kOlmoe, "Olmoe", "olmoe", false, false, kRms, kPlain, QkNorm::kFullWidth, kGated,        //
     "rms_norm_eps", 1e-5, "hidden_act", "silu", kNone, 0, 1e4, 1, "num_experts", false, kAttentionBias},
    {Family::kOlmo2, "Olmo2", "olmo2", false, false, kRms, kPlain, QkNorm::kFullWidth, kGated,        //
     "rms_norm_eps", 1e-5, "hidden_act", "silu", kWritten, 0, 1e4, 1, "", false, kAttentionBias},
    {Family::kGptNeox, "GPTNeoX", "gpt_neox", true, true, kLayerNorm, kPlain, kNoQkNorm, kUngated,    //
     "layer_norm_eps", 1e-5, "hidden_act", "gelu", kNone, 0, 1e4, 0.25, "", false, kNeoxBias},
    {Family::kFalcon, "Falcon", "falcon", true, true, kLayerNorm, kPlain, kNoQkNorm, kUngated,        //
     "layer_norm_epsilon", 1e-5, "activation", "gelu", kNone, 0, 1e4, 1, "", true, kFalconBias},
};
// clang-format on

constexpr std::array kHeads = {Head::kCausalLm, Head::kTokenClassification, Head::kSequenceClassification};

std::string_view Suffix(Head head) {
  switch (head) {
    case Head::kCausalLm:
      return "ForCausalLM";
    case Head::kTokenClassification:
      return "ForTokenClassification";
    case Head::kSequenceClassification:
      return "ForSequenceClassification";
  }
  throw InternalError("internal.head", "unknown head");
}

// The text model's reward class has a name of its own: Gemma3ForSequenceClassification is the one with images.
std::string Name(const FamilyRow& row, Head head) {
  const bool text = row.family == Family::kGemma3 && head == Head::kSequenceClassification;
  return Cat(row.prefix, text ? "Text" : "", Suffix(head));
}

}  // namespace

const std::vector<FamilyRow>& Families() {
  return kFamilies;
}

const FamilyRow& RowOf(Family family) {
  for (const FamilyRow& row : kFamilies) {
    if (row.family == family) return row;
  }
  throw InternalError("internal.family", "a family without a row");
}

bool HasHead(Family family, Head head) {
  const FamilyRow& row = RowOf(family);
  return head == Head::kCausalLm || (head == Head::kTokenClassification ? row.has_value_head : row.has_reward_head);
}

std::string ClassName(const Architecture& architecture) {
  const FamilyRow& row = RowOf(architecture.family);
  if (!HasHead(architecture.family, architecture.head)) {
    throw InputError("huggingface.no_such_head", Cat("transformers has no ", row.prefix, Suffix(architecture.head),
                                                     " in both versions 4.57 and 5"));
  }
  return Name(row, architecture.head);
}

Architecture ParseArchitecture(std::string_view class_name) {
  std::vector<std::string> known;
  for (const FamilyRow& row : kFamilies) {
    for (const Head head : kHeads) {
      const std::string name = Name(row, head);
      const bool exists = HasHead(row.family, head);
      if (name == class_name && exists) return {.family = row.family, .head = head};
      if (name == class_name) ClassName({.family = row.family, .head = head});  // throws
      if (exists) known.push_back(name);
    }
  }
  const std::string near = NearestWord(class_name, known);
  throw InputError("huggingface.unknown_architecture",
                   Cat("architecture ", Quote(class_name), " is not known",
                       near.empty() ? "" : Cat("; the nearest is ", near), "; ck-split --list shows all"));
}

}  // namespace ck::huggingface
