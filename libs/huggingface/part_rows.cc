#include "libs/huggingface/part_rows.h"

#include "libs/base/error.h"

namespace ck::huggingface {

std::vector<RowRange> RowsOfPart(Transform transform, size_t part, uint64_t rows, const FusedSizes& sizes) {
  switch (transform) {
    case Transform::kCopy:
      return RowsFrom(0, rows);
    case Transform::kUnpad:
      return RowsFrom(0, sizes.vocab_size);
    case Transform::kQkv:
      return part == 0 ? QueryRows(sizes.heads) : part == 1 ? KeyRows(sizes.heads) : ValueRows(sizes.heads);
    case Transform::kQkvJoin:
      return QueryKeyValueRows(sizes.heads);
    case Transform::kGateUp:
      return RowsFrom(part * (rows / 2), rows / 2);
  }
  throw InternalError("internal.check_failed", "unknown transform");
}

}  // namespace ck::huggingface
