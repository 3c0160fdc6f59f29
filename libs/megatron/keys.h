// What a Megatron key names: a model tensor, an extra state, or training state that a merge must not average.
// Source: docs/formats/megatron.md.
#ifndef CK_MEGATRON_KEYS_H_
#define CK_MEGATRON_KEYS_H_

#include <string_view>

namespace ck::megatron {

enum class KeyClass {
  kModel,       // decoder., embedding., output_layer., mtp., model., model<digits>.
  kExtraState,  // `_extra_state` anywhere a module can have one, also under a model root
  kOptimizer,   // optimizer., chained_<n>.
  kRng,         // rng_state
  kRerun,       // rerun_state_machine_state
  kCommon,      // common_state/..., and the loose objects of fsdp_dtensor: args, iteration, checkpoint_version, ...
  kOther,
};

KeyClass Classify(std::string_view key);

// Shown to people and used as the rule of what is left out: "optimizer", "rng", "rerun_state_machine", ...
std::string_view Name(KeyClass key_class);

// Tensors that keep their dtype under a cast because fp32 matters to what they do: a router's expert_bias, a Mamba layer's A_log, D and dt_bias.
bool KeepsDtype(std::string_view key);

// True for a key under `decoder.layers.` with a layer number, false for the stacked form; both false for other keys.
bool IsPerLayerKey(std::string_view key);
bool IsStackedKey(std::string_view key);

}  // namespace ck::megatron

#endif  // CK_MEGATRON_KEYS_H_
