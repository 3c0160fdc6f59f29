// One line of text about a node, for people. No format: it may change.
//
// Containers look like Python's repr; a Namespace shows its fields; a dtype is `torch.bfloat16`, a torch.Size a tuple,
// an enumeration `Class(value)`, a tensor `tensor(BF16, [2, 3])`, an array of numpy its elements when they are few, any
// other object `<module.Class ...>`. Never throws on odd shapes. Work is bounded by `limit`, nesting is cut at
// kMaxDescribeDepth.
#ifndef CK_PICKLE_DESCRIBE_H_
#define CK_PICKLE_DESCRIBE_H_

#include <cstddef>
#include <string>

#include "libs/pickle/graph.h"

namespace ck::pickle {

// Containers in containers that are shown; what is deeper is "...". People read no deeper, and the call stack stays
// small.
inline constexpr int kMaxDescribeDepth = 24;

// At most `limit` bytes, plus "..." when something was cut; valid UTF-8, no control characters.
std::string Describe(const Graph& graph, Ref ref, size_t limit);

}  // namespace ck::pickle

#endif  // CK_PICKLE_DESCRIBE_H_
