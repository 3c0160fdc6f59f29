#include "libs/pickle/literal.h"

#include <gtest/gtest.h>

namespace ck::pickle {
namespace {

TEST(LiteralTest, Utf8OfEveryLength) {
  for (const uint32_t code_point :
       {0x0u, 0x7Fu, 0x80u, 0x7FFu, 0x800u, 0xD800u, 0xDFFFu, 0xFFFFu, 0x10000u, 0x10FFFFu}) {
    std::string text;
    AppendCodePoint(text, code_point);
    EXPECT_TRUE(IsPythonUtf8(text)) << code_point;
    EXPECT_TRUE(IsPythonUtf8("12345678" + text + "12345678")) << code_point;
    size_t position = 0;
    EXPECT_EQ(NextCodePoint(text, position), code_point);
    EXPECT_EQ(position, text.size());
    EXPECT_EQ(IsPythonUtf8(text.substr(0, text.size() - 1)), text.size() == 1) << code_point;
  }
}

TEST(LiteralTest, NotUtf8) {
  for (const char* text : {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                           "\xf8\x88\x80\x80\x80", "\xc3(", "abcdefg\xff"}) {
    EXPECT_FALSE(IsPythonUtf8(text)) << text;
  }
}

TEST(LiteralTest, Strings) {
  EXPECT_EQ(UnescapeString(R"('')"), "");
  EXPECT_EQ(UnescapeString(R"("it's")"), "it's");
  EXPECT_EQ(UnescapeString(R"('\\\'\"\a\b\f\n\r\t\v')"), "\\'\"\a\b\f\n\r\t\v");
  EXPECT_EQ(UnescapeString(R"('\0\07\1234')"), std::string("\0\7S4", 4));
  EXPECT_EQ(UnescapeString(R"('\xfFz')"), "\xffz");
  for (const char* bad : {"", "'", "a", "'a\"", R"('\')", R"('\x')", R"('\xg0')"})
    EXPECT_EQ(UnescapeString(bad), std::nullopt) << bad;
}

TEST(LiteralTest, Unicode) {
  EXPECT_EQ(UnescapeUnicode("a\\u00e9\\U0001F600\xe9\\x"), "a\xc3\xa9\xf0\x9f\x98\x80\xc3\xa9\\x");
  for (const char* bad : {"\\u", "\\u12g4", "\\U00110000", "\\U0001F60"})
    EXPECT_EQ(UnescapeUnicode(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace ck::pickle
