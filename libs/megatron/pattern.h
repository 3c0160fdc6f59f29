// Hybrid layer patterns: the string that gives a HybridModel its layers, one symbol a layer.
//
// Grammar  main ('/' mtp)*; main is symbols with '|' between pipeline segments; all mtp parts are identical and have no '|'. A '/' that only empty parts
//          follow means no MTP. White space, brackets and lower-case letters are no part of it.
// Position Every message gives the 1-based column of the character it is about.
// Errors.  pattern.empty, pattern.unknown_symbol, pattern.mixed_attention, pattern.mtp_differs, pattern.mtp_segment, pattern.too_long (kInput).
// Source.  docs/formats/hybrid_pattern.md
#ifndef CK_MEGATRON_PATTERN_H_
#define CK_MEGATRON_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ck::megatron {

enum class Family {
  kMamba,            // M
  kGatedDelta,       // G
  kAttention,        // *
  kSparseAttention,  // D
  kLatentAttention,  // +
  kMlp,              // -
  kMoe,              // E
};

char Symbol(Family family);
std::string_view Name(Family family);  // "mamba", "gdn", "attention", "dsa", "mla", "mlp", "moe"

inline constexpr size_t kMaxPatternBytes = 100'000;  // the deepest models have some hundred layers

struct PatternLayer {
  Family family = Family::kAttention;
  size_t column = 0;          // of its symbol in the text, 1-based
  uint64_t segment = 0;       // pipeline segment
  uint64_t family_index = 0;  // how many layers of this family come before it
};

struct Pattern {
  std::string text;                  // as given
  std::vector<PatternLayer> layers;  // of the main part
  uint64_t segments = 1;
  std::string mtp;       // the symbols of one MTP part, "" without MTP
  uint64_t mtp_depth = 0;
  size_t mtp_column = 0;  // of the first '/' that begins an MTP part; 0 without MTP

  // The symbols of the main part without '|'.
  std::string Symbols() const;
  uint64_t Count(Family family) const;
};

Pattern ParsePattern(std::string_view text);

// Something that stands between a pattern and a GPT model of the same layers.
struct PatternFault {
  std::string id;       // pattern.mtp, pattern.not_gpt, pattern.mixed_mlp, pattern.unpaired, pattern.reordered
  std::string message;  // one line, with the column
};

// Whether layers that alternate otherwise than attention, MLP may pair up by their order alone. The function computed is then another one.
enum class Reorder { kRefuse, kAllow };

// Every reason why the pattern has no GPT counterpart; empty when it has one.
std::vector<PatternFault> CheckGptPattern(const Pattern& pattern, Reorder reorder);

// The i-th GPT layer gives its attention to the i-th '*' and its MLP to the i-th '-' or 'E'.
struct GptLayers {
  std::vector<uint64_t> attention;  // by GPT layer: index of the hybrid layer
  std::vector<uint64_t> mlp;        // by GPT layer
  std::vector<uint64_t> mamba;      // hybrid layers without a GPT counterpart
};

// Precondition: CheckGptPattern(pattern, Reorder::kAllow) found nothing.
GptLayers MapGptLayers(const Pattern& pattern);

// True when two patterns differ in pipeline segments and MTP at most.
inline bool SameLayers(const Pattern& a, const Pattern& b) { return a.Symbols() == b.Symbols(); }

}  // namespace ck::megatron

#endif  // CK_MEGATRON_PATTERN_H_
