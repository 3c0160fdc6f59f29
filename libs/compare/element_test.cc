#include "libs/compare/element.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"

namespace ck::compare {
namespace {

TEST(Element, ReadsEveryNumberType) {
  struct Case {
    DType dtype;
    std::string bytes;  // little-endian
    double value;
    std::string text;
  };
  using namespace std::string_literals;
  const Case cases[] = {
      {DType::kBool, "\x01"s, 1, "1"},
      {DType::kU8, "\xFF"s, 255, "255"},
      {DType::kI8, "\xFE"s, -2, "-2"},
      {DType::kU16, "\x34\x12"s, 0x1234, "4660"},
      {DType::kI16, "\xFF\xFF"s, -1, "-1"},
      {DType::kU32, "\xFF\xFF\xFF\xFF"s, 4294967295.0, "4294967295"},
      {DType::kI32, "\xFD\xFF\xFF\xFF"s, -3, "-3"},
      {DType::kU64, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, 18446744073709551616.0, "18446744073709551615"},
      {DType::kI64, "\xFC\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, -4, "-4"},
      {DType::kBF16, "\xC0\x3F"s, 1.5, "1.5"},
      {DType::kF16, "\x00\x3E"s, 1.5, "1.5"},
      {DType::kF32, "\x00\x00\xC0\xBF"s, -1.5, "-1.5"},
      {DType::kF64, "\x00\x00\x00\x00\x00\x00\xF8\x3F"s, 1.5, "1.5"},
  };
  for (const Case& c : cases) {
    ASSERT_EQ(c.bytes.size(), ElementSize(c.dtype)) << Name(c.dtype);
    EXPECT_EQ(ElementValue(c.dtype, c.bytes.data()), c.value) << Name(c.dtype);
    EXPECT_EQ(ElementText(c.dtype, c.bytes.data()), c.text) << Name(c.dtype);
  }
}

TEST(Element, ShowsTheBitsOfOthers) {
  EXPECT_EQ(ElementValue(DType::kF8E4M3, "\x3A"), std::nullopt);
  EXPECT_EQ(ElementText(DType::kF8E4M3, "\x3A"), "0x3a");
  EXPECT_EQ(ElementText(DType::kC32, "\x01\x02\x03\x04"), "0x04030201");
}

}  // namespace
}  // namespace ck::compare
