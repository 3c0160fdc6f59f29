// Parts of ConfigFromArgs. Each sets the fields that its name says and leaves the others.
#ifndef CK_HUGGINGFACE_DERIVE_PARTS_H_
#define CK_HUGGINGFACE_DERIVE_PARTS_H_

#include "libs/huggingface/saved_args.h"
#include "libs/huggingface/megatron_config.h"

namespace ck::huggingface {

// layers, expert_layers, sliding_window.
void DeriveLayers(const SavedArgs& args, ModelConfig& model);
// rope, local_rope. Needs heads, head_dim.
void DeriveRope(const SavedArgs& args, ModelConfig& model);
// experts, and ffn where the class has one field for both. Needs expert_layers and ffn.
void DeriveExperts(const SavedArgs& args, DerivedConfig& derived);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_DERIVE_PARTS_H_
