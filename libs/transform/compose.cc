#include "libs/transform/compose.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/transform/piece.h"

namespace ck::transform {
namespace {

uint64_t ResultIndex(const SourceAxis& axis, const Box& box) { return box.offset[static_cast<size_t>(axis.result_axis)]; }

// `outer` maps the result into a tensor, `inner` a box of that tensor into a leaf. Their composition on `part`, which `outer` maps into inner.target.
Piece Substitute(const Piece& outer, const Piece& inner, Box part) {
  Piece out{.target = std::move(part), .leaf = inner.leaf, .source_offset = inner.source_offset, .axes = {}};
  for (size_t d = 0; d < inner.axes.size(); ++d) {
    const SourceAxis& in = inner.axes[d];
    if (in.result_axis == SourceAxis::kFixed) {
      out.axes.push_back(in);
      continue;
    }
    const auto middle = static_cast<size_t>(in.result_axis);  // a dimension of the tensor between
    const SourceAxis& by = outer.axes[middle];
    uint64_t index = outer.source_offset[middle];
    SourceAxis axis{.result_axis = SourceAxis::kFixed, .step = 1};
    if (by.result_axis != SourceAxis::kFixed) {
      index += by.step * (ResultIndex(by, out.target) - ResultIndex(by, outer.target));
      axis = {.result_axis = by.result_axis, .step = by.step * in.step};
    }
    out.source_offset[d] += in.step * (index - inner.target.offset[middle]);
    out.axes.push_back(axis);
  }
  return out;
}

// The chunks are sorted by offset: the first that can reach index `from` of dimension 0.
std::vector<Box>::const_iterator FirstReaching(const std::vector<Box>& chunks, uint64_t from) {
  uint64_t extent = 0;
  for (const Box& chunk : chunks) extent = std::max(extent, chunk.shape[0]);
  const uint64_t begin = from >= extent ? from - extent + 1 : 0;
  return std::lower_bound(chunks.begin(), chunks.end(), begin, [](const Box& chunk, uint64_t wanted) { return chunk.offset[0] < wanted; });
}

// Adds the parts of piece.target that come from one stored chunk each.
void CarryChunks(const Piece& piece, const std::vector<Box>& chunks, std::vector<Box>& out) {
  auto at = chunks.begin();
  const Box region = LeafRegion(piece, piece.target);
  if (region.rank() > 0) at = FirstReaching(chunks, region.offset[0]);
  for (; at != chunks.end(); ++at) {
    if (region.rank() > 0 && at->offset[0] >= region.offset[0] + region.shape[0]) break;
    if (at->IsEmpty()) continue;
    if (auto part = TargetInside(piece, piece.target, *at)) out.push_back(std::move(*part));
  }
}

}  // namespace

Tensor Compose(const View& source, const Draft& draft) {
  Tensor out{.name = draft.name, .dtype = draft.dtype, .shape = draft.shape, .chunks = {}, .pieces = {}};
  for (const Piece& piece : draft.pieces) {
    const Tensor& tensor = source.tensors.at(piece.leaf);
    if (tensor.dtype != draft.dtype) {
      throw InternalError("transform.compose_dtype", Cat("result tensor ", Quote(draft.name), " is ", Name(draft.dtype), ", its source ", Quote(tensor.name), " ", Name(tensor.dtype)));
    }
    Check(!tensor.file_shape && tensor.added == 0, "no step follows one that changes the elements or the dimensions of the file");
    if (piece.target.IsEmpty()) continue;
    for (const Piece& inner : tensor.pieces) {
      if (inner.target.IsEmpty()) continue;
      if (auto part = TargetInside(piece, piece.target, inner.target)) out.pieces.push_back(Substitute(piece, inner, std::move(*part)));
    }
    CarryChunks(piece, tensor.chunks, out.chunks);
  }
  if (Box::Whole(draft.shape).IsEmpty()) out.chunks = {Box::Whole(draft.shape)};
  std::sort(out.chunks.begin(), out.chunks.end());
  return out;
}

std::vector<Box> ChunksByRows(const Dims& shape, DType dtype, uint64_t max_bytes) {
  const Box whole = Box::Whole(shape);
  if (shape.empty() || whole.IsEmpty()) return {whole};
  const uint64_t row_bytes = Volume(shape).value_or(0) / shape[0] * ElementSize(dtype);
  const uint64_t rows = std::clamp<uint64_t>(max_bytes / std::max<uint64_t>(row_bytes, 1), 1, shape[0]);
  std::vector<Box> out;
  for (uint64_t row = 0; row < shape[0]; row += rows) {
    Box box = whole;
    box.offset[0] = row;
    box.shape[0] = std::min(rows, shape[0] - row);
    out.push_back(std::move(box));
  }
  return out;
}

}  // namespace ck::transform
