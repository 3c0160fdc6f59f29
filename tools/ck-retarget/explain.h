// What a hybrid pattern means: its layers and what they come from, lists expanded, the changes in the training command.
#ifndef CK_TOOLS_CK_RETARGET_EXPLAIN_H_
#define CK_TOOLS_CK_RETARGET_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/json/value.h"
#include "libs/megatron/pattern.h"

namespace ck::retarget {

// Throws what CheckGptPattern finds: one fault as itself, several as the first one with the others in its message.
void RequireGptPattern(const megatron::Pattern& pattern, megatron::Reorder reorder);

// Segments are a multiple of stages * virtual_stages; a pattern without '|' has layers that are a multiple of it. Throws retarget.segments (kInput).
void CheckSegments(const megatron::Pattern& pattern, uint64_t stages, uint64_t virtual_stages);

struct Explanation {
  megatron::Pattern pattern;
  std::vector<std::optional<uint64_t>> gpt_layers;  // by hybrid layer; nullopt for a fresh one
  std::optional<std::vector<std::string>> list;     // by GPT layer
};

// Throws retarget.list_length when the list has not one value per GPT layer.
Explanation Explain(const megatron::Pattern& pattern, const std::optional<std::vector<std::string>>& list);

json::Value ToJson(const Explanation& explanation);
std::string ToTable(const Explanation& explanation);

}  // namespace ck::retarget

#endif  // CK_TOOLS_CK_RETARGET_EXPLAIN_H_
