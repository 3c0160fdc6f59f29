#include "libs/huggingface/hybrid_layers.h"

#include <array>

#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

struct Word {
  LayerKind kind;
  char symbol;
  std::string_view word, old_word;  // both are read by 5
};
constexpr std::array<Word, 4> kWords = {{
    {LayerKind::kMamba, 'M', "linear_attention", "mamba"},
    {LayerKind::kAttentionOnly, '*', "full_attention", "attention"},
    {LayerKind::kMlpOnly, '-', "mlp", "mlp"},
    {LayerKind::kExpertsOnly, 'E', "moe", "moe"},
}};

LayerKind KindOfWord(const Fields& config, std::string_view text) {
  for (const Word& word : kWords) {
    if (text == word.word || text == word.old_word) return word.kind;
  }
  throw config.Wrong("layers_block_type", "linear_attention, full_attention, moe or mlp");
}

}  // namespace

std::vector<LayerKind> LayersOfPattern(std::string_view pattern) {
  std::vector<LayerKind> out;
  for (const char symbol : pattern) {
    if (symbol == '|') continue;
    const size_t before = out.size();
    for (const Word& word : kWords) {
      if (word.symbol == symbol) out.push_back(word.kind);
    }
    if (out.size() == before) {
      throw InputError("huggingface.config_unsupported",
                       Cat("layer pattern ", Quote(pattern), ": NemotronH has no layer ", Quote(std::string(1, symbol)),
                           ", only M, *, - and E"));
    }
  }
  if (out.empty() || out.size() > kMaxConfigLayers) {
    throw InputError("huggingface.config_range", Cat("layer pattern ", Quote(pattern), " has ", out.size(),
                                                     " layers, expected 1 to ", kMaxConfigLayers));
  }
  return out;
}

std::string PatternOf(const std::vector<LayerKind>& layers) {
  std::string out;
  for (const LayerKind kind : layers) {
    for (const Word& word : kWords) {
      if (word.kind == kind) out += word.symbol;
    }
  }
  Check(out.size() == layers.size(), "every layer has a symbol");
  return out;
}

std::vector<LayerKind> ReadHybridLayers(const Fields& config) {
  std::vector<LayerKind> words;
  // 5 calls the same field layer_types in other classes and reads that name too.
  const char* name = config.Present("layers_block_type") ? "layers_block_type" : "layer_types";
  for (const std::string& text : config.Strings(name)) words.push_back(KindOfWord(config, text));
  const auto pattern = config.String("hybrid_override_pattern");
  if (!pattern && words.empty()) throw config.Missing("layers_block_type");
  if (!pattern) {
    if (words.size() > kMaxConfigLayers)
      throw config.Wrong("layers_block_type", Cat("at most ", kMaxConfigLayers, " layers"));
    return words;
  }
  std::vector<LayerKind> out = LayersOfPattern(*pattern);
  if (!words.empty() && words != out) throw config.Conflict("hybrid_override_pattern", "layers_block_type");
  return out;
}

}  // namespace ck::huggingface
