#include "libs/tensor/box.h"

#include <limits>

#include "gtest/gtest.h"

namespace ck {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Box, VolumeFitsOrIsAbsent) {
  const struct {
    Dims shape;
    std::optional<uint64_t> volume;
  } kCases[] = {
      {{}, 1},
      {{0}, 0},
      {{2, 3, 5}, 30},
      {{kMax}, kMax},
      {{kMax, 2}, std::nullopt},
      {{uint64_t{1} << 33, uint64_t{1} << 33}, std::nullopt},
      {{kMax, kMax, 0}, 0},
  };
  for (const auto& c : kCases) EXPECT_EQ(Volume(c.shape), c.volume);
}

TEST(Box, StridesAreThoseOfTorch) {
  EXPECT_EQ(RowMajorStrides({}), Dims{});
  EXPECT_EQ(RowMajorStrides({7}), Dims{1});
  EXPECT_EQ(RowMajorStrides({2, 3, 5}), (Dims{15, 5, 1}));
  EXPECT_EQ(RowMajorStrides({2, 0, 4}), (Dims{4, 4, 1}));
  EXPECT_EQ(RowMajorStrides({4, 0}), (Dims{1, 1}));
}

TEST(Box, EmptyMeansSomeDimensionIsZero) {
  EXPECT_FALSE((Box{{}, {}}.IsEmpty()));
  EXPECT_FALSE((Box{{0, 0}, {1, 2}}.IsEmpty()));
  EXPECT_TRUE((Box{{0, 0}, {1, 0}}.IsEmpty()));
}

TEST(Box, Format) {
  EXPECT_EQ(FormatBox({{1, 0}, {1, 40}}), "[1, 0] + [1, 40]");
}

TEST(Box, ContainsNeverOverflows) {
  const struct {
    Box outer, inner;
    bool inside;
  } kCases[] = {
      {{{}, {}}, {{}, {}}, true},
      {{{0, 0}, {4, 5}}, {{1, 2}, {3, 3}}, true},
      {{{0, 0}, {4, 5}}, {{1, 2}, {3, 4}}, false},
      {{{1, 0}, {4, 5}}, {{0, 2}, {3, 3}}, false},
      {{{0}, {4}}, {{4}, {0}}, true},
      {{{0}, {4}}, {{5}, {0}}, false},
      {{{0}, {kMax}}, {{kMax - 1}, {1}}, true},
      {{{0}, {kMax}}, {{kMax}, {2}}, false},
      {{{0}, {4}}, {{0, 0}, {1, 1}}, false},
      {{{0}, {4}}, {{0}, {1, 1}}, false},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(Contains(c.outer, c.inner), c.inside) << FormatBox(c.inner) << " in " << FormatBox(c.outer);
}

TEST(Box, IntersectIsTheCommonPart) {
  EXPECT_EQ(Intersect({{0, 0}, {3, 5}}, {{1, 4}, {7, 7}}), (Box{{1, 4}, {2, 1}}));
  EXPECT_EQ(Intersect({{0, 0}, {3, 5}}, {{3, 0}, {1, 5}}), std::nullopt) << "a shared face is no common part";
  EXPECT_EQ(Intersect({{0}, {3}}, {{1}, {0}}), std::nullopt);
  EXPECT_EQ(Intersect({{}, {}}, {{}, {}}), (Box{{}, {}}));
}

}  // namespace
}  // namespace ck
