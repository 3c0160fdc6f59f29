// The tensors of an import: Hugging Face tensors joined to those of a Megatron model, in terms of the leaves of a view.
//
// Layers.   Stacked along axis 0 as Megatron's GPT models do, or a key for each.
// Chunks.   Cut by 1 along layer and expert axes, a gated fc1 in its two halves, what is larger than kMaxFreshChunkBytes by rows: of the model alone, not of how
//           the Hugging Face files are cut.
// Padding.  The vocabulary gets rows of zeros up to the padded size; they are the only elements that no input has.
// States.   A placeholder for every `_extra_state` that a strict load of the implementation asks for.
// Errors.   split.mixed_dtype, split.double_cast (kInput).
#ifndef CK_HUGGINGFACE_IMPORT_TENSORS_H_
#define CK_HUGGINGFACE_IMPORT_TENSORS_H_

#include <cstdint>
#include <optional>

#include "libs/huggingface/import_source.h"
#include "libs/megatron/model_args.h"
#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

struct ImportShape {
  megatron::LayerKeys keys = megatron::LayerKeys::kStacked;
  uint64_t layers = 0;
  uint64_t padded_vocab = 0;  // at least the vocabulary
  Family family = Family::kLlama;
  bool zero_centered = false;             // Megatron stores w - 1 of the norms
  bool hybrid = false;                    // the output layer has an extra state of its own
  std::optional<TransformerImpl> extra_states;  // the implementation that gets placeholders; nullopt: none
};

// Tensors, objects, leaves, left_out and notes of the result; the common state is the caller's. Precondition for kStacked: every layer has the same tensors.
transform::View JoinTensors(const transform::View& source, const ImportSource& model, const ImportShape& shape, const plan::SplitStep& step);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_IMPORT_TENSORS_H_
