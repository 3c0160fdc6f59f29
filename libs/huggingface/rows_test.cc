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

TEST(Rows, HalvesAndPadding) {
  EXPECT_EQ(Sources(RowsFrom(0, 3)), "0 1 2");
  EXPECT_EQ(Sources(RowsFrom(3, 3)), "3 4 5");
}

}  // namespace
}  // namespace ck::huggingface
