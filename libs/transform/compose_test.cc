#include "libs/transform/compose.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::transform {
namespace {

constexpr SourceAxis kFixed{SourceAxis::kFixed, 1};

Leaf LeafOf(const Dims& shape) { return {.name = Cat("leaf", FormatDims(shape)), .dtype = DType::kF32, .shape = shape, .arithmetic = Arithmetic::kCopy, .terms = {{0, 1.0}}}; }

// Where one element comes from, by the definition of a piece: leaf and index. Exactly one piece must hold it.
std::pair<uint32_t, Dims> SourceOf(const std::vector<Piece>& pieces, const Dims& index) {
  std::pair<uint32_t, Dims> out;
  int found = 0;
  for (const Piece& piece : pieces) {
    if (!Contains(piece.target, {index, Dims(index.size(), 1)})) continue;
    ++found;
    out = {piece.leaf, piece.source_offset};
    for (size_t d = 0; d < piece.axes.size(); ++d) {
      if (piece.axes[d].result_axis == SourceAxis::kFixed) continue;
      const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
      out.second[d] += piece.axes[d].step * (index[axis] - piece.target.offset[axis]);
    }
  }
  EXPECT_EQ(found, 1) << FormatDims(index);
  return out;
}

void ForEachIndex(const Dims& shape, const std::function<void(const Dims&)>& visit) {
  for (uint64_t n = 0; n < *Volume(shape); ++n) {
    Dims index(shape.size());
    uint64_t rest = n;
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    visit(index);
  }
}

// Checks Compose against its definition: element by element, first the draft's pieces, then those of the tensor between.
void ExpectComposed(const View& source, const Draft& draft, const Tensor& composed) {
  View result;
  result.leaves = source.leaves;
  result.tensors = {composed};
  CheckView(result);
  ForEachIndex(draft.shape, [&](const Dims& index) {
    const auto [tensor, middle] = SourceOf(draft.pieces, index);
    EXPECT_EQ(SourceOf(composed.pieces, index), SourceOf(source.tensors[tensor].pieces, middle)) << FormatDims(index);
  });
  // Chunks: each lies in one chunk of one source, so that a stored item is never made of two.
  for (const Box& chunk : composed.chunks) {
    std::pair<uint32_t, size_t> first{UINT32_MAX, 0};
    ForEachIndex(chunk.shape, [&](const Dims& inside) {
      Dims index = inside;
      for (size_t d = 0; d < index.size(); ++d) index[d] += chunk.offset[d];
      const auto [tensor, middle] = SourceOf(draft.pieces, index);
      size_t at = 0;
      while (!Contains(source.tensors[tensor].chunks[at], {middle, Dims(middle.size(), 1)})) ++at;
      if (first.first == UINT32_MAX) first = {tensor, at};
      EXPECT_EQ(first, std::pair(tensor, at));
    });
  }
}

// A stacked tensor [3, 8, 5], cut by layer and into halves, whose left and right columns come from different leaves.
View StackedSource() {
  View view;
  view.leaves = {LeafOf({3, 8, 2}), LeafOf({3, 8, 3})};
  Tensor tensor{.name = "stacked", .dtype = DType::kF32, .shape = {3, 8, 5}, .chunks = {}, .pieces = {}};
  for (uint64_t layer = 0; layer < 3; ++layer) {
    for (uint64_t half = 0; half < 2; ++half) tensor.chunks.push_back({{layer, half * 4, 0}, {1, 4, 5}});
  }
  tensor.pieces = {{.target = {{0, 0, 0}, {3, 8, 2}}, .leaf = 0, .source_offset = {0, 0, 0}, .axes = {{0, 1}, {1, 1}, {2, 1}}},
                   {.target = {{0, 0, 2}, {3, 8, 3}}, .leaf = 1, .source_offset = {0, 0, 0}, .axes = {{0, 1}, {1, 1}, {2, 1}}}};
  view.tensors = {tensor};
  return view;
}

TEST(Compose, ARowOfAStackKeepsItsChunks) {
  const View source = StackedSource();
  const Draft row{.name = "row", .dtype = DType::kF32, .shape = {8, 5}, .pieces = {{.target = Box::Whole({8, 5}), .leaf = 0, .source_offset = {2, 0, 0}, .axes = {kFixed, {0, 1}, {1, 1}}}}};
  const Tensor composed = Compose(source, row);
  ExpectComposed(source, row, composed);
  EXPECT_EQ(composed.chunks, (std::vector<Box>{{{0, 0}, {4, 5}}, {{4, 0}, {4, 5}}}));
}

TEST(Compose, AStackOfRowsIsTheStack) {
  View rows;
  const View source = StackedSource();
  rows.leaves = source.leaves;
  for (uint64_t layer = 0; layer < 3; ++layer) {
    rows.tensors.push_back(Compose(source, {.name = Cat("row", layer), .dtype = DType::kF32, .shape = {8, 5},
                                            .pieces = {{.target = Box::Whole({8, 5}), .leaf = 0, .source_offset = {layer, 0, 0}, .axes = {kFixed, {0, 1}, {1, 1}}}}}));
  }
  Draft stack{.name = "stack", .dtype = DType::kF32, .shape = {3, 8, 5}, .pieces = {}};
  for (uint32_t layer = 0; layer < 3; ++layer) stack.pieces.push_back({.target = {{layer, 0, 0}, {1, 8, 5}}, .leaf = layer, .source_offset = {0, 0}, .axes = {{1, 1}, {2, 1}}});
  const Tensor composed = Compose(rows, stack);
  ExpectComposed(rows, stack, composed);
  EXPECT_EQ(composed.chunks, source.tensors[0].chunks);
  ForEachIndex({3, 8, 5}, [&](const Dims& index) { EXPECT_EQ(SourceOf(composed.pieces, index), SourceOf(source.tensors[0].pieces, index)); });
}

TEST(Compose, SwappedAndSteppedAxes) {
  const View source = StackedSource();
  // Odd rows of layer 1, transposed: result [5, 4].
  const Draft draft{.name = "odd", .dtype = DType::kF32, .shape = {5, 4}, .pieces = {{.target = Box::Whole({5, 4}), .leaf = 0, .source_offset = {1, 1, 0}, .axes = {kFixed, {1, 2}, {0, 1}}}}};
  ExpectComposed(source, draft, Compose(source, draft));
}

TEST(Compose, ScalarsAndEmptyTensors) {
  View source;
  source.leaves = {LeafOf({}), LeafOf({0, 4})};
  source.tensors = {{.name = "scalar", .dtype = DType::kF32, .shape = {}, .chunks = {Box{}}, .pieces = {Piece::Whole(0, {})}},
                    {.name = "empty", .dtype = DType::kF32, .shape = {0, 4}, .chunks = {Box::Whole({0, 4})}, .pieces = {Piece::Whole(1, {0, 4})}}};
  const Draft scalar{.name = "s", .dtype = DType::kF32, .shape = {}, .pieces = {Piece::Whole(0, {})}};
  const Draft empty{.name = "e", .dtype = DType::kF32, .shape = {0, 4}, .pieces = {Piece::Whole(1, {0, 4})}};
  ExpectComposed(source, scalar, Compose(source, scalar));
  ExpectComposed(source, empty, Compose(source, empty));
  EXPECT_EQ(Compose(source, empty).chunks.size(), 1u);
}

TEST(Compose, RefusesASecondRounding) {
  const View source = StackedSource();
  const Draft cast{.name = "c", .dtype = DType::kBF16, .shape = {3, 8, 5}, .pieces = {Piece::Whole(0, {3, 8, 5})}};
  try {
    Compose(source, cast);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "transform.compose_dtype");
  }
}

// Cuts a shape into two boxes along a random axis.
std::vector<Box> RandomCut(const Dims& shape, std::mt19937& random) {
  const size_t axis = random() % shape.size();
  if (shape[axis] < 2) return {Box::Whole(shape)};
  const uint64_t at = 1 + random() % (shape[axis] - 1);
  Box low = Box::Whole(shape), high = low;
  low.shape[axis] = at;
  high.offset[axis] = at;
  high.shape[axis] -= at;
  return {low, high};
}

// Pieces that tile `shape`, each reading a tensor of rank `source_rank` whose extents are `reach`, with random axes, steps and fixed indices.
std::vector<Piece> RandomPieces(const Dims& shape, size_t source_rank, uint64_t reach, uint32_t sources, std::mt19937& random) {
  std::vector<Piece> out;
  for (const Box& target : RandomCut(shape, random)) {
    Piece piece{.target = target, .leaf = static_cast<uint32_t>(random() % sources), .source_offset = {}, .axes = {}};
    for (size_t d = 0; d < source_rank; ++d) {
      SourceAxis axis = kFixed;
      if (random() % 4 != 0) axis = {static_cast<int32_t>(random() % shape.size()), 1 + random() % 2};
      const uint64_t extent = axis.result_axis == SourceAxis::kFixed ? 1 : (target.shape[static_cast<size_t>(axis.result_axis)] - 1) * axis.step + 1;
      piece.source_offset.push_back(random() % (reach - extent + 1));
      piece.axes.push_back(axis);
    }
    out.push_back(std::move(piece));
  }
  return out;
}

TEST(Compose, RandomViewsMatchTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    constexpr uint64_t kMiddle = 7, kLeaf = 14;  // a step of 2 over 4 or 7 indices stays inside
    View source;
    source.leaves = {LeafOf({kLeaf, kLeaf}), LeafOf({kLeaf, kLeaf})};
    for (int t = 0; t < 2; ++t) {
      const Dims shape(2 + random() % 2, kMiddle);
      auto chunks = RandomCut(shape, random);
      std::sort(chunks.begin(), chunks.end());
      source.tensors.push_back({.name = Cat("t", t), .dtype = DType::kF32, .shape = shape, .chunks = chunks, .pieces = RandomPieces(shape, 2, kLeaf, 2, random)});
    }
    source.tensors[1].shape = source.tensors[0].shape;  // one rank for both, so that a draft may read either
    source.tensors[1].chunks = source.tensors[0].chunks;
    source.tensors[1].pieces = RandomPieces(source.tensors[0].shape, 2, kLeaf, 2, random);
    CheckView(source);
    const Dims shape = {3, 4};
    const Draft draft{.name = "d", .dtype = DType::kF32, .shape = shape, .pieces = RandomPieces(shape, source.tensors[0].shape.size(), kMiddle, 2, random)};
    ExpectComposed(source, draft, Compose(source, draft));
    if (HasFailure()) FAIL() << "round " << round;
  }
}

TEST(ChunksByRows, CutsOnlyWhatIsLarge) {
  EXPECT_EQ(ChunksByRows({4, 3}, DType::kF32, 48).size(), 1u);
  EXPECT_EQ(ChunksByRows({4, 3}, DType::kF32, 47), (std::vector<Box>{{{0, 0}, {3, 3}}, {{3, 0}, {1, 3}}}));
  EXPECT_EQ(ChunksByRows({4, 3}, DType::kF32, 1).size(), 4u);
  EXPECT_EQ(ChunksByRows({}, DType::kF32, 1).size(), 1u);
  EXPECT_EQ(ChunksByRows({0, 3}, DType::kF32, 1).size(), 1u);
}

}  // namespace
}  // namespace ck::transform
