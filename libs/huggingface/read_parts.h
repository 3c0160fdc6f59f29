// The parts of a ModelConfig that only some classes have. Each needs the fields that the comment names.
#ifndef CK_HUGGINGFACE_READ_PARTS_H_
#define CK_HUGGINGFACE_READ_PARTS_H_

#include "libs/huggingface/config.h"
#include "libs/huggingface/fields.h"

namespace ck::huggingface {

// layers, expert_layers and sliding_window.
void ReadLayers(const Fields& config, ModelConfig& model);
// experts. Needs expert_layers and ffn.
void ReadExperts(const Fields& config, ModelConfig& model);
// mla, mamba, gdn. Needs hidden, heads and layers.
void ReadMixers(const Fields& config, ModelConfig& model);
// Values that change what the model computes and that neither ModelConfig nor Megatron-Core can say.
void RefuseUnsupported(const Fields& config, Family family);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_READ_PARTS_H_
