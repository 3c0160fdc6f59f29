#include "libs/transform/view.h"

#include <algorithm>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::transform {
namespace {

[[noreturn]] void Bad(const std::string& name, const std::string& what) {
  throw InternalError("transform.bad_view", Cat("result tensor ", Quote(name), ": ", what));
}

// The last index that the piece reads along each leaf dimension stays inside the leaf.
void CheckPieceInsideLeaf(const Tensor& tensor, const Piece& piece, const Leaf& leaf) {
  if (piece.source_offset.size() != leaf.shape.size() || piece.axes.size() != leaf.shape.size()) {
    Bad(tensor.name, Cat("a piece maps ", piece.axes.size(), " dimensions, ", Quote(leaf.name), " has ", leaf.shape.size()));
  }
  if (piece.target.IsEmpty()) return;
  for (size_t d = 0; d < leaf.shape.size(); ++d) {
    uint64_t extent = 1;
    if (piece.axes[d].result_axis != SourceAxis::kFixed) {
      const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
      if (axis >= tensor.shape.size()) Bad(tensor.name, Cat("a piece names result axis ", axis));
      extent = piece.target.shape[axis];
    }
    const auto reach = CheckedMul(extent - 1, piece.axes[d].step);
    const auto last = reach ? CheckedAdd(piece.source_offset[d], *reach) : std::nullopt;
    if (!last || *last >= leaf.shape[d]) {
      Bad(tensor.name, Cat("a piece reads past dimension ", d, " of ", Quote(leaf.name), " ", FormatDims(leaf.shape)));
    }
  }
}

void CheckTiling(const Tensor& tensor, const std::vector<Box>& boxes, const char* what) {
  const auto faults = CheckCoverage(tensor.shape, boxes, 1);
  if (!faults.empty()) Bad(tensor.name, Cat(what, " do not tile ", FormatDims(tensor.shape), " near ", FormatBox(faults[0].where)));
}

void CheckTensor(const View& view, const Tensor& tensor) {
  if (!Volume(tensor.shape)) Bad(tensor.name, "too large");
  if (Volume(tensor.FileShape()) != Volume(tensor.shape)) Bad(tensor.name, Cat("is ", FormatDims(tensor.FileShape()), " in the file, ", FormatDims(tensor.shape), " else"));
  if (tensor.added != 0 && !IsMergeable(tensor.dtype)) Bad(tensor.name, Cat("no arithmetic on ", Name(tensor.dtype)));
  CheckTiling(tensor, tensor.chunks, "chunks");
  std::vector<Box> targets;
  for (const Piece& piece : tensor.pieces) {
    if (piece.leaf >= view.leaves.size()) Bad(tensor.name, "a piece names no leaf");
    const Leaf& leaf = view.leaves[piece.leaf];
    const bool fill = leaf.arithmetic == Arithmetic::kFill;
    if (leaf.terms.empty() != fill) Bad(tensor.name, Cat(fill ? "an input is named for the fill " : "no input gives ", Quote(leaf.name)));
    if (fill && leaf.dtype != tensor.dtype) Bad(tensor.name, "a fill has the dtype of its result");
    const bool arithmetic = fill || leaf.arithmetic == Arithmetic::kWeightedSum || leaf.dtype != tensor.dtype;
    if (arithmetic && (!IsMergeable(leaf.dtype) || !IsMergeable(tensor.dtype))) {
      Bad(tensor.name, Cat("no arithmetic from ", Name(leaf.dtype), " to ", Name(tensor.dtype)));
    }
    CheckPieceInsideLeaf(tensor, piece, leaf);
    targets.push_back(piece.target);
  }
  CheckTiling(tensor, targets, "pieces");
}

template <typename Named>
void CheckSortedUnique(const std::vector<Named>& entries) {
  for (size_t i = 1; i < entries.size(); ++i) {
    if (!(entries[i - 1].name < entries[i].name)) Bad(entries[i].name, "duplicate, or not in order");
  }
}

}  // namespace

Piece Piece::Whole(uint32_t leaf, const Dims& shape) {
  Piece piece{.target = Box::Whole(shape), .leaf = leaf, .source_offset = Dims(shape.size(), 0), .axes = {}};
  for (size_t d = 0; d < shape.size(); ++d) piece.axes.push_back({.result_axis = static_cast<int32_t>(d), .step = 1});
  return piece;
}

void CheckView(const View& view) {
  CheckSortedUnique(view.tensors);
  CheckSortedUnique(view.objects);
  for (const Tensor& tensor : view.tensors) CheckTensor(view, tensor);
}

uint64_t DataBytes(const View& view) {
  uint64_t total = 0;
  for (const Tensor& tensor : view.tensors) total += Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype);
  return total;
}

}  // namespace ck::transform
