#include "libs/megatron/shards.h"

#include <numeric>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"

namespace ck::megatron {
namespace {

using Shards = std::vector<uint64_t>;

std::string RefusalId(uint64_t layers, uint64_t stages) {
  try {
    PipelineShards(layers, stages);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id();
  }
}

TEST(PipelineShards, KnownSplits) {
  EXPECT_EQ(PipelineShards(32, 4), (Shards{8, 8, 8, 8}));
  EXPECT_EQ(PipelineShards(25, 4), (Shards{5, 7, 7, 6}));
  EXPECT_EQ(PipelineShards(61, 16), (Shards{2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(PipelineShards(7, 1), (Shards{7}));
  EXPECT_EQ(PipelineShards(7, 2), (Shards{3, 4}));
  EXPECT_EQ(PipelineShards(1, 2), (Shards{0, 1}));
  EXPECT_EQ(PipelineShards(3, 3), (Shards{1, 1, 1}));
}

TEST(PipelineShards, RefusesWhatTheRuleCannotSplit) {
  EXPECT_EQ(RefusalId(3, 4), "shards.no_split");
  EXPECT_EQ(RefusalId(5, 4), "shards.no_split");
  EXPECT_EQ(RefusalId(0, 3), "shards.no_split");
  EXPECT_EQ(RefusalId(8, 0), "shards.out_of_range");
  EXPECT_EQ(RefusalId(8, kMaxStages + 1), "shards.out_of_range");
  EXPECT_EQ(RefusalId(kMaxShardLayers + 1, 4), "shards.out_of_range");
}

// Against the rule as verl's code states it, for every small case.
TEST(PipelineShards, FollowsTheRule) {
  for (uint64_t layers = 1; layers <= 60; ++layers) {
    for (uint64_t stages = 3; stages <= 12; ++stages) {
      Shards expected;
      int64_t best = -1;
      const auto middle_stages = static_cast<int64_t>(stages) - 2;
      for (int64_t middle = 0; middle < static_cast<int64_t>(layers); ++middle) {
        const int64_t ends = static_cast<int64_t>(layers) - middle * middle_stages;
        const int64_t first = ends / 2, last = ends - ends / 2;
        if (!(0 < first && first <= middle && 0 < last && last <= middle)) continue;
        if (best >= 0 && middle - first >= best) continue;
        best = middle - first;
        expected.assign(stages, static_cast<uint64_t>(middle));
        expected.front() = static_cast<uint64_t>(first);
        expected.back() = static_cast<uint64_t>(last);
      }
      if (expected.empty()) {
        EXPECT_EQ(RefusalId(layers, stages), "shards.no_split") << layers << " over " << stages;
        continue;
      }
      EXPECT_EQ(PipelineShards(layers, stages), expected) << layers << " over " << stages;
      EXPECT_EQ(std::accumulate(expected.begin(), expected.end(), uint64_t{0}), layers);
    }
  }
}

}  // namespace
}  // namespace ck::megatron
