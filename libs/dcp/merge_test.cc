#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/dcp/metadata.h"

namespace ck::dcp {
namespace {

// What one rank wrote to its own file: a row of 'w', its copy of the replicated 'r', and the object 'o'.
Metadata RankLocal(uint64_t rank, const std::string& file) {
  Metadata metadata;
  metadata.files = {file};
  metadata.tensors = {{"r", DType::kF32, {7}, {{{{0}, {7}}, {0, 100 + rank, 9}}}},
                      {"w", DType::kBF16, {2, 3}, {{{{rank, 0}, {1, 3}}, {0, 200 + rank, 8}}}}};
  metadata.objects = {{"o", {0, 300 + rank, 5}}};
  metadata.planner_data = {{"w", {std::string("w")}}};
  metadata.version = "1.0.0";
  return metadata;
}

std::string Fault(const std::vector<Metadata>& ranks) {
  try {
    MergeRankLocal(ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id();
  }
  return "";
}

TEST(MergeRankLocal, UnitesChunksAndKeepsTheFirstCopy) {
  Metadata first = RankLocal(0, "__0_0.distcp");
  Metadata second = RankLocal(1, "__1_0.distcp");
  first.planner_data->emplace("r", Path{std::string("r")});
  second.planner_data->emplace("o", Path{int64_t{1}});
  second.transforms = {{{0, 101}, {"dropped"}}, {{0, 201}, {"kept"}}};
  second.original_shapes = {{"w", {6}}};
  Metadata expected = first;
  expected.files = {"__0_0.distcp", "__1_0.distcp"};
  expected.tensors[1].chunks.push_back({{{1, 0}, {1, 3}}, {1, 201, 8}});
  expected.planner_data->emplace("o", Path{int64_t{1}});
  expected.transforms = {{{1, 201}, {"kept"}}};
  expected.original_shapes = {{"w", {6}}};
  expected.notes = {"2 items are stored by several ranks; the first rank's are used"};
  EXPECT_EQ(MergeRankLocal({first, second}), expected);
}

TEST(MergeRankLocal, SortsWhatRanksBring) {
  Metadata first = RankLocal(1, "b");
  Metadata second;
  second.files = {"a"};
  second.tensors = {{"a", DType::kI8, {}, {{{{}, {}}, {0, 1, 2}}}}};
  const Metadata merged = MergeRankLocal({first, second});
  EXPECT_EQ(merged.files, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(merged.tensors.size(), 3U);
  EXPECT_EQ(merged.tensors[0], (Tensor{"a", DType::kI8, {}, {{{{}, {}}, {0, 1, 2}}}}));
  EXPECT_EQ(merged.tensors[1].chunks[0].item, (Item{1, 101, 9}));
}

TEST(MergeRankLocal, DropsFilesThatNothingNeedsAnyMore) {
  Metadata first = RankLocal(0, "a");
  Metadata second = RankLocal(0, "b");
  EXPECT_EQ(MergeRankLocal({first, second}).files, (std::vector<std::string>{"a"}));
}

TEST(MergeRankLocal, EmptyChunksNeedNoItem) {
  Metadata first, second;
  first.files = {"a"};
  first.tensors = {{"w", DType::kI8, {3}, {{{{0}, {3}}, {0, 0, 9}}}}};
  second.tensors = {{"w", DType::kI8, {3}, {{{{3}, {0}}, {0, 0, 0}}}}};
  EXPECT_EQ(MergeRankLocal({second, first}).tensors.at(0).chunks,
            (std::vector<Chunk>{{{{0}, {3}}, {0, 0, 9}}, {{{3}, {0}}, {0, 0, 0}}}));
}

TEST(MergeRankLocal, RefusesRanksThatDisagree) {
  const Metadata first = RankLocal(0, "a");
  const auto with = [](auto change) {
    Metadata second = RankLocal(1, "b");
    change(second);
    return second;
  };
  EXPECT_EQ(Fault({first, with([](Metadata& m) { m.tensors[1].dtype = DType::kF16; })}), "dcp.bad_metadata");
  EXPECT_EQ(Fault({first, with([](Metadata& m) { m.tensors[1].shape = {4, 3}; })}), "dcp.bad_metadata");
  EXPECT_EQ(Fault({first, with([](Metadata& m) { m.tensors[0].name = "o"; })}), "dcp.bad_metadata");
  EXPECT_EQ(Fault({first, with([](Metadata& m) { m.objects[0].name = "w"; })}), "dcp.bad_metadata");
  EXPECT_EQ(Fault({first, with([](Metadata& m) { m.planner_data->at("w") = {int64_t{0}}; })}), "dcp.bad_metadata");
  EXPECT_EQ(Fault({first, with([](Metadata& m) { m.tensors[1].chunks[0].box = {{0, 0}, {2, 3}}; })}), "dcp.duplicate_item");
}

TEST(MergeRankLocal, OfNothingIsEmpty) { EXPECT_EQ(MergeRankLocal({}), Metadata()); }

}  // namespace
}  // namespace ck::dcp
