// The rotary part of config.json, in the spelling of 4.57 and of 5.
#ifndef CK_HUGGINGFACE_ROPE_CONFIG_H_
#define CK_HUGGINGFACE_ROPE_CONFIG_H_

#include <optional>

#include "libs/huggingface/config.h"
#include "libs/huggingface/fields.h"

namespace ck::huggingface {

struct Ropes {
  std::optional<Rope> rope, local;  // local: Gemma3 only
};
// Both spellings at once must say the same (huggingface.config_conflict); a kind of scaling that ck does not know is
// huggingface.config_unsupported.
Ropes ReadRopes(const Fields& config, const FamilyRow& row);

// The fields that 4.57 and 5 both read, behind what `out` has.
void WriteRopes(json::Object& out, const ModelConfig& model);

std::string_view RopeKindName(RopeKind kind);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_ROPE_CONFIG_H_
