// The schemas, the decoder and the encoder agree on the documents in the folders beside this file:
//   valid/SCHEMA.NAME.json             the schema accepts it; a plan also decodes and encodes
//   refused/ID--NAME.json              a plan that the schema and the decoder refuse, the decoder with this error id
//   refused_by_decoder/ID--NAME.json   a plan that breaks a rule that JSON Schema has no words for
// A new file is a new case.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/plan/plan.h"
#include "libs/plan/testing/schema_validator.h"

namespace ck::plan {
namespace {

using testing::SchemaValidator;

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

std::vector<std::filesystem::path> FilesIn(std::string_view folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(Cat("tests/schemas/", folder))) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Violations(std::string_view schema, std::string_view text) {
  return Join(SchemaValidator::Load(schema).Violations(json::Parse(text)), "\n");
}

// "none" when the plan decodes.
std::string DecodeError(std::string_view text) {
  try {
    Decode(text);
    return "none";
  } catch (const Error& error) {
    return error.id();
  }
}

// The error id that a file's name promises.
std::string PromisedId(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find("--"));
}

TEST(Schemas, AcceptTheValidDocuments) {
  const std::vector<std::filesystem::path> files = FilesIn("valid");
  EXPECT_GE(files.size(), 9u);
  for (const auto& path : files) {
    const std::vector<std::string> parts = Split(path.filename().string(), '.');
    EXPECT_EQ(Violations(Cat(parts[0], ".", parts[1]), ReadFile(path)), "") << path;
  }
}

TEST(Schemas, EncodedPlansAreValidAndMeanTheSame) {
  for (const auto& path : FilesIn("valid")) {
    if (!StartsWith(path.filename().string(), "ck.plan.")) continue;
    const Plan plan = Decode(ReadFile(path));
    const std::string text = Encode(plan);
    EXPECT_EQ(Violations("ck.plan", text), "") << path;
    EXPECT_EQ(Decode(text), plan) << path;
  }
}

TEST(Schemas, DefaultsSpeltOutAreNotWrittenAgain) {
  Plan plan;
  plan.inputs.push_back({"/a", std::nullopt, Format::kTorchDist, std::nullopt, std::nullopt});
  plan.steps = {MergeStep(), RetargetStep(), SplitStep()};
  EXPECT_EQ(Encode(Decode(ReadFile("tests/schemas/valid/ck.plan.defaults_spelt_out.json"))), Encode(plan));
}

TEST(Schemas, SchemaAndDecoderRefuseTheSame) {
  const std::vector<std::filesystem::path> files = FilesIn("refused");
  EXPECT_GE(files.size(), 30u);
  for (const auto& path : files) {
    const std::string text = ReadFile(path);
    EXPECT_NE(Violations("ck.plan", text), "") << path;
    EXPECT_EQ(DecodeError(text), PromisedId(path)) << path;
  }
}

TEST(Schemas, TheDecoderKnowsRulesThatASchemaCannotSay) {
  const std::vector<std::filesystem::path> files = FilesIn("refused_by_decoder");
  EXPECT_GE(files.size(), 8u);
  for (const auto& path : files) {
    const std::string text = ReadFile(path);
    EXPECT_EQ(Violations("ck.plan", text), "") << path;
    EXPECT_EQ(DecodeError(text), PromisedId(path)) << path;
  }
}

// Every default that the schema states is the decoder's: a plan with the default written out encodes without it.
void CheckDefaults(const json::Object& schema, const json::Object& step, std::string_view def) {
  for (const auto& [name, property] : schema.Find("properties")->AsObject()->members()) {
    const json::Value* value = property.AsObject()->Find("default");
    if (value == nullptr) continue;
    json::Object with = step;
    with.Set(name, *value);
    const auto encoded = [](const json::Object& s) {
      json::Object plan;
      plan.Set("schema", "ck.plan").Set("version", "1.0").Set("inputs", json::Array()).Set("steps", json::Array{s});
      return Encode(Decode(json::Write(plan)));
    };
    EXPECT_EQ(encoded(with), encoded(step)) << def << "." << name;
  }
}

TEST(Schemas, StateTheDefaultsOfTheDecoder) {
  const json::Value schema = json::Parse(ReadFile("docs/schemas/ck.plan.schema.json"));
  const json::Object& definitions = *schema.AsObject()->Find("$defs")->AsObject();
  CheckDefaults(*definitions.Find("merge")->AsObject(), json::Object().Set("op", "merge"), "merge");
  CheckDefaults(*definitions.Find("retarget")->AsObject(), json::Object().Set("op", "retarget").Set("to", "gpt"),
                "retarget");
  CheckDefaults(*definitions.Find("split")->AsObject(), json::Object().Set("op", "split").Set("to", "hf"), "split");
}

// The part of the manual from the heading to the next one.
std::string Section(const std::string& manual, std::string_view heading) {
  const size_t begin = manual.find(Cat("\n## ", heading, "\n"));
  if (begin == std::string::npos) return "";
  return manual.substr(begin, manual.find("\n## ", begin + 1) - begin);
}

void CheckSection(const std::string& manual, std::string_view heading, const json::Value& schema) {
  const std::string section = Section(manual, heading);
  EXPECT_NE(section, "") << heading;
  for (const json::Member& member : schema.AsObject()->Find("properties")->AsObject()->members()) {
    EXPECT_NE(section.find(Cat("`", member.first, "`")), std::string::npos) << heading << ": " << member.first;
  }
}

TEST(Schemas, TheManualHasEveryMember) {
  const std::string manual = ReadFile("docs/manual/plan.md");
  const json::Value schema = json::Parse(ReadFile("docs/schemas/ck.plan.schema.json"));
  const json::Object& definitions = *schema.AsObject()->Find("$defs")->AsObject();
  const json::Object& document = *schema.AsObject()->Find("properties")->AsObject();
  CheckSection(manual, "The document", schema);
  CheckSection(manual, "inputs[]", *definitions.Find("input"));
  CheckSection(manual, "coefficients", *document.Find("coefficients"));
  CheckSection(manual, "Step merge", *definitions.Find("merge"));
  CheckSection(manual, "Step retarget", *definitions.Find("retarget"));
  CheckSection(manual, "Step retarget",
               *definitions.Find("retarget")->AsObject()->Find("properties")->AsObject()->Find("mamba"));
  CheckSection(manual, "Step split", *definitions.Find("split"));
  CheckSection(manual, "target", *document.Find("target"));
}

}  // namespace
}  // namespace ck::plan
