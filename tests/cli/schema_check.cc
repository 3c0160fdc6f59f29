// Checks one document of ours on stdin against docs/schemas; for the cases of this folder. Prints what is wrong, exits 1 then.

#include <iostream>
#include <iterator>
#include <string>

#include "libs/json/value.h"
#include "libs/plan/testing/schema_validator.h"

int main() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  try {
    const ck::json::Value document = ck::json::Parse(text);
    const ck::json::Object* object = document.AsObject();
    const ck::json::Value* schema = object == nullptr ? nullptr : object->Find("schema");
    const std::string* name = schema == nullptr ? nullptr : schema->AsString();
    if (name == nullptr) {
      std::cout << "the document names no schema\n";
      return 1;
    }
    const auto violations = ck::plan::testing::SchemaValidator::Load(*name).Violations(document);
    for (const std::string& violation : violations) std::cout << violation << '\n';
    return violations.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
    return 1;
  }
}
