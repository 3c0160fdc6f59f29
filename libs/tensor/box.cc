#include "libs/tensor/box.h"

#include <algorithm>

#include "libs/base/checked.h"
#include "libs/base/text.h"

namespace ck {

std::optional<uint64_t> Volume(const Dims& shape) {
  // A zero makes the product fit, wherever it stands: [2^40, 2^40, 0] holds nothing.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::optional<uint64_t> volume = 1;
  for (const uint64_t dim : shape) {
    volume = CheckedMul(*volume, dim);
    if (!volume) return std::nullopt;
  }
  return volume;
}

Dims RowMajorStrides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  // As torch does, a dimension of 0 counts as 1, so that empty tensors have the strides torch gives them.
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<uint64_t>(shape[d], 1);
  return strides;
}

bool Box::IsEmpty() const {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

std::string FormatBox(const Box& box) {
  return Cat(FormatDims(box.offset), " + ", FormatDims(box.shape));
}

bool Contains(const Box& outer, const Box& inner) {
  if (inner.offset.size() != outer.offset.size() || inner.shape.size() != outer.shape.size()) return false;
  for (size_t d = 0; d < outer.rank(); ++d) {
    if (inner.offset[d] < outer.offset[d]) return false;
    if (!RangeFits(inner.offset[d] - outer.offset[d], inner.shape[d], outer.shape[d])) return false;
  }
  return true;
}

std::optional<Box> Intersect(const Box& a, const Box& b) {
  Box common{Dims(a.rank()), Dims(a.rank())};
  for (size_t d = 0; d < a.rank(); ++d) {
    const uint64_t begin = std::max(a.offset[d], b.offset[d]);
    const uint64_t end = std::min(a.offset[d] + a.shape[d], b.offset[d] + b.shape[d]);
    if (begin >= end) return std::nullopt;
    common.offset[d] = begin;
    common.shape[d] = end - begin;
  }
  return common;
}

}  // namespace ck
