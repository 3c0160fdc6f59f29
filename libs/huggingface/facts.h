// What a checkpoint's own tensors and arguments say about the model: sizes, heads, vocabulary, ties.
//
// Trust.   A size comes from tensors; where two tensors disagree the split stops, naming both. Only what no tensor shows (the number of heads, the true
//          vocabulary) comes from the arguments or from config.json.
// Errors.  split.bad_shape, split.missing_tensor, split.extra_tensor, split.heads, split.vocab_size, split.tied (kInput).
#ifndef CK_HUGGINGFACE_FACTS_H_
#define CK_HUGGINGFACE_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/model_source.h"
#include "libs/huggingface/rows.h"
#include "libs/huggingface/saved_args.h"
#include "libs/huggingface/tables.h"
#include "libs/plan/plan.h"

namespace ck::huggingface {

// A rule and the tensor that it found.
struct Match {
  Rule rule;
  std::optional<uint64_t> layer;
  std::string key;  // in ModelSource::parameters
  std::vector<std::string> more_keys = {};  // JoinsTensors: of the tensors after the first
};

// The letters of Rule::shape and what they stand for.
class Sizes {
 public:
  // `words` as in Rule::shape. Throws split.bad_shape when the shape does not fit them or what was bound before.
  void Bind(std::string_view words, const Dims& shape, const std::string& tensor);
  std::optional<uint64_t> Find(char letter) const;
  uint64_t Get(char letter) const;  // precondition: bound
  // "24 (of 'decoder.final_layernorm.weight')".
  std::string Origin(char letter) const;

 private:
  struct Bound {
    uint64_t value = 0;
    std::string tensor;
  };
  std::map<char, Bound> bound_;
};

struct Facts {
  Architecture architecture;
  std::vector<Match> matches;
  uint64_t layers = 0;
  Sizes sizes;
  Heads heads;  // with latent attention as config.json counts: as many groups as heads, the rotated part as head_dim
  std::optional<Mla> latent;
  std::optional<Mamba> mamba;
  std::optional<Gdn> gdn;
  std::vector<LayerKind> kinds;  // full attention where a layer has attention, whatever its window
  uint64_t vocab_size = 0;
  std::string vocab_origin;
  bool tied = false;
  bool zero_centered_norms = false;  // as the arguments say; without any, as the class has them
  std::map<std::string, bool, std::less<>> fields;  // of When::kField
  std::vector<uint64_t> dense_layers;               // of a model that has MoE layers
  bool has_experts = false;
};

// `config` is what a config.json says, nullptr when there is none.
Facts ReadFacts(const ModelSource& source, const Architecture& architecture, const SavedArgs& args, const ModelConfig* config, const plan::SplitStep& step);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_FACTS_H_
