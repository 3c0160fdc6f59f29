#include "libs/huggingface/columns.h"

#include <string>

#include "gtest/gtest.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

// The row-major number of the source element of each result element in turn: "0 1 2".
std::string Sources(const Columns& columns, const Dims& source) {
  const Box whole = Box::Whole(columns.shape);
  const Dims source_strides = RowMajorStrides(source), strides = RowMajorStrides(columns.shape);
  std::vector<std::string> out;
  for (uint64_t number = 0; number < Volume(columns.shape).value(); ++number) {
    Dims index;
    for (size_t d = 0; d < columns.shape.size(); ++d) index.push_back(number / strides[d] % columns.shape[d]);
    int pieces = 0;
    for (const transform::Piece& piece : columns.pieces) {
      if (!Contains(piece.target, {index, Dims(index.size(), 1)})) continue;
      ++pieces;
      uint64_t at = 0;
      for (size_t d = 0; d < source.size(); ++d) {
        const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
        at += (piece.source_offset[d] + piece.axes[d].step * (index[axis] - piece.target.offset[axis])) * source_strides[d];
      }
      out.push_back(Cat(at));
    }
    EXPECT_EQ(pieces, 1) << number;
  }
  return Join(out, " ");
}

// Two experts, m = 2, h = 3. Rows of an expert: g0 g1 u0 u1, three elements each: g0 is 0 1 2, u1 is 9 10 11. Columns g0 u0 g1 u1, three rows.
TEST(Columns, GateAndUpAlternate) {
  const Columns to = ToColumns(Transform::kAlternate, {2, 4, 3});
  EXPECT_EQ(to.file_shape, (Dims{2, 3, 4}));
  EXPECT_EQ(Sources(to, {2, 4, 3}), "0 6 3 9 1 7 4 10 2 8 5 11 12 18 15 21 13 19 16 22 14 20 17 23");
  const Columns from = FromColumns(Transform::kAlternate, {2, 3, 4});
  EXPECT_EQ(from.shape, (Dims{2, 4, 3}));
  EXPECT_FALSE(from.file_shape);
  // Columns of an expert: 0 4 8 is g0, 1 5 9 u0, 2 6 10 g1, 3 7 11 u1.
  EXPECT_EQ(Sources(from, {2, 3, 4}), "0 4 8 2 6 10 1 5 9 3 7 11 12 16 20 14 18 22 13 17 21 15 19 23");
}

TEST(Columns, ASquareIsAlternatedToo) { EXPECT_EQ(Sources(ToColumns(Transform::kAlternate, {1, 2, 2}), {1, 2, 2}), "0 2 1 3"); }

TEST(Columns, BiasesAlternate) {
  const Columns to = ToColumns(Transform::kAlternate, {2, 6});
  EXPECT_EQ(to.file_shape, (Dims{2, 6}));
  EXPECT_EQ(Sources(to, {2, 6}), "0 3 1 4 2 5 6 9 7 10 8 11");
  const Columns from = FromColumns(Transform::kAlternate, {2, 6});
  EXPECT_EQ(from.shape, (Dims{2, 6}));
  EXPECT_EQ(Sources(from, {2, 6}), "0 2 4 1 3 5 6 8 10 7 9 11");
}

TEST(Columns, Transpose) {
  const Columns to = ToColumns(Transform::kTranspose, {2, 2, 3});
  EXPECT_EQ(to.shape, (Dims{2, 3, 2}));
  EXPECT_FALSE(to.file_shape);
  EXPECT_EQ(Sources(to, {2, 2, 3}), "0 3 1 4 2 5 6 9 7 10 8 11");
  EXPECT_EQ(Sources(FromColumns(Transform::kTranspose, {2, 3, 2}), {2, 3, 2}), "0 2 4 1 3 5 6 8 10 7 9 11");
}

}  // namespace
}  // namespace ck::huggingface
