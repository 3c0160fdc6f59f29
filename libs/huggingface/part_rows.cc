#include "libs/huggingface/part_rows.h"

#include "libs/base/error.h"

namespace ck::huggingface {

double AddedBy(Transform transform, NormForm norm_form, bool zero_centered) {
  if (transform != Transform::kNorm && transform != Transform::kPlainNorm) return 0;
  const bool stored_less_one = transform == Transform::kNorm && norm_form == NormForm::kOnePlus;
  return (zero_centered ? 1 : 0) - (stored_less_one ? 1 : 0);
}

std::vector<RowRange> RowsOfPart(Transform transform, size_t part, uint64_t rows, const FusedSizes& sizes) {
  switch (transform) {
    case Transform::kCopy:
    case Transform::kJoin:
    case Transform::kNorm:
    case Transform::kPlainNorm:
      return RowsFrom(0, rows);
    case Transform::kUnpad:
      return RowsFrom(0, sizes.vocab_size);
    case Transform::kQkv:
      return part == 0 ? QueryRows(sizes.heads) : part == 1 ? KeyRows(sizes.heads) : ValueRows(sizes.heads);
    case Transform::kGatedQkv:
      return part == 0 ? GatedQueryRows(sizes.heads) : part == 1 ? GatedKeyRows(sizes.heads) : GatedValueRows(sizes.heads);
    case Transform::kGdnProjection:
      return DeltaProjectionRows(sizes.delta);
    case Transform::kGdnGates:
      return DeltaGateRows(sizes.delta);
    case Transform::kAlternate:
    case Transform::kTranspose:
      break;
    case Transform::kQkvJoin:
      return QueryKeyValueRows(sizes.heads);
    case Transform::kGateUp:
      return RowsFrom(part * (rows / 2), rows / 2);
  }
  throw InternalError("internal.check_failed", "no transform of rows");
}

}  // namespace ck::huggingface
