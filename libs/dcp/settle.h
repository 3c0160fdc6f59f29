// Brings metadata into the form that metadata.h promises: sorted, no chunk twice, every item placed. Shared by decoding and merging.
#ifndef CK_DCP_SETTLE_H_
#define CK_DCP_SETTLE_H_

#include <cstdint>
#include <limits>

#include "libs/dcp/metadata.h"

namespace ck::dcp {

// Item::file of an item that has not been seen yet.
inline constexpr uint32_t kNoFile = std::numeric_limits<uint32_t>::max();

// Sorts the chunks by offset. Of chunks with the same offset all but one must be empty; the empty ones are dropped, since they
// hold nothing and an item is named by its offset. Error: dcp.duplicate_item.
void SettleChunks(Tensor& tensor);

// Sorts tensors, objects and files, drops files without items, renumbers the files, and requires an item for every object and every chunk that is not empty.
// Items without one have file kNoFile on entry. Error: dcp.chunk_without_item.
void Settle(Metadata& metadata);

}  // namespace ck::dcp

#endif  // CK_DCP_SETTLE_H_
