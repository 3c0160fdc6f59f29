// ck-split --to hf as a view: a Megatron model's tensors under the names, shapes and file format of a Hugging Face class.
//
// Complete. Every tensor that the class's table asks for is there, every tensor of the source is used or left out by a named rule, and source elements = result
//           elements + vocabulary padding left out. Anything else is an error before the first byte is written.
// Errors.   split.* of model_source.h, facts.h, tables.h, check_arguments.h; split.double_cast, split.not_megatron, split.too_many_experts (kInput).
// Source.   docs/formats/huggingface.md
#ifndef CK_HUGGINGFACE_EXPORT_H_
#define CK_HUGGINGFACE_EXPORT_H_

#include "libs/huggingface/facts.h"
#include "libs/huggingface/model_source.h"
#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

inline constexpr uint64_t kMaxExperts = 100'000;  // per layer; the widest models have some hundred

// The tensors of the result, in terms of the leaves of `source`; without any side file. `model` and `facts` are of `source`.
transform::View ExportTensors(const transform::View& source, const ModelSource& model, const Facts& facts, const plan::SplitStep& step);

// The dtype that most elements of the view have.
DType MostUsedDtype(const transform::View& view);

// The whole step: tensors and config.json. Side files of the config's directory are the caller's.
transform::View ExportView(const transform::View& source, const plan::SplitStep& step);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_EXPORT_H_
