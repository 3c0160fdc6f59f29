#include "libs/checkpoint/iteration.h"

#include "gtest/gtest.h"

namespace ck::checkpoint {
namespace {

TEST(Iteration, FromName) {
  struct Case {
    const char* name;
    std::optional<uint64_t> number;
  };
  const Case cases[] = {
      {"iter_0001000", 1000},
      {"iter_12", 12},
      {"iter_12345678", 12345678},
      {"iter_0000000", 0},
      {"iter_9223372036854775807", 9223372036854775807u},
      {"iter_9223372036854775808", {}},  // does not fit 63 bits
      {"iter_", {}},
      {"iter_1a", {}},
      {"iter_100.bak", {}},
      {"iter_-1", {}},
      {"iter_+1", {}},
      {"iter_ 1", {}},
      {"Iter_1", {}},
      {"xiter_1", {}},
      {"", {}},
      {"1000", {}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(IterationFromName(c.name).number, c.number) << c.name;
    EXPECT_FALSE(IterationFromName(c.name).release) << c.name;
  }
  EXPECT_TRUE(IterationFromName("release").release);
  EXPECT_FALSE(IterationFromName("release2").known());
}

TEST(Iteration, NamesAreSevenDigitsOrMore) {
  EXPECT_EQ(DirectoryName({.number = 12, .release = false}), "iter_0000012");
  EXPECT_EQ(DirectoryName({.number = 12345678, .release = false}), "iter_12345678");
  EXPECT_EQ(DirectoryName({.number = {}, .release = true}), "release");
}

TEST(Iteration, MarkerContent) {
  struct Case {
    const char* content;
    std::optional<uint64_t> number;
  };
  const Case good[] = {{"10", 10}, {"10\n", 10}, {" 10 ", 10}, {"10\r\n", 10}, {"0000010", 10}, {"0", 0}};
  for (const Case& c : good) {
    const auto marker = ParseMarker(c.content);
    ASSERT_TRUE(marker) << c.content;
    EXPECT_EQ(marker->number, c.number) << c.content;
  }
  for (const char* release : {"release", "release\n", " release\r\n"}) {
    ASSERT_TRUE(ParseMarker(release)) << release;
    EXPECT_TRUE(ParseMarker(release)->release) << release;
  }
  for (const char* bad : {"", "\n", "-1", "+1", "10.0", "1e3", "1 0", "10x", "Release",
                          "\xEF\xBB\xBF"
                          "10",
                          "99999999999999999999"}) {
    EXPECT_FALSE(ParseMarker(bad)) << bad;
  }
}

}  // namespace
}  // namespace ck::checkpoint
