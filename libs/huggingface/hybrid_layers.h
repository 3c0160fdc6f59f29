// NemotronH's list of layers: a pattern of M, *, -, E (hybrid_override_pattern), or a list of words
// (layers_block_type).
#ifndef CK_HUGGINGFACE_HYBRID_LAYERS_H_
#define CK_HUGGINGFACE_HYBRID_LAYERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/fields.h"

namespace ck::huggingface {

std::vector<LayerKind> ReadHybridLayers(const Fields& config);

// '|' cuts pipeline stages only. Any other symbol: huggingface.config_unsupported.
std::vector<LayerKind> LayersOfPattern(std::string_view pattern);
std::string PatternOf(const std::vector<LayerKind>& layers);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_HYBRID_LAYERS_H_
