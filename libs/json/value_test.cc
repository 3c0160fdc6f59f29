#include "libs/json/value.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::json {
namespace {

std::string IdOf(std::string_view text, Extensions extensions = Extensions::kNone) {
  try {
    Parse(text, extensions);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    EXPECT_NE(error.message().find("JSON"), std::string::npos);
    return error.id();
  }
  return "accepted";
}

TEST(Parse, Refuses) {
  const struct {
    std::string_view text;
    const char* id;
  } kCases[] = {
      {"", "json.syntax"},
      {"  ", "json.syntax"},
      {"{} {}", "json.syntax"},
      {"1 2", "json.syntax"},
      {"nul", "json.syntax"},
      {"True", "json.syntax"},
      {"[1,]", "json.syntax"},
      {"{\"a\":1,}", "json.syntax"},
      {"{a:1}", "json.syntax"},
      {"'a'", "json.syntax"},
      {"[1] // c", "json.syntax"},
      {"01", "json.syntax"},
      {"-", "json.syntax"},
      {"+1", "json.syntax"},
      {".5", "json.syntax"},
      {"1.", "json.syntax"},
      {"1e", "json.syntax"},
      {"0x10", "json.syntax"},
      {"\"\t\"", "json.syntax"},
      {"\"\\x41\"", "json.syntax"},
      {"\"\\u12g4\"", "json.syntax"},
      {"\xef\xbb\xbf{}", "json.syntax"},
      {std::string_view("{}\0", 3), "json.syntax"},
      {std::string_view("{}\0{\"hidden\":1}", 15), "json.syntax"},
      {std::string_view("\"a\0b\"", 5), "json.syntax"},
      {std::string_view("\0", 1), "json.syntax"},
      {"NaN", "json.syntax"},
      {"[Infinity]", "json.syntax"},
      {"-Infinity", "json.syntax"},
      {"1e999", "json.not_finite"},
      {"-1e999", "json.not_finite"},
      {"[1.8e308]", "json.not_finite"},
      {"\"\xff\"", "json.bad_utf8"},
      {"\"\xc0\xaf\"", "json.bad_utf8"},
      {"\"\xed\xa0\x80\"", "json.bad_utf8"},
      {"{\"\xff\":1}", "json.bad_utf8"},
      {"[\xe9]", "json.bad_utf8"},
      {"\"\\ud800\"", "json.bad_utf8"},
      {"\"\\ud800x\"", "json.bad_utf8"},
      {"\"\\ud800\\u0041\"", "json.bad_utf8"},
      {"\"\\udc00\"", "json.bad_utf8"},
      {"\"\\udc00\\ud800\"", "json.bad_utf8"},
      {"{\"\\udfff\":1}", "json.bad_utf8"},
      {R"({"a":1,"a":1})", "json.duplicate_key"},
      {R"({"a":1,"\u0061":2})", "json.duplicate_key"},
      {R"([{"x":{"y":[{"b":1,"c":2,"b":3}]}}])", "json.duplicate_key"},
      {R"({"":1,"":2})", "json.duplicate_key"},
  };
  for (const auto& c : kCases) EXPECT_EQ(IdOf(c.text), c.id) << Quote(c.text);
}

TEST(Parse, Numbers) {
  const struct {
    std::string_view text;
    Type type;
    double value;
  } kCases[] = {
      {"0", Type::kInt, 0},
      {"-0", Type::kInt, 0},
      {"9007199254740993", Type::kInt, 9007199254740992},
      {"9223372036854775807", Type::kInt, 9223372036854775807.0},
      {"-9223372036854775808", Type::kInt, -9223372036854775808.0},
      {"9223372036854775808", Type::kUint, 9223372036854775808.0},
      {"18446744073709551615", Type::kUint, 18446744073709551615.0},
      {"18446744073709551616", Type::kDouble, 18446744073709551616.0},
      {"-9223372036854775809", Type::kDouble, -9223372036854775808.0},
      {"123456789012345678901234567890", Type::kDouble, 123456789012345678901234567890.0},
      {"1.0", Type::kDouble, 1},
      {"1e0", Type::kDouble, 1},
      {"1E+2", Type::kDouble, 100},
      {"0.1", Type::kDouble, 0.1},
      {"5e-324", Type::kDouble, 5e-324},
      {"2.4e-324", Type::kDouble, 0},
      {"1e-999", Type::kDouble, 0},
      {"1.7976931348623157e308", Type::kDouble, std::numeric_limits<double>::max()},
      {"2.2250738585072011e-308", Type::kDouble, 2.2250738585072011e-308},
      {"0.500000000000000166533453693773481063544750213623046875", Type::kDouble, 0x1.0000000000002p-1},
      {"9007199254740993.0", Type::kDouble, 9007199254740992},
      {"9007199254740993.00000000000000000000000000000000001", Type::kDouble, 9007199254740994},
  };
  for (const auto& c : kCases) {
    const Value value = Parse(c.text);
    EXPECT_EQ(value.type(), c.type) << c.text;
    EXPECT_EQ(value.AsDouble(), c.value) << c.text;
  }
  EXPECT_TRUE(std::signbit(*Parse("-0.0").AsDouble()));
  EXPECT_EQ(Parse("18446744073709551615").AsUint(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Parse("18446744073709551615").AsInt(), std::nullopt);
  EXPECT_EQ(Parse("-1").AsUint(), std::nullopt);
  EXPECT_EQ(Parse("1.0").AsInt(), std::nullopt);
}

TEST(Parse, PythonNumbersOnlyWhenAsked) {
  EXPECT_TRUE(std::isnan(*Parse("NaN", Extensions::kPythonNumbers).AsDouble()));
  const Value list = Parse("[Infinity, -Infinity, 1]", Extensions::kPythonNumbers);
  EXPECT_EQ((*list.AsArray())[0].AsDouble(), HUGE_VAL);
  EXPECT_EQ((*list.AsArray())[1].AsDouble(), -HUGE_VAL);
  for (const char* bad : {"Inf", "-Inf", "-NaN", "nan", "infinity", "Nan", "Infinit"}) {
    EXPECT_EQ(IdOf(bad, Extensions::kPythonNumbers), "json.syntax") << bad;
  }
  EXPECT_EQ(IdOf("1e999", Extensions::kPythonNumbers), "json.not_finite");
  EXPECT_EQ(Write(list, {.extensions = Extensions::kPythonNumbers}), "[Infinity,-Infinity,1]\n");
}

TEST(Parse, Strings) {
  EXPECT_EQ(*Parse(R"("\u00e9\n\/\ud83d\ude00")").AsString(), "\xc3\xa9\n/\xf0\x9f\x98\x80");
  EXPECT_EQ(*Parse(R"("a\u0000b")").AsString(), std::string("a\0b", 3));
  EXPECT_EQ(Write(Parse(R"("a\u0000\u001f\"\\/b")")), "\"a\\u0000\\u001F\\\"\\\\/b\"\n");
}

TEST(Parse, EveryPrefixFailsAndTheWholeSucceeds) {
  const std::string text = R"({"name":"caf\u00e9 )"
                           "\xc3\xa9"
                           R"(","list":[1,-2.5e3,true,false,null,{"deep":[[]]}],"empty":{}})";
  for (size_t length = 0; length < text.size(); ++length) EXPECT_NE(IdOf(text.substr(0, length)), "accepted") << length;
  EXPECT_EQ(IdOf(text), "accepted");
}

TEST(Parse, FlippedBitsNeverCrash) {
  const std::string text = R"({"a":[1,2.5,"x\u00e9",{"b":null}],"c":true})";
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    IdOf(flipped);
  }
}

TEST(Parse, DepthIsLimitedWithoutRecursion) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(IdOf(nested(kMaxDepth)), "accepted");
  EXPECT_EQ(IdOf(nested(kMaxDepth + 1)), "json.too_deep");
  EXPECT_EQ(IdOf(nested(200000)), "json.too_deep");
  std::string objects;
  for (int i = 0; i < 200000; ++i) objects += "{\"a\":";
  EXPECT_EQ(IdOf(objects), "json.too_deep");
}

TEST(Parse, TooLongIsRefusedBeforeItIsRead) {
  // Only the size is looked at: the view is longer than the text behind it.
  const std::string text = "{}";
  EXPECT_EQ(IdOf(std::string_view(text.data(), kMaxTextBytes + 1)), "json.too_long");
}

TEST(Parse, ErrorsNameTheByte) {
  try {
    Parse(R"({"a":1, "a":2})");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("'a' stands twice"), std::string::npos) << error.message();
  }
  try {
    Parse("[1, x]");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("byte 4"), std::string::npos) << error.message();
  }
}

TEST(Object, LargeOnesKeepOrderAndAreIndexed) {
  Object object;
  const auto key = [](int i) { return Cat("key", i * 7919 % 5000); };
  for (int i = 0; i < 5000; ++i) object.Set(key(i), i);
  ASSERT_EQ(object.size(), 5000u);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(object.members()[static_cast<size_t>(i)].first, key(i));
    ASSERT_EQ(*object.Find(key(i)), Value(i));
  }
  EXPECT_EQ(object.Find("key5000"), nullptr);
  object.Set(key(3), "new");
  EXPECT_EQ(object.size(), 5000u);
  EXPECT_EQ(object.members()[3].second, Value("new"));

  Object copy = object;
  EXPECT_TRUE(copy.Erase(key(0)));
  EXPECT_FALSE(copy.Erase(key(0)));
  EXPECT_EQ(copy.Find(key(0)), nullptr);
  EXPECT_EQ(*copy.Find(key(4999)), Value(4999));
  EXPECT_NE(object.Find(key(0)), nullptr);
  EXPECT_FALSE(copy == object);
}

TEST(Object, DuplicateKeysAreSeenInLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += Cat("\"k", i, "\":0,");
  EXPECT_EQ(IdOf(text + "\"last\":0}"), "accepted");
  EXPECT_EQ(IdOf(text + "\"k500\":0}"), "json.duplicate_key");
}

TEST(Object, EqualityIgnoresOrder) {
  EXPECT_EQ(Parse(R"({"a":1,"b":[2]})"), Parse(R"({"b":[2],"a":1})"));
  EXPECT_FALSE(Parse(R"({"a":1})") == Parse(R"({"a":2})"));
  EXPECT_FALSE(Parse(R"({"a":1})") == Parse(R"({"b":1})"));
  EXPECT_FALSE(Parse("1") == Parse("1.0"));
}

TEST(Write, IsDeterministicAndReadsBackEqual) {
  const std::string text =
      R"({"z":1,"a":[0.1,1e+22,5e-324,-0.0,3.0,18446744073709551615,-9223372036854775808],"s":"é\n","n":null,"e":[],"o":{}})";
  const Value value = Parse(text);
  EXPECT_EQ(Write(value, {.final_newline = false}), text);
  EXPECT_EQ(Parse(Write(value, {.indent = 2})), value);
  EXPECT_EQ(Write(Parse(R"({"a":[1,{}],"b":[]})"), {.indent = 2}),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}\n");
}

TEST(Write, RefusesWhatHasNoText) {
  const auto id = [](const Value& value) -> std::string {
    for (const int indent : {0, 2}) {
      try {
        Write(value, {.indent = indent});
        return "written";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInternal);
        if (indent == 2) return error.id();
      }
    }
    return "";
  };
  EXPECT_EQ(id(Value("\xff")), "json.bad_utf8");
  EXPECT_EQ(id(Value(Object().Set("\xff", 1))), "json.bad_utf8");
  EXPECT_EQ(id(Value(std::nan(""))), "json.not_finite");
  EXPECT_EQ(id(Value(Array{HUGE_VAL})), "json.not_finite");
  Value deep;
  for (size_t i = 0; i <= kMaxDepth; ++i) deep = Array{deep};
  EXPECT_EQ(id(deep), "json.too_deep");
}

TEST(ToUtf8, EscapesOnlyBadBytes) {
  EXPECT_EQ(ToUtf8("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(ToUtf8("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(ToUtf8("\xed\xa0\x80z"), "\\xed\\xa0\\x80z");
  EXPECT_EQ(ToUtf8(""), "");
}

}  // namespace
}  // namespace ck::json
