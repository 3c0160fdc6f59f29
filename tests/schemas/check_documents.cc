// Holds JSON documents of the tools against their schemas: check_documents FILE...  Exit 0 when all are valid, else 1
// with a line per violation. The schema is the one that the document names. Run where docs/schemas is (a test's working
// directory).
#include <cstdio>
#include <fstream>
#include <iterator>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/plan/testing/schema_validator.h"

namespace {

std::vector<std::string> Violations(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {"cannot be opened"};
  const ck::json::Value document =
      ck::json::Parse(std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>()));
  const ck::json::Value* schema = document.AsObject() == nullptr ? nullptr : document.AsObject()->Find("schema");
  if (schema == nullptr || schema->AsString() == nullptr) return {"names no schema"};
  return ck::plan::testing::SchemaValidator::Load(*schema->AsString()).Violations(document);
}

}  // namespace

int main(int argc, char** argv) {
  bool clean = true;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::string> violations;
    try {
      violations = Violations(argv[i]);
    } catch (const ck::Error& error) {
      violations = {error.message()};
    }
    for (const std::string& violation : violations) std::fprintf(stderr, "%s: %s\n", argv[i], violation.c_str());
    clean = clean && violations.empty();
  }
  return clean ? 0 : 1;
}
