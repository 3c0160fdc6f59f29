#include "libs/run/fill.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/kernels/fill.h"
#include "libs/run/sources.h"
#include "libs/run/tile.h"

namespace ck::run {
namespace {

using transform::Arithmetic;
using transform::Fill;
using transform::Leaf;
using transform::Piece;
using transform::SourceAxis;
using transform::Tensor;
using transform::View;

constexpr SourceAxis kFixed{SourceAxis::kFixed, 1};

Leaf FillLeaf(const std::string& name, const Dims& shape, const Fill& fill) {
  return {.name = name, .dtype = DType::kF32, .shape = shape, .arithmetic = Arithmetic::kFill, .terms = {}, .fill = fill};
}

std::vector<float> Elements(const Leaf& leaf, uint64_t first, uint64_t step, uint64_t count) {
  std::vector<float> out(count);
  FillElements(leaf, first, step, count, reinterpret_cast<char*>(out.data()));
  return out;
}

TEST(FillElements, EachKindHasItsDistribution) {
  const Fill uniform{.kind = Fill::Kind::kUniform, .low = -2, .high = 3, .seed = 5};
  const Fill log_uniform{.kind = Fill::Kind::kLogUniform, .low = 1, .high = 16, .seed = 5};
  const Fill dt{.kind = Fill::Kind::kInverseSoftplus, .low = 1e-3, .high = 1e-1, .floor = 1e-4, .seed = 5};
  const uint64_t stream = kernels::StreamOf("t");
  for (const float value : Elements(FillLeaf("t", {100}, {.kind = Fill::Kind::kConstant, .low = 1}), 0, 1, 100)) EXPECT_EQ(value, 1.0f);
  const auto uniforms = Elements(FillLeaf("t", {100}, uniform), 0, 1, 100), logs = Elements(FillLeaf("t", {100}, log_uniform), 0, 1, 100),
             dts = Elements(FillLeaf("t", {100}, dt), 0, 1, 100);
  for (uint64_t i = 0; i < 100; ++i) {
    const double u = kernels::UniformAt(5, stream, i);
    EXPECT_FLOAT_EQ(uniforms[i], static_cast<float>(-2 + 5 * u));
    EXPECT_FLOAT_EQ(logs[i], static_cast<float>(std::log(1 + 15 * u)));
    EXPECT_GE(logs[i], 0.0f);
    EXPECT_LE(logs[i], static_cast<float>(std::log(16.0)));
    const double softplus = std::log1p(std::exp(static_cast<double>(dts[i])));
    EXPECT_NEAR(std::log(softplus), std::log(1e-3) + u * std::log(100.0), 1e-5);
  }
}

TEST(FillElements, TheFloorHolds) {
  const Fill dt{.kind = Fill::Kind::kInverseSoftplus, .low = 1e-6, .high = 1e-5, .floor = 1e-4, .seed = 1};
  for (const float value : Elements(FillLeaf("t", {50}, dt), 0, 1, 50)) EXPECT_NEAR(std::log1p(std::exp(static_cast<double>(value))), 1e-4, 1e-9);
}

TEST(FillElements, AnElementDependsOnSeedNameAndIndexAlone) {
  const Fill fill{.kind = Fill::Kind::kUniform, .low = 0, .high = 1, .seed = 1};
  const auto whole = Elements(FillLeaf("a", {64}, fill), 0, 1, 64);
  for (uint64_t i = 0; i < 64; ++i) EXPECT_EQ(Elements(FillLeaf("a", {64}, fill), i, 1, 1)[0], whole[i]);
  const auto stepped = Elements(FillLeaf("a", {64}, fill), 3, 5, 12);
  for (uint64_t i = 0; i < 12; ++i) EXPECT_EQ(stepped[i], whole[3 + 5 * i]);
  Fill other = fill;
  other.seed = 2;
  EXPECT_NE(Elements(FillLeaf("a", {64}, other), 0, 1, 64), whole);
  EXPECT_NE(Elements(FillLeaf("b", {64}, fill), 0, 1, 64), whole);
}

// A result of fills under affine maps, in tiles of every size: each element is the leaf's at the mapped index.
TEST(ComputeTile, FillsUnderAffineMaps) {
  const Fill fill{.kind = Fill::Kind::kUniform, .low = 0, .high = 1, .seed = 9};
  View view;
  view.leaves = {FillLeaf("a", {4, 6}, fill), FillLeaf("b", {3, 2, 6}, fill)};
  // Rows 0 and 1 transposed from a, rows 2 to 4 from b with fixed and stepped indices.
  const Tensor tensor{.name = "t", .dtype = DType::kF32, .shape = {5, 3}, .chunks = {Box::Whole({5, 3})},
                      .pieces = {{.target = {{0, 0}, {2, 3}}, .leaf = 0, .source_offset = {1, 2}, .axes = {{1, 1}, {0, 2}}},
                                 {.target = {{2, 0}, {3, 3}}, .leaf = 1, .source_offset = {0, 1, 0}, .axes = {{0, 1}, kFixed, {1, 2}}}}};
  view.tensors = {tensor};
  transform::CheckView(view);
  const auto a = Elements(view.leaves[0], 0, 1, 24), b = Elements(view.leaves[1], 0, 1, 36);
  const SourceFinder finder(view);
  const Box chunk = Box::Whole(tensor.shape);
  const ChunkSources sources = finder.Find(tensor, chunk);
  for (uint64_t step = 1; step <= 15; ++step) {
    std::vector<float> out(15, -1);
    TileScratch scratch;
    for (uint64_t begin = 0; begin < 15; begin += step) {
      ComputeTile(tensor, chunk, sources, begin, std::min<uint64_t>(15, begin + step), scratch, reinterpret_cast<char*>(out.data() + begin));
    }
    for (uint64_t row = 0; row < 5; ++row) {
      for (uint64_t column = 0; column < 3; ++column) {
        const float expected = row < 2 ? a[(1 + column) * 6 + 2 + 2 * row] : b[((row - 2) * 2 + 1) * 6 + 2 * column];
        EXPECT_EQ(out[row * 3 + column], expected) << "tile of " << step << ", " << row << ", " << column;
      }
    }
  }
}

}  // namespace
}  // namespace ck::run
