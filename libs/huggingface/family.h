// The model classes of transformers that ck knows: their names, and what a class says without saying it in config.json.
//
// Errors.  huggingface.unknown_architecture, huggingface.no_such_head (kInput).
// Source.  docs/formats/hf_config.md
#ifndef CK_HUGGINGFACE_FAMILY_H_
#define CK_HUGGINGFACE_FAMILY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ck::huggingface {

enum class Family {
  kLlama,
  kMistral,
  kQwen2,
  kQwen3,
  kQwen2Moe,
  kQwen3Moe,
  kMixtral,
  kDeepseekV2,
  kDeepseekV3,
  kGemma,
  kGemma2,
  kGemma3,
  kPhi3,
  kNemotron,
  kNemotronH,
  kQwen3Next,
  kGptOss,
  kGlm4,
  kGlm4Moe,
  kStarcoder2,
  kMamba2,
  kOlmoe,
  kOlmo2,
  kGptNeox,
  kFalcon,
};

// What stands on top of the layers: a language model's head, a value model's score with bias, a reward model's score.
enum class Head { kCausalLm, kTokenClassification, kSequenceClassification };

struct Architecture {
  Family family;
  Head head = Head::kCausalLm;
  friend bool operator==(const Architecture&, const Architecture&) = default;
};

// "Qwen3MoeForTokenClassification". Throws for a class that transformers does not have.
std::string ClassName(const Architecture& architecture);
// The same backwards. An unknown name is an error that names the nearest known one.
Architecture ParseArchitecture(std::string_view class_name);
// True when transformers 4.57 and 5 both have the class.
bool HasHead(Family family, Head head);

enum class Normalization { kRms, kLayerNorm };
enum class NormForm { kPlain, kOnePlus };        // the class computes w * x, or (1 + w) * x
enum class QkNorm { kNone, kHead, kFullWidth };  // over one head's d, or over all heads at once
enum class Gated { kYes, kNo };                  // down(act(gate) * up), or down(act(up))

// Where head_dim stands in config.json.
enum class HeadDimField {
  kWritten,
  kWhenDifferent,  // only when heads * head_dim differs from hidden: 4.57 refuses it then for Qwen2-MoE, 5 needs it
  kNone,           // the class takes hidden / heads
};

// The fields that give linear layers a bias. An empty name: no field, the default always holds.
struct BiasFields {
  std::string_view attention = {};
  bool attention_default = false;
  bool covers_out = false;  // o_proj too, else q, k and v only
  std::string_view mlp = {};
  bool mlp_default = false;
};

// One row per class: facts that every model of the class shares, and the names of the fields that differ between
// classes.
struct FamilyRow {
  Family family;
  std::string_view prefix;      // of the class name
  std::string_view model_type;  // of config.json
  bool has_value_head;          // ForTokenClassification in both versions
  bool has_reward_head;         // ForSequenceClassification in both versions
  Normalization normalization;
  NormForm norm_form;
  QkNorm qk_norm;  // GLM4-MoE: only with use_qk_norm
  Gated gated;
  std::string_view norm_eps;  // name of the field
  double default_norm_eps;
  std::string_view activation;  // name of the field
  std::string_view default_activation;
  HeadDimField head_dim;
  uint64_t default_head_dim;  // what a missing head_dim means; 0: hidden / heads
  double default_rope_theta;  // 0: no rotary positions
  double default_partial_rotary;
  std::string_view experts;  // name of the field as both versions read it; "" for a class without experts
  bool tied_by_default;      // what a missing tie_word_embeddings means
  BiasFields bias;
};
const FamilyRow& RowOf(Family family);
const std::vector<FamilyRow>& Families();

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_FAMILY_H_
