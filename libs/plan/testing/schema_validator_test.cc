#include "libs/plan/testing/schema_validator.h"

#include "gtest/gtest.h"
#include "libs/base/error.h"

namespace ck::plan::testing {
namespace {

size_t Count(std::string_view schema, std::string_view document) {
  return SchemaValidator(json::Parse(schema)).Violations(json::Parse(document)).size();
}

TEST(SchemaValidator, FindsViolationsOfEveryKeyword) {
  const struct {
    const char* schema;
    const char* good;
    const char* bad;
  } kCases[] = {
      {R"({"type":"integer"})", "1.0", "1.5"},
      {R"({"type":"number"})", "1", "\"1\""},
      {R"({"type":["integer","null"]})", "null", "\"\""},
      {R"({"type":"boolean"})", "true", "0"},
      {R"({"const":"a"})", "\"a\"", "\"b\""},
      {R"({"enum":["a",null]})", "null", "\"b\""},
      {R"({"minimum":1})", "1", "0"},
      {R"({"properties":{"a":{}},"required":["a"]})", R"({"a":1})", "{}"},
      {R"({"properties":{"a":{"type":"string"}}})", R"({"a":"","b":1})", R"({"a":1})"},
      {R"({"properties":{"a":{}},"additionalProperties":false})", R"({"a":1})", R"({"b":1})"},
      {R"({"items":{"type":"string"}})", R"(["a","b"])", R"(["a",1])"},
      {R"({"oneOf":[{"type":"integer"},{"minimum":5}]})", "1", "7"},
      {R"({"oneOf":[{"type":"integer"},{"type":"string"}]})", "1", "null"},
      {R"({"anyOf":[{"type":"integer"},{"minimum":5}]})", "7", "1.5"},
      {R"({"$ref":"#/$defs/x","$defs":{"x":{"type":"null"}}})", "null", "1"},
      {R"({"properties":{"a":{"items":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"const":3}}})", R"({"a":[3,3]})",
       R"({"a":[3,4]})"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Count(c.schema, c.good), 0u) << c.schema;
    EXPECT_EQ(Count(c.schema, c.bad), 1u) << c.schema;
  }
}

TEST(SchemaValidator, NamesThePlace) {
  const SchemaValidator validator(
      json::Parse(R"({"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}})"));
  EXPECT_EQ(validator.Violations(json::Parse(R"({"a":[{},{"b":1}]})")),
            std::vector<std::string>{"a[1].b: found integer, expected string"});
}

TEST(SchemaValidator, RefusesSchemasOutsideItsSubset) {
  for (const char* schema :
       {R"({"pattern":"x"})", R"({"properties":{"a":{"maximum":1}}})", R"({"type":"text"})", R"({"type":[]})",
        R"({"$ref":"#/$defs/x"})", R"({"$ref":"other.json"})", R"({"items":{"oneOf":[{"format":"x"}]}})", "true",
        R"({"additionalProperties":{}})", R"({"required":["a"]})", R"({"$defs":{"x":{"not":{}}}})"}) {
    EXPECT_THROW(SchemaValidator(json::Parse(schema)), Error) << schema;
  }
}

}  // namespace
}  // namespace ck::plan::testing
