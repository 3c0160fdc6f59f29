// ck-split --to megatron as a view: a Hugging Face model's tensors as those of a Megatron-Core checkpoint, in torch_dist.
//
// Complete. Every tensor that the class's table asks for is there, every tensor of the model is used or left out by a named rule, and source elements = result
//           elements - vocabulary padding. Anything else is an error before the first byte is written.
// Config.   config.json decides the arguments, which layers have experts, and how fused rows are cut; every size in it is compared with the tensors.
// Errors.   split.* of import_source.h and import_tensors.h; split.not_hugging_face, split.no_config, split.padded_vocab (kInput), those of
//           config.h and megatron_config.h.
// Source.   docs/formats/huggingface.md
#ifndef CK_HUGGINGFACE_IMPORT_H_
#define CK_HUGGINGFACE_IMPORT_H_

#include <cstdint>

#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

// Without side files. `iteration` goes into the common state.
transform::View ImportView(const transform::View& source, const plan::SplitStep& step, int64_t iteration);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_IMPORT_H_
