// The files beside the data of a source: which ones go along with a result, and which are left out, by name.
#ifndef CK_PIPELINE_SIDECARS_H_
#define CK_PIPELINE_SIDECARS_H_

#include <optional>
#include <string>

#include "libs/checkpoint/checkpoint.h"
#include "libs/transform/view.h"

namespace ck::pipeline {

enum class SidecarRule {
  kCopy,     // the same model state: everything goes along but what would be wrong beside new files
  kChanged,  // other weights: what describes the run's progress (train_state.pt) stays behind as well
};

inline constexpr size_t kMaxSidecarFiles = 10'000;  // a tokenizer has a dozen
inline constexpr size_t kMaxSidecarDepth = 8;       // folders within folders

// Adds the sidecars of `source` to the view, and a note for each that is left out. Beside safetensors no other weights or indexes go along. A
// modelopt_state folder is refused (pipeline.modelopt_state): the weights beside it are quantised, which ck does not understand. Errors also:
// pipeline.sidecar_limit (kInput).
void AddSidecars(const checkpoint::Checkpoint& source, SidecarRule rule, transform::View& view);

// The side files of a Hugging Face result: those of `directory` (tokenizer, generation config, chat template, ...), without config.json, weights and indexes. What
// lies beside `source`, a Megatron checkpoint, does not go along; each gets a note. Errors as above.
void AddModelFiles(const checkpoint::Checkpoint& source, const std::optional<std::string>& directory, transform::View& view);

// The side files of a Hugging Face model that became a Megatron checkpoint, as `huggingface/`: config.json, tokenizer, ... of `directory`, by default of the
// source's own, so that the way back needs nothing else. Weights and indexes do not go along. Errors as above.
void AddHuggingFaceFiles(const checkpoint::Checkpoint& source, const std::optional<std::string>& directory, transform::View& view);

}  // namespace ck::pipeline

#endif  // CK_PIPELINE_SIDECARS_H_
