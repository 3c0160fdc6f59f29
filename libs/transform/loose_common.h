// The common state of fsdp_dtensor and plain DCP, which keep it as byte objects of their own (`args`, `iteration`, ...).
#ifndef CK_TRANSFORM_LOOSE_COMMON_H_
#define CK_TRANSFORM_LOOSE_COMMON_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"
#include "libs/transform/view.h"

namespace ck::transform {

// The object `iteration` or `args` rewritten for another iteration; nullopt when the object states none.
std::optional<std::string> WithIteration(const checkpoint::Checkpoint& source, const dcp::Object& object, int64_t iteration);

// The value of the object `iteration`, when it is an integer.
std::optional<int64_t> LooseIteration(const checkpoint::Checkpoint& source);

// Adds the paths of the view's keys that the source's planner data has; nothing when the source has none.
void KeepPlannerData(const checkpoint::Checkpoint& source, View& view);

// The boxes of a tensor's chunks, in order.
std::vector<Box> ChunkBoxes(const dcp::Tensor& tensor);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_LOOSE_COMMON_H_
