// The `_extra_state` entries that a model without FP8 stores: one for each module of certain kinds, all alike, and a strict load asks for every one.
// Source. docs/formats/megatron.md
#ifndef CK_MEGATRON_EXTRA_STATE_H_
#define CK_MEGATRON_EXTRA_STATE_H_

#include <string>
#include <string_view>

namespace ck::megatron {

// torch.save([None]): of a module that has no extra state, as Megatron's own linear layers.
std::string NoExtraState();
// torch.save([an empty uint8 tensor]): of a module of Transformer Engine without FP8.
std::string EmptyExtraState();

// Whether a module stores one, by the last part of its name ("linear_qkv", "pre_mlp_layernorm"). The output layer of a GPT model does not.
bool LinearHasExtraState(std::string_view module);
// The same for norms, which only those of Transformer Engine do.
bool NormHasExtraState(std::string_view module);

}  // namespace ck::megatron

#endif  // CK_MEGATRON_EXTRA_STATE_H_
