#include "libs/transform/piece.h"

#include <algorithm>

namespace ck::transform {

Box LeafRegion(const Piece& piece, const Box& target) {
  Box out{.offset = piece.source_offset, .shape = Dims(piece.source_offset.size(), 1)};
  for (size_t d = 0; d < piece.axes.size(); ++d) {
    if (piece.axes[d].result_axis == SourceAxis::kFixed) continue;
    const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
    out.offset[d] += piece.axes[d].step * (target.offset[axis] - piece.target.offset[axis]);
    out.shape[d] = target.shape[axis] == 0 ? 0 : (target.shape[axis] - 1) * piece.axes[d].step + 1;
  }
  return out;
}

std::optional<Box> TargetInside(const Piece& piece, const Box& target, const Box& leaf_box) {
  Box out = target;
  for (size_t d = 0; d < piece.axes.size(); ++d) {
    const uint64_t low = leaf_box.offset[d], high = leaf_box.offset[d] + leaf_box.shape[d];
    const uint64_t start = piece.source_offset[d];
    if (piece.axes[d].result_axis == SourceAxis::kFixed) {
      if (start < low || start >= high) return std::nullopt;
      continue;
    }
    const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
    const uint64_t step = piece.axes[d].step, origin = piece.target.offset[axis];
    if (high <= start) return std::nullopt;
    // Indices i along the result axis with low <= start + step * (i - origin) < high.
    const uint64_t first = origin + (low <= start ? 0 : (low - start + step - 1) / step);
    const uint64_t last = origin + (high - start + step - 1) / step;
    const uint64_t begin = std::max(out.offset[axis], first);
    const uint64_t end = std::min(out.offset[axis] + out.shape[axis], last);
    if (begin >= end) return std::nullopt;
    out.offset[axis] = begin;
    out.shape[axis] = end - begin;
  }
  return out;
}

}  // namespace ck::transform
