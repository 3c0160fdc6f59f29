// The view of a plan without steps: one checkpoint, copied.
#ifndef CK_TRANSFORM_COPY_H_
#define CK_TRANSFORM_COPY_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "libs/checkpoint/checkpoint.h"
#include "libs/transform/view.h"

namespace ck::transform {

// Every tensor and object with its chunk boundaries, and the common state. A torch_dist result has common.pt, whichever form the source had; when `iteration` is
// given, the iteration that the common state (or the objects of fsdp_dtensor) records becomes that.
View CopyView(std::shared_ptr<const checkpoint::Checkpoint> source, std::optional<int64_t> iteration);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_COPY_H_
