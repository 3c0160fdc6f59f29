#include "libs/pickle/int_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace ck::pickle {
namespace {

struct Case {
  std::string decimal;
  std::string bytes;
};

const Case kCases[] = {
    {"0", ""},
    {"1", "\x01"},
    {"-1", "\xff"},
    {"127", "\x7f"},
    {"128", std::string("\x80\0", 2)},
    {"-128", "\x80"},
    {"-129", "\x7f\xff"},
    {"255", std::string("\xff\0", 2)},
    {"2147483648", std::string("\0\0\0\x80\0", 5)},
    {"1000000000", std::string("\0\xca\x9a\x3b", 4)},
    {"1000000000000000000", std::string("\0\0\x64\xa7\xb3\xb6\xe0\x0d", 8)},
    {"-9223372036854775808", std::string("\0\0\0\0\0\0\0\x80", 8)},
    {"9223372036854775808", std::string("\0\0\0\0\0\0\0\x80\0", 9)},
    {"119547037146038801333356", "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"},  // the magic number of old torch files
};

TEST(IntTextTest, BothWays) {
  for (const Case& test : kCases) {
    EXPECT_EQ(DecimalText(test.bytes), test.decimal);
    EXPECT_EQ(TwosComplement(test.decimal), test.bytes) << test.decimal;
    EXPECT_EQ(Shortest(test.bytes), test.bytes) << test.decimal;
    const char sign = test.decimal[0] == '-' ? '\xff' : '\0';
    EXPECT_EQ(Shortest(test.bytes + std::string(3, sign)), test.bytes) << test.decimal;
  }
}

TEST(IntTextTest, Int64) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{300}, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(ToInt64(FromInt64(value)), value);
    EXPECT_EQ(DecimalText(FromInt64(value)), std::to_string(value));
  }
  EXPECT_EQ(ToInt64(std::string("\0\0\0\0\0\0\0\x80\0", 9)), std::nullopt);
}

TEST(IntTextTest, TextThatIsNoInteger) {
  for (const std::string text : {"", "-", "+", "1x", " 1", "0x10", "--1"})
    EXPECT_EQ(TwosComplement(text), std::nullopt) << text;
  EXPECT_EQ(TwosComplement("+5"), "\x05");
}

}  // namespace
}  // namespace ck::pickle
