#include "libs/cli/table.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/cli/plot.h"
#include "libs/cli/printable.h"

namespace ck::cli {
namespace {

TEST(Table, Aligns) {
  Table table({{"ITERATION", Align::kRight}, {"PATH"}, {"BYTES", Align::kRight}});
  table.AddRow({"1000", "a", "5"});
  table.AddRow({"20",
                "\xe6\xa8\xa1"
                "b",
                "1234567"});  // one wide character
  table.AddRow({"", "a\x1b[2J", ""});
  EXPECT_EQ(table.Text(),
            "ITERATION  PATH        BYTES\n"
            "     1000  a               5\n"
            "       20  \xe6\xa8\xa1"
            "b       1234567\n"
            "           a\\x1b[2J\n");
}

TEST(Printable, NothingMovesTheCursor) {
  const struct {
    std::string text;
    const char* expected;
  } kCases[] = {
      {"plain \xc3\xa4", "plain \xc3\xa4"},
      {"a\nb\x7f", "a\\x0ab\\x7f"},
      {std::string("\0", 1), "\\x00"},
      {"\xc2\x9b"
       "2J",
       "\\xc2\\x9b"
       "2J"},  // C1 control sequence introducer
      {"\xe2\x80\xae"
       "gnp",
       "\\xe2\\x80\\xae"
       "gnp"},  // right-to-left override
      {"\xff", "\\xff"},
      {"\xe6\xa8", "\\xe6\\xa8"},  // cut short
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Printable(c.text), c.expected);
}

TEST(Printable, Width) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("\xc3\xa4"), 1u);
  EXPECT_EQ(DisplayWidth("a\xcc\x88"), 1u);         // combining diaeresis
  EXPECT_EQ(DisplayWidth("\xe6\xa8\xa1"), 2u);      // CJK
  EXPECT_EQ(DisplayWidth("\xf0\x9f\x98\x80"), 2u);  // emoji
}

TEST(Plot, Bars) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(Bars({1, 0.5, 0.25, 0.001, 0}, 4), (Strings{"████", "██", "█", "▌", ""}));
  EXPECT_EQ(Bars({1, 0.375}, 4), (Strings{"████", "█▌"}));
  EXPECT_EQ(Bars({1, -1, 0.5}, 4), (Strings{"  ██", "██", "  █"}));
  EXPECT_EQ(Bars({-1, -0.5}, 4), (Strings{"████", "  ██"}));
  EXPECT_EQ(Bars({1, -0.001}, 4), (Strings{" ███", "▐"}));
  EXPECT_EQ(Bars({0, 0}, 4), (Strings{"", ""}));
  EXPECT_EQ(Bars({}, 4), Strings{});
}

TEST(Plot, ExtremeValuesStayInside) {
  for (const std::vector<double>& values :
       std::vector<std::vector<double>>{{1.7976931348623157e308, -1.7976931348623157e308},
                                        {5e-324, 0},
                                        {5e-324, -5e-324},
                                        {-5e-324, 1.7976931348623157e308}}) {
    for (const std::string& bar : Bars(values, 8)) EXPECT_LE(DisplayWidth(bar), 8u);
  }
}

}  // namespace
}  // namespace ck::cli
