#include "libs/huggingface/rows.h"

#include <string>

#include "gtest/gtest.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

// The source row of each target row in turn: "0 1 2 3".
std::string Sources(const std::vector<RowRange>& ranges) {
  std::vector<std::string> out;
  for (const RowRange& range : ranges) {
    EXPECT_EQ(range.target, out.size()) << "target rows follow each other";
    for (uint64_t r = 0; r < range.rows; ++r) out.push_back(Cat(range.source + r));
  }
  return Join(out, " ");
}

// Worked out by hand from the layout: [q.. k v] per group.
TEST(Rows, QueryKeyValue) {
  struct Case {
    Heads heads;
    std::string query, key, value;
  };
  const Case cases[] = {
      {{4, 2, 2}, "0 1 2 3 8 9 10 11", "4 5 12 13", "6 7 14 15"},
      {{2, 2, 1}, "0 3", "1 4", "2 5"},      // one group per head
      {{4, 1, 1}, "0 1 2 3", "4", "5"},      // one group
      {{3, 3, 2}, "0 1 6 7 12 13", "2 3 8 9 14 15", "4 5 10 11 16 17"},
      {{6, 2, 1}, "0 1 2 5 6 7", "3 8", "4 9"},
      {{1, 1, 3}, "0 1 2", "3 4 5", "6 7 8"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Sources(QueryRows(c.heads)), c.query) << c.heads.heads << " " << c.heads.groups << " " << c.heads.head_dim;
    EXPECT_EQ(Sources(KeyRows(c.heads)), c.key);
    EXPECT_EQ(Sources(ValueRows(c.heads)), c.value);
  }
}

TEST(Rows, QueryKeyValueOneAfterTheOther) {
  EXPECT_EQ(Sources(QueryKeyValueRows({4, 2, 2})), "0 1 2 3 8 9 10 11 4 5 12 13 6 7 14 15");
  EXPECT_EQ(Sources(QueryKeyValueRows({4, 1, 1})), "0 1 2 3 4 5");  // one group: already so
  EXPECT_EQ(Sources(QueryKeyValueRows({2, 2, 1})), "0 3 1 4 2 5");
}

// [q.. gate.. k v] per group; the result has q and gate of each head side by side.
TEST(Rows, GatedQueries) {
  struct Case {
    Heads heads;
    std::string query, key, value;
  };
  const Case cases[] = {
      {{4, 2, 2}, "0 1 4 5 2 3 6 7 12 13 16 17 14 15 18 19", "8 9 20 21", "10 11 22 23"},
      {{2, 2, 1}, "0 1 4 5", "2 6", "3 7"},  // one group per head
      {{3, 1, 1}, "0 3 1 4 2 5", "6", "7"},  // one group
      {{1, 1, 2}, "0 1 2 3", "4 5", "6 7"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Sources(GatedQueryRows(c.heads)), c.query) << c.heads.heads << " " << c.heads.groups << " " << c.heads.head_dim;
    EXPECT_EQ(Sources(GatedKeyRows(c.heads)), c.key);
    EXPECT_EQ(Sources(GatedValueRows(c.heads)), c.value);
  }
}

TEST(Rows, DeltaNet) {
  // 2 key heads of 2, 4 value heads of 1: query is rows 0-3, key 4-7, value 8-11, z 12-15; beta 0-3, alpha 4-7.
  EXPECT_EQ(Sources(DeltaProjectionRows({2, 2, 4, 1})), "0 1 4 5 8 9 12 13 2 3 6 7 10 11 14 15");
  EXPECT_EQ(Sources(DeltaGateRows({2, 2, 4, 1})), "0 1 4 5 2 3 6 7");
  // 2 key heads of 1, 2 value heads of 3: query 0-1, key 2-3, value 4-9, z 10-15.
  EXPECT_EQ(Sources(DeltaProjectionRows({2, 1, 2, 3})), "0 2 4 5 6 10 11 12 1 3 7 8 9 13 14 15");
  EXPECT_EQ(Sources(DeltaGateRows({2, 1, 2, 3})), "0 2 1 3");
  EXPECT_EQ(Sources(DeltaProjectionRows({1, 2, 3, 1})), "0 1 2 3 4 5 6 7 8 9");  // one key head: nothing moves
}

TEST(Rows, HalvesAndPadding) {
  EXPECT_EQ(Sources(RowsFrom(0, 3)), "0 1 2");
  EXPECT_EQ(Sources(RowsFrom(3, 3)), "3 4 5");
}

}  // namespace
}  // namespace ck::huggingface
