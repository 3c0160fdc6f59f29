// Megatron's saved arguments and a ModelConfig, in both directions.
//
// Arguments that stand in every file as defaults (MLA, MoE, Mamba, yarn) count only where the model has the part they
// describe. Errors.  huggingface.args_missing, huggingface.args_type, huggingface.args_not_expressible (kInput).
// Source.  docs/formats/hf_config.md
#ifndef CK_HUGGINGFACE_MEGATRON_CONFIG_H_
#define CK_HUGGINGFACE_MEGATRON_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/saved_args.h"

namespace ck::huggingface {

struct DerivedConfig {
  ModelConfig model;
  bool zero_centered_norms = false;  // Megatron stores w - 1 of the norms
  std::vector<std::string>
      warnings;  // what transformers computes otherwise (DeepSeek's latent norms), what no argument says
};
// What the arguments say, as a model of this class. The class must be able to say it: an argument that it has no field
// for is huggingface.args_not_expressible; that every width fits the class's fields is checked by WriteConfig.
// Vocabulary: `vocab` when given (--vocab-size), else args.vocab_size; 0 in the model when neither is there.
// A checkpoint without arguments is huggingface.args_missing.
DerivedConfig ConfigFromArgs(const Architecture& architecture, const SavedArgs& args,
                             std::optional<uint64_t> vocab = std::nullopt);

struct TorchDtype {
  std::string name;  // "bfloat16"
  friend bool operator==(const TorchDtype&, const TorchDtype&) = default;
};
// monostate is None, a list of integers a Python list.
using ArgumentValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, TorchDtype, std::vector<int64_t>>;
struct Argument {
  std::string name;
  ArgumentValue value;
};
enum class TransformerImpl { kTransformerEngine, kLocal };
struct ArgsOptions {
  TransformerImpl impl = TransformerImpl::kTransformerEngine;
  uint64_t padded_vocab = 0;
  uint64_t make_vocab_size_divisible_by = 128;
};
struct DerivedArgs {
  std::vector<Argument> arguments;  // in a fixed order
  bool zero_centered_norms =
      false;  // of (1 + w) classes with Transformer Engine: bytes unchanged; local Megatron stores w + 1
  std::vector<std::string>
      warnings;  // what no argument of stock Megatron-Core says (soft caps, longrope, two bases of Gemma3)
};
// Every argument that decides names, shapes or the function of the model; the same names for every model, None or the
// default where it has no such part. Attention and MLP side by side (GPT-NeoX, Falcon) is
// huggingface.config_unsupported: Megatron-Core has no such layer.
DerivedArgs ArgsFromConfig(const ModelConfig& model, const ArgsOptions& options);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_MEGATRON_CONFIG_H_
