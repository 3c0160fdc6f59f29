#include "libs/run/sources.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"

namespace ck::run {
namespace {

using transform::Piece;
using transform::SourceAxis;

// The row-major positions that a box covers in a tensor of this shape, in order.
std::vector<uint64_t> Positions(const Dims& shape, const Box& box) {
  const Dims strides = RowMajorStrides(shape);
  std::vector<uint64_t> out;
  const uint64_t count = *Volume(box.shape);
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t rest = n, position = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      position += (box.offset[d] + rest % box.shape[d]) * strides[d];
      rest /= box.shape[d];
    }
    out.push_back(position);
  }
  return out;
}

TEST(BoxesOfRange, CoverEveryRangeInOrder) {
  for (const Dims& shape : {Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{1, 4, 1, 3}, Dims{2, 1, 2, 2}}) {
    const uint64_t volume = *Volume(shape);
    for (uint64_t begin = 0; begin <= volume; ++begin) {
      for (uint64_t end = begin; end <= volume; ++end) {
        const std::vector<Box> boxes = BoxesOfRange(shape, begin, end);
        EXPECT_LE(boxes.size(), 2 * shape.size() - 1);
        std::vector<uint64_t> positions;
        for (const Box& box : boxes) {
          for (const uint64_t position : Positions(shape, box)) positions.push_back(position);
        }
        ASSERT_EQ(positions.size(), end - begin) << FormatDims(shape) << begin << "-" << end;
        for (uint64_t i = 0; i < positions.size(); ++i) ASSERT_EQ(positions[i], begin + i);
      }
    }
  }
}

TEST(BoxesOfRange, AScalarIsOneBox) { EXPECT_EQ(BoxesOfRange({}, 0, 1).size(), 1u); }

// The leaf index that a target index reads, by definition.
Dims SourceIndex(const Piece& piece, const Dims& target) {
  Dims out = piece.source_offset;
  for (size_t d = 0; d < out.size(); ++d) {
    if (piece.axes[d].result_axis == SourceAxis::kFixed) continue;
    const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
    out[d] += piece.axes[d].step * (target[axis] - piece.target.offset[axis]);
  }
  return out;
}

bool Inside(const Dims& index, const Box& box) {
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < box.offset[d] || index[d] >= box.offset[d] + box.shape[d]) return false;
  }
  return true;
}

// Every index of the box, as a list of indices.
std::vector<Dims> Indices(const Box& box) {
  std::vector<Dims> out;
  const uint64_t count = *Volume(box.shape);
  for (uint64_t n = 0; n < count; ++n) {
    Dims index(box.rank());
    uint64_t rest = n;
    for (size_t d = box.rank(); d-- > 0;) {
      index[d] = box.offset[d] + rest % box.shape[d];
      rest /= box.shape[d];
    }
    out.push_back(index);
  }
  return out;
}

// TargetInside must be exactly the indices whose source lies in the leaf box; the region must hold all their sources.
void ExpectExact(const Piece& piece, const Box& target, const Box& leaf_box) {
  std::set<Dims> expected;
  for (const Dims& index : Indices(target)) {
    if (Inside(SourceIndex(piece, index), leaf_box)) expected.insert(index);
  }
  const auto found = TargetInside(piece, target, leaf_box);
  if (expected.empty()) {
    EXPECT_FALSE(found.has_value());
    return;
  }
  ASSERT_TRUE(found.has_value());
  const std::vector<Dims> indices = Indices(*found);
  EXPECT_EQ(std::set<Dims>(indices.begin(), indices.end()), expected);
  const Box region = LeafRegion(piece, *found);
  for (const Dims& index : indices) EXPECT_TRUE(Inside(SourceIndex(piece, index), region));
}

TEST(TargetInside, MatchesTheDefinitionForRandomMaps) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    const size_t rank = random() % 3 + 1, leaf_rank = random() % 3 + 1;
    Piece piece;
    for (size_t d = 0; d < rank; ++d) {
      piece.target.offset.push_back(random() % 4);
      piece.target.shape.push_back(1 + random() % 5);
    }
    Box leaf_box;
    for (size_t d = 0; d < leaf_rank; ++d) {
      piece.source_offset.push_back(random() % 6);
      const auto axis = static_cast<int32_t>(random() % (rank + 1)) - 1;
      piece.axes.push_back({.result_axis = axis, .step = 1 + random() % 3});
      leaf_box.offset.push_back(random() % 8);
      leaf_box.shape.push_back(1 + random() % 6);
    }
    ExpectExact(piece, piece.target, leaf_box);
  }
}

}  // namespace
}  // namespace ck::run
