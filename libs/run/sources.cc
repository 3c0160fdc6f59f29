#include "libs/run/sources.h"

#include <algorithm>

#include "libs/base/error.h"

namespace ck::run {
namespace {

bool SameRecipe(const transform::Leaf& a, const transform::Leaf& b) {
  if (a.arithmetic != b.arithmetic || a.dtype != b.dtype || a.terms.size() != b.terms.size()) return false;
  for (size_t k = 0; k < a.terms.size(); ++k) {
    if (a.terms[k].input != b.terms[k].input || a.terms[k].weight != b.terms[k].weight) return false;
  }
  return true;
}

// Appends the boxes of [begin, end) over the dimensions from `axis` on; `fixed` are the indices of the ones before.
void SplitRange(const Dims& shape, const Dims& strides, uint64_t begin, uint64_t end, size_t axis, Box& fixed, std::vector<Box>& out) {
  while (begin < end) {
    const uint64_t stride = strides[axis];
    const uint64_t row = begin / stride, offset_in_row = begin % stride;
    if (offset_in_row == 0 && end - begin >= stride) {
      const uint64_t rows = (end - begin) / stride;
      Box box = fixed;
      box.offset[axis] = row;
      box.shape[axis] = rows;
      for (size_t d = axis + 1; d < shape.size(); ++d) {
        box.offset[d] = 0;
        box.shape[d] = shape[d];
      }
      out.push_back(std::move(box));
      begin += rows * stride;
      continue;
    }
    // Part of one row: its elements lie in the dimensions below.
    const uint64_t part = std::min(end - begin, stride - offset_in_row);
    fixed.offset[axis] = row;
    fixed.shape[axis] = 1;
    SplitRange(shape, strides, offset_in_row, offset_in_row + part, axis + 1, fixed, out);
    begin += part;
  }
}

}  // namespace

std::vector<Box> BoxesOfRange(const Dims& shape, uint64_t begin, uint64_t end) {
  if (begin >= end) return {};
  if (shape.empty()) return {Box{}};
  std::vector<Box> out;
  Box fixed = Box::Whole(shape);
  SplitRange(shape, RowMajorStrides(shape), begin, end, 0, fixed, out);  // recursion depth is the rank, at most kMaxRank
  return out;
}

SourceFinder::SourceFinder(const transform::View& view) : view_(view), first_extents_(view.inputs.size()) {
  for (size_t i = 0; i < view.inputs.size(); ++i) {
    for (const dcp::Tensor& tensor : view.inputs[i]->tensors()) {
      if (tensor.shape.empty()) continue;
      uint64_t& extent = first_extents_[i][tensor.name];
      for (const dcp::Chunk& chunk : tensor.chunks) extent = std::max(extent, chunk.box.shape[0]);
    }
  }
}

std::vector<SourceChunk> SourceFinder::FindChunks(const transform::Leaf& leaf, const transform::Term& term, const Box& region) const {
  const checkpoint::Checkpoint& input = *view_.inputs[term.input];
  const dcp::Tensor* tensor = input.FindTensor(leaf.name);
  Check(tensor != nullptr, "a view's leaf exists in its inputs");
  auto at = tensor->chunks.begin();
  if (!tensor->shape.empty()) {
    const uint64_t extent = first_extents_[term.input].find(leaf.name)->second;
    const uint64_t from = region.offset[0] >= extent ? region.offset[0] - extent + 1 : 0;
    at = std::lower_bound(at, tensor->chunks.end(), from, [](const dcp::Chunk& chunk, uint64_t wanted) { return chunk.box.offset[0] < wanted; });
  }
  std::vector<SourceChunk> out;
  for (; at != tensor->chunks.end(); ++at) {
    if (!tensor->shape.empty() && at->box.offset[0] >= region.offset[0] + region.shape[0]) break;
    if (at->box.IsEmpty() || !Intersect(at->box, region)) continue;
    out.push_back({.box = at->box, .located = input.Locate(*tensor, *at)});
  }
  return out;
}

ChunkSources SourceFinder::Find(const transform::Tensor& tensor, const Box& chunk) const {
  ChunkSources out;
  for (const transform::Piece& piece : tensor.pieces) {
    auto target = Intersect(piece.target, chunk);
    if (!target || target->IsEmpty()) continue;
    const transform::Leaf& leaf = view_.leaves[piece.leaf];
    PieceSources sources{.piece = &piece, .leaf = &leaf, .target = std::move(*target), .inputs = {}};
    const Box region = LeafRegion(piece, sources.target);
    for (const transform::Term& term : leaf.terms) sources.inputs.push_back(FindChunks(leaf, term, region));
    out.uniform = out.uniform && (out.pieces.empty() || SameRecipe(*out.pieces[0].leaf, leaf));
    out.pieces.push_back(std::move(sources));
  }
  return out;
}

}  // namespace ck::run
