#include <algorithm>
#include <map>
#include <random>

#include "gtest/gtest.h"
#include "libs/tensor/box.h"

namespace ck {
namespace {

using Kind = CoverageFault::Kind;

std::string Describe(const std::vector<CoverageFault>& faults) {
  const std::map<Kind, std::string> kNames = {
      {Kind::kRank, "rank "}, {Kind::kOutOfRange, "range "}, {Kind::kOverlap, "overlap "}, {Kind::kHole, "hole "}};
  std::string out;
  for (const CoverageFault& fault : faults) {
    out += kNames.at(fault.kind);
    if (fault.kind != Kind::kHole) out += std::to_string(fault.chunk) + " ";
    if (fault.kind == Kind::kOverlap) out += std::to_string(fault.other_chunk) + " ";
    out += FormatBox(fault.where) + "; ";
  }
  return out;
}

TEST(Coverage, NamesWhatIsWrong) {
  constexpr uint64_t kHuge = uint64_t{1} << 33;
  constexpr uint64_t kMax = ~uint64_t{0};
  const struct {
    const char* what;
    Dims shape;
    std::vector<Box> chunks;
    const char* faults;
  } kCases[] = {
      {"one chunk", {3, 5}, {{{0, 0}, {3, 5}}}, ""},
      {"a scalar", {}, {{{}, {}}}, ""},
      {"a scalar without chunk", {}, {}, "hole [] + []; "},
      {"a scalar twice", {}, {{{}, {}}, {{}, {}}}, "overlap 0 1 [] + []; "},
      {"an empty tensor needs no chunk", {0, 4}, {}, ""},
      {"an empty tensor with its chunk", {0, 4}, {{{0, 0}, {0, 4}}}, ""},
      {"an empty chunk out of range", {2, 4}, {{{0, 0}, {2, 4}}, {{3, 0}, {0, 4}}}, "range 1 [3, 0] + [0, 4]; "},
      {"empty chunks count for nothing", {1, 2}, {{{0, 0}, {1, 2}}, {{1, 0}, {0, 2}}, {{1, 0}, {0, 2}}}, ""},
      {"nothing", {3, 5}, {}, "hole [0, 0] + [3, 5]; "},
      {"overlap and hole",
       {4, 4},
       {{{0, 0}, {2, 4}}, {{1, 0}, {2, 4}}},
       "overlap 0 1 [1, 0] + [1, 4]; hole [3, 0] + [1, 4]; "},
      {"same volume, wrong place", {4}, {{{0}, {2}}, {{0}, {2}}}, "overlap 0 1 [0] + [2]; hole [2] + [2]; "},
      {"inner hole", {6}, {{{0}, {2}}, {{4}, {2}}}, "hole [2] + [2]; "},
      {"hole at the start", {6}, {{{1}, {5}}}, "hole [0] + [1]; "},
      {"one past the end", {4, 4}, {{{0, 0}, {4, 4}}, {{0, 1}, {4, 4}}}, "range 1 [0, 1] + [4, 4]; "},
      {"wrong rank", {4, 4}, {{{0}, {4}}, {{0, 0}, {4}}}, "rank 0 [0] + [4]; rank 1 [0, 0] + [4]; "},
      {"beyond 2^64 elements", {kHuge, kHuge}, {{{0, 0}, {kHuge, kHuge}}}, ""},
      {"beyond 2^64 elements, a row missing",
       {kHuge, kHuge},
       {{{0, 0}, {kHuge - 1, kHuge}}},
       "hole [8589934591, 0] + [1, 8589934592]; "},
      {"sum wraps", {kMax}, {{{kMax - 1}, {3}}}, "range 0 [18446744073709551614] + [3]; "},
      {"the longest dimension", {kMax}, {{{0}, {kMax - 1}}, {{kMax - 1}, {1}}}, ""},
      {"pinwheel",
       {3, 3},
       {{{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}, {{1, 1}, {1, 1}}},
       ""},
      {"pinwheel without its centre",
       {3, 3},
       {{{0, 0}, {1, 2}}, {{0, 2}, {2, 1}}, {{2, 1}, {1, 2}}, {{1, 0}, {2, 1}}},
       "hole [1, 1] + [1, 1]; "},
  };
  for (const auto& c : kCases) EXPECT_EQ(Describe(CheckCoverage(c.shape, c.chunks)), c.faults) << c.what;
}

TEST(Coverage, StopsAtTheLimit) {
  const std::vector<Box> copies(100, Box{{0}, {5}});
  EXPECT_EQ(CheckCoverage({5}, copies, 7).size(), 7u);
  EXPECT_EQ(CheckCoverage({5}, copies).size(), 16u);
  std::vector<Box> nested;
  for (uint64_t i = 0; i < 50'000; ++i) nested.push_back({{i}, {100'000 - 2 * i}});
  EXPECT_EQ(CheckCoverage({100'000}, nested, 3).size(), 3u);
}

// Counts every element of a small tensor.
std::pair<bool, bool> CountByElement(const Dims& shape, const std::vector<Box>& chunks) {
  std::vector<int> hits(shape[0] * shape[1] * shape[2]);
  for (const Box& box : chunks) {
    for (uint64_t x = box.offset[0]; x < box.offset[0] + box.shape[0]; ++x) {
      for (uint64_t y = box.offset[1]; y < box.offset[1] + box.shape[1]; ++y) {
        for (uint64_t z = box.offset[2]; z < box.offset[2] + box.shape[2]; ++z)
          ++hits[(x * shape[1] + y) * shape[2] + z];
      }
    }
  }
  const bool hole = std::find(hits.begin(), hits.end(), 0) != hits.end();
  const bool overlap = std::any_of(hits.begin(), hits.end(), [](int n) { return n > 1; });
  return {hole, overlap};
}

// Cuts a box at random into chunks that tile it.
std::vector<Box> RandomTiling(const Dims& shape, std::mt19937& random) {
  std::vector<Box> tiles = {Box::Whole(shape)};
  for (int cut = 0; cut < 6; ++cut) {
    Box& tile = tiles[random() % tiles.size()];
    const size_t d = random() % shape.size();
    if (tile.shape[d] < 2) continue;
    const uint64_t length = 1 + random() % (tile.shape[d] - 1);
    Box rest = tile;
    rest.offset[d] += length;
    rest.shape[d] -= length;
    tile.shape[d] = length;
    tiles.push_back(rest);
  }
  std::shuffle(tiles.begin(), tiles.end(), random);
  return tiles;
}

TEST(Coverage, AgreesWithCountingEveryElement) {
  std::mt19937 random(20240607);
  const Dims shape = {4, 5, 3};
  size_t faulty = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<Box> chunks = RandomTiling(shape, random);
    if (round % 3 == 1) {  // shift one chunk
      Box& box = chunks[random() % chunks.size()];
      const size_t d = random() % 3;
      if (box.offset[d] > 0) --box.offset[d];
    } else if (round % 3 == 2) {  // shrink one
      Box& box = chunks[random() % chunks.size()];
      --box.shape[random() % 3];
    }
    const auto [hole, overlap] = CountByElement(shape, chunks);
    faulty += hole || overlap;
    bool found_hole = false, found_overlap = false;
    for (const CoverageFault& fault : CheckCoverage(shape, chunks, 1000)) {
      if (fault.kind == Kind::kHole) {
        found_hole = true;
        for (const Box& box : chunks) EXPECT_FALSE(!box.IsEmpty() && Intersect(box, fault.where));
      } else {
        ASSERT_EQ(fault.kind, Kind::kOverlap);
        found_overlap = true;
        EXPECT_EQ(Intersect(chunks[fault.chunk], chunks[fault.other_chunk]), fault.where);
      }
    }
    EXPECT_EQ(found_hole, hole);
    EXPECT_EQ(found_overlap, overlap);
  }
  EXPECT_GT(faulty, 1000u) << "the rounds must exercise faults";
}

// Sizes at which comparing all pairs would take minutes.
TEST(Coverage, ManyTensorsOfA32By32Grid) {
  std::vector<Box> grid;
  for (uint64_t row = 0; row < 32; ++row) {
    for (uint64_t column = 0; column < 32; ++column) grid.push_back({{row * 3, column * 7}, {3, 7}});
  }
  std::mt19937 random(1);
  std::shuffle(grid.begin(), grid.end(), random);
  for (int tensor = 0; tensor < 200; ++tensor) ASSERT_EQ(Describe(CheckCoverage({96, 224}, grid)), "");
  grid.pop_back();
  EXPECT_EQ(CheckCoverage({96, 224}, grid).size(), 1u);
}

TEST(Coverage, ManyUnevenBuckets) {
  std::mt19937 random(2);
  std::vector<Box> buckets;
  uint64_t end = 0;
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t length = 1 + random() % 97;
    buckets.push_back({{end}, {length}});
    end += length;
  }
  std::shuffle(buckets.begin(), buckets.end(), random);
  EXPECT_EQ(Describe(CheckCoverage({end}, buckets)), "");
  EXPECT_EQ(Describe(CheckCoverage({end + 1}, buckets)), "hole [" + std::to_string(end) + "] + [1]; ");
}

TEST(Coverage, ManyUnevenRowsBesideTallColumns) {
  constexpr uint64_t kRows = 20'000, kColumns = 8'000;
  std::vector<Box> chunks;
  for (uint64_t column = 0; column < kColumns; ++column) chunks.push_back({{0, column}, {kRows, 1}});
  for (uint64_t row = 0; row < kRows; ++row) {
    const uint64_t cut = 1 + row % 17;
    chunks.push_back({{row, kColumns}, {1, cut}});
    chunks.push_back({{row, kColumns + cut}, {1, 20 - cut}});
  }
  EXPECT_EQ(Describe(CheckCoverage({kRows, kColumns + 20}, chunks)), "");
  chunks[kColumns + 2].shape[1] += 1;  // row 1 now reaches one element into its neighbour
  EXPECT_EQ(Describe(CheckCoverage({kRows, kColumns + 20}, chunks)), "overlap 8002 8003 [1, 8002] + [1, 1]; ");
}

}  // namespace
}  // namespace ck
