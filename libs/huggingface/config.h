// What config.json says about a model, typed and free of the spelling that the version of transformers chose.
//
// ReadConfig   takes both spellings (4.57: rope_theta, rope_scaling; 5: rope_parameters flat or per kind of attention),
// the aliases of the
//              expert count, {"__float__": "Infinity"}; a missing field has the class's default, a missing size is an
//              error.
// WriteConfig  writes the spelling that both versions read, every field explicit, in a fixed order.
// Trust.       Sizes are bounded (kMaxConfigSize, kMaxConfigLayers), so that products of two fit uint64_t; they are not
// compared with tensors. Errors.      huggingface.config_*, huggingface.quantized_config,
// huggingface.unknown_architecture (kInput). Source.      docs/formats/hf_config.md
#ifndef CK_HUGGINGFACE_CONFIG_H_
#define CK_HUGGINGFACE_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/huggingface/family.h"
#include "libs/json/value.h"

namespace ck::huggingface {

inline constexpr uint64_t kMaxConfigSize = uint64_t{1}
                                           << 31;  // the largest vocabulary is near 2^18, the widest layer near 2^17
inline constexpr uint64_t kMaxConfigLayers = uint64_t{1} << 14;  // the deepest model has some 130

enum class LayerKind {
  kFullAttention,     // attention over everything before, then an MLP or experts
  kSlidingAttention,  // the same within a window
  kLinearAttention,   // Qwen3-Next's gated delta net, then an MLP or experts
  kMamba,             // Mamba2, NemotronH: the mixer alone
  kAttentionOnly,     // NemotronH '*'
  kMlpOnly,           // NemotronH '-'
  kExpertsOnly,       // NemotronH 'E'
};

enum class RopeKind { kDefault, kLinear, kDynamic, kYarn, kLlama3, kLongrope };
// A number that is absent is not written. Which ones a kind has: docs/formats/hf_config.md.
struct RopeScaling {
  RopeKind kind = RopeKind::kDefault;
  std::optional<double> factor;
  std::optional<double> low_freq_factor, high_freq_factor;  // llama3
  std::optional<uint64_t> original_max_positions;
  std::optional<double> beta_fast, beta_slow, mscale, mscale_all_dim, attention_factor;  // yarn
  std::optional<bool> truncate;                                                          // yarn
  std::vector<double> short_factor, long_factor;                                         // longrope
  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};
struct Rope {
  double theta = 10000.0;
  double partial_factor = 1.0;  // share of head_dim that is rotated
  RopeScaling scaling;
  friend bool operator==(const Rope&, const Rope&) = default;
};

// Which linear layers have a bias. Norm biases follow from FamilyRow::normalization.
struct Biases {
  bool qkv = false;  // with MLA: q_a_proj and kv_a_proj_with_mqa
  bool attention_out = false;
  bool mlp = false;    // all linear layers of the MLP; GPT-OSS: the experts' and the router's
  bool mamba = false;  // in_proj and out_proj
  bool conv = false;
  friend bool operator==(const Biases&, const Biases&) = default;
};

enum class Activation { kSilu, kGelu, kGeluTanh, kRelu2, kClampedSwiglu };  // the last is GPT-OSS's

struct Experts {
  uint64_t count = 0;
  uint64_t per_token = 0;
  uint64_t width = 0;         // of one routed expert
  uint64_t shared_width = 0;  // of all shared experts together; 0 without
  uint64_t shared_count = 0;  // DeepSeek, GLM4-MoE, NemotronH: n_shared_experts
  bool shared_gate = false;   // Qwen2-MoE, Qwen3-Next
  bool sigmoid = false;       // router score: sigmoid, else softmax
  bool correction_bias = false;
  bool normalize = false;  // the chosen weights are divided by their sum
  uint64_t groups = 1, groups_per_token = 1;
  double scaling_factor = 1.0;
  std::optional<uint64_t> latent_width;  // NemotronH
  std::string topk_method;               // DeepSeek-V2: "greedy" or "group_limited_greedy"; else ""
  friend bool operator==(const Experts&, const Experts&) = default;
};
struct Mla {
  std::optional<uint64_t> q_rank;  // nullopt: one full q_proj
  uint64_t kv_rank = 0, nope_dim = 0, rope_dim = 0, value_dim = 0;
  friend bool operator==(const Mla&, const Mla&) = default;
};
struct Mamba {
  uint64_t heads = 0, head_dim = 0, groups = 0, state = 0, conv_taps = 0;
  uint64_t chunk_size = 0;
  friend bool operator==(const Mamba&, const Mamba&) = default;
};
struct Gdn {
  uint64_t key_heads = 0, key_dim = 0, value_heads = 0, value_dim = 0, conv_taps = 0;
  friend bool operator==(const Gdn&, const Gdn&) = default;
};

struct ModelConfig {
  Architecture architecture;

  uint64_t hidden = 0;
  uint64_t vocab = 0;     // true rows, without padding
  uint64_t ffn = 0;       // intermediate_size; 0 for Mamba2. Mixtral, OLMoE, GPT-OSS: also Experts::width
  uint64_t heads = 0;     // 0 for Mamba2, as the next two
  uint64_t kv_heads = 0;  // g. With MLA equal to heads
  uint64_t head_dim = 0;  // d. With MLA the rotated part, as transformers has it
  std::optional<uint64_t> max_positions;
  std::vector<LayerKind> layers;
  std::vector<bool> expert_layers;  // one per layer: experts instead of a dense MLP
  std::optional<uint64_t> sliding_window;
  bool tied = false;
  uint64_t mtp_layers = 0;
  uint64_t labels = 0;  // value and reward models; 0 for a language model

  double norm_eps = 0;
  Activation activation = Activation::kSilu;
  QkNorm qk_norm = QkNorm::kNone;
  Biases biases;
  std::optional<Rope> rope;        // nullopt: no rotary positions
  std::optional<Rope> local_rope;  // Gemma3: of the layers with a window
  std::optional<Experts> experts;
  std::optional<Mla> mla;
  std::optional<Mamba> mamba;
  std::optional<Gdn> gdn;

  std::optional<double> query_pre_attn_scalar, attention_softcap, final_softcap;  // Gemma2, Gemma3
  bool parallel_residual = false;  // GPT-NeoX, Falcon: attention and MLP side by side; Megatron-Core has no such layer
  bool new_decoder_architecture = false;  // Falcon
  std::string dtype;                      // "bfloat16"; "" when config.json does not say
  std::optional<int64_t> bos_token, pad_token;
  std::vector<int64_t> eos_tokens;

  const FamilyRow& row() const { return RowOf(architecture.family); }
  uint64_t layer_count() const { return layers.size(); }
  bool HasExperts(uint64_t layer) const { return expert_layers.at(layer); }
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

// The text of a config.json. Python's bare Infinity and NaN are read.
json::Object ParseConfig(std::string_view text);

// `architecture` wins over architectures[0]; without both it is an error, never a guess.
ModelConfig ReadConfig(const json::Object& config, std::optional<std::string_view> architecture = std::nullopt);

json::Object WriteConfig(const ModelConfig& model);
// Indented by two, with a final newline, as transformers does.
std::string ConfigText(const json::Object& config);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_CONFIG_H_
