// A Hugging Face model as the tables see it: for each Megatron tensor, the tensors that it is made of.
//
// Forms.   One tensor per expert, as the published files have them, or one of all experts, as transformers 5 holds them in memory and some files store them.
// Trust.   Names and shapes are compared with each other and with config.json; nothing is guessed. A tensor that no rule asks for is an error, save rotary
//          frequencies, which old files hold and no loader reads.
// Errors.  split.adapter, split.bad_shape, split.config_contradiction, split.extra_tensor, split.heads, split.missing_tensor, split.mixed_dtype, split.quantized,
//          split.tied, split.too_many_experts, split.vocab_size (kInput), those of tables.h.
// Source.  docs/formats/huggingface.md
#ifndef CK_HUGGINGFACE_IMPORT_SOURCE_H_
#define CK_HUGGINGFACE_IMPORT_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/facts.h"
#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/part_rows.h"
#include "libs/huggingface/tables.h"
#include "libs/json/value.h"
#include "libs/plan/plan.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

// A Megatron tensor of one layer, and its Hugging Face tensors as indexes into the view's tensors.
struct JoinedTensor {
  Rule rule;
  std::optional<uint64_t> layer;
  std::string key;  // as in Rule::megatron, with the layer's number
  DType dtype = DType::kF32;
  Dims shape;       // of one layer, the experts along axis 0; a vocabulary without padding
  // By part (Rule::hf), then by expert; one entry per part where there are no experts. Empty when `whole` is set.
  std::vector<std::vector<uint32_t>> parts;
  bool has_expert_axis = false;
  std::optional<uint32_t> whole;  // one tensor that is the Megatron tensor already: all experts in one
  // Where the one part holds the rows of other Megatron tensors too: which of them are this one's.
  std::optional<std::vector<RowRange>> ranges;
};

struct ImportSource {
  std::vector<JoinedTensor> tensors;  // in the order of the rules, layer by layer
  FusedSizes sizes;
  std::map<std::string, transform::LeftOut> left_out;  // by rule
  std::set<std::string> left_out_tensors;
};

// What config.json says, and its text where the class's own fields matter.
struct ImportConfig {
  json::Object root;
  ModelConfig model;  // `tied` as the step wants it
};

ImportSource ReadImportSource(const transform::View& view, const ImportConfig& config, TransformerImpl impl);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_IMPORT_SOURCE_H_
