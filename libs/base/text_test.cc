#include "libs/base/text.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace ck {
namespace {

TEST(Text, QuoteMakesAnyBytesOneSafeLine) {
  const struct {
    std::string_view text;
    const char* expected;
  } kCases[] = {
      {"plain", "'plain'"},
      {"a\nb", "'a\\x0ab'"},
      {"\x1b[31m", "'\\x1b[31m'"},
      {"\xed\xa0\x80", "'\\xed\\xa0\\x80'"},  // a lone surrogate is not UTF-8
      {"\xc3\xa4", "'\xc3\xa4'"},
      {std::string_view("\0", 1), "'\\x00'"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Quote(c.text), c.expected);
  EXPECT_EQ(Quote("abcdef", 3), "'abc...'");
}

TEST(Text, DoublesRoundTrip) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 3.0, 1e22}) {
    const auto parsed = ParseDouble(FormatDouble(value));
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(*parsed, value);
    EXPECT_EQ(std::signbit(*parsed), std::signbit(value));
  }
  EXPECT_EQ(FormatDouble(3), "3.0");
}

TEST(Text, ParseDoubleTakesTheWholeTextOrNothing) {
  for (const char* bad : {"", " 1", "1 ", "+1", "1,5", "0x1p3", "1e", "abc", "1.0.0"}) EXPECT_FALSE(ParseDouble(bad)) << bad;
  EXPECT_EQ(*ParseDouble("1e999"), HUGE_VAL);
  EXPECT_EQ(*ParseDouble("-1e999"), -HUGE_VAL);
  EXPECT_EQ(*ParseDouble("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(*ParseDouble("1" + std::string(400, '0') + "e-1"), HUGE_VAL);
  EXPECT_EQ(*ParseDouble("1" + std::string(800, '0') + ".5e-2000"), 0.0);
  EXPECT_EQ(*ParseDouble("0." + std::string(800, '0') + "1e+2000"), HUGE_VAL);
  EXPECT_EQ(*ParseDouble("1e-99999999999999999999"), 0.0);
  EXPECT_TRUE(std::signbit(*ParseDouble("-1e-999")));
  EXPECT_EQ(*ParseDouble("1e-999"), 0.0);
  EXPECT_TRUE(std::isnan(*ParseDouble("nan")));
}

TEST(Text, ParseIntegers) {
  EXPECT_EQ(*ParseInt64("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(ParseInt64("9223372036854775808"));
  EXPECT_EQ(*ParseUint64("18446744073709551615"), std::numeric_limits<uint64_t>::max());
  for (const char* bad : {"", "-1", "1x", " 1"}) EXPECT_FALSE(ParseUint64(bad)) << bad;
}

TEST(Text, Globs) {
  const struct {
    const char* pattern;
    const char* text;
    bool matches;
  } kCases[] = {
      {"*", "", true},         {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxbyy", false}, {"?", "", false},
      {"[a-c]x", "bx", true},  {"[!a-c]x", "bx", false},   {"[", "[", true},           {"*.weight", "a.b.weight", true},
      {"a**b", "ab", true},    {"[]]", "]", true},         {"abc", "abcd", false},
  };
  for (const auto& c : kCases) EXPECT_EQ(GlobMatch(c.pattern, c.text), c.matches) << c.pattern << " " << c.text;
}

TEST(Text, NearestWordSuggestsOnlyNearMisses) {
  EXPECT_EQ(NearestWord("--merge-stlye", {"--merge-style", "--output"}), "--merge-style");
  EXPECT_EQ(NearestWord("--zzz", {"--merge-style", "--output"}), "");
}

TEST(Text, Utf8PrefixEndsAtTheFirstBadByte) {
  for (const std::string_view sequence : {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (size_t before = 0; before < 20; ++before) {
      const std::string good = std::string(before, 'x') + std::string(sequence) + "tail of ASCII";
      EXPECT_TRUE(IsUtf8(good));
      EXPECT_EQ(Utf8PrefixLength(good + "\x80" + "more ASCII"), good.size());
      EXPECT_EQ(Utf8PrefixLength(std::string(before, 'x') + "\xff" + std::string(sequence)), before);
      if (sequence.size() == 1) continue;
      EXPECT_EQ(Utf8PrefixLength(good.substr(0, before + sequence.size() - 1)), before);
    }
  }
}

TEST(Text, Bytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{150} << 30), "150 GiB");
}

}  // namespace
}  // namespace ck
