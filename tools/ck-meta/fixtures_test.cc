// Every real checkpoint of testdata: read, shown as a valid document and as tables, with nothing to warn about.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/cli/run_main.h"
#include "libs/cli/testing/string_streams.h"
#include "libs/json/value.h"
#include "libs/plan/testing/schema_validator.h"
#include "tools/ck-meta/meta_tool.h"
#include "tools/ck-meta/options.h"

namespace ck::meta {
namespace {

namespace stdfs = std::filesystem;

struct Ran {
  int exit_code = 0;
  std::string output, error;
};

Ran Meta(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::vector<const char*> argv = {"ck-meta"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  cli::StringStreams streams;
  streams.input = input;
  Ran out;
  out.exit_code = cli::RunMain(CommandLine(), static_cast<int>(argv.size()), argv.data(), streams, Run);
  out.output = streams.output;
  out.error = streams.error;
  return out;
}

// Directories that hold a checkpoint themselves.
std::vector<std::string> Checkpoints(const std::string& below) {
  std::set<std::string> found;
  constexpr auto kFollow = stdfs::directory_options::follow_directory_symlink;
  for (const auto& entry : stdfs::recursive_directory_iterator(below, kFollow)) {
    const std::string name = entry.path().filename();
    const bool weights = EndsWith(name, ".safetensors") && !StartsWith(name, "truth") && !StartsWith(name, "expected_");
    if (EndsWith(name, ".metadata") || weights) found.insert(entry.path().parent_path());
  }
  return {found.begin(), found.end()};
}

// Not a checkpoint that ck reads; docs/manual/ck-meta.md.
constexpr std::string_view kUnsupported = "testdata/fixtures/t214_safetensors_fmt";

class FixturesTest : public testing::TestWithParam<std::string> {};

TEST_P(FixturesTest, IsReadAndShown) {
  static const auto schema = plan::testing::SchemaValidator::Load("ck.meta");
  const std::string& path = GetParam();
  const Ran json = Meta({path, "--json", "--chunks"});
  if (path == kUnsupported) {
    EXPECT_EQ(json.exit_code, 3);
    EXPECT_NE(json.error.find("[checkpoint.unsupported_format]"), std::string::npos) << json.error;
    EXPECT_EQ(json.output, "");
    return;
  }
  ASSERT_EQ(json.exit_code, 0) << json.error;
  EXPECT_EQ(json.error, "");
  const json::Value document = json::Parse(json.output);
  EXPECT_EQ(schema.Violations(document), std::vector<std::string>());
  const json::Object& meta = *document.AsObject();
  EXPECT_FALSE(meta.Find("tensors")->AsArray()->empty());
  const bool has_common = stdfs::exists(path + "/common.pt");
  const json::Object& common = *meta.Find("common")->AsObject();
  EXPECT_EQ(*common.Find("form")->AsString() == "common.pt", has_common);
  EXPECT_EQ(common.Find("state")->is_null(), *common.Find("form")->AsString() == "none");
  for (const json::Value& file : *meta.Find("files")->AsArray()) {
    EXPECT_TRUE(stdfs::exists(path + "/" + *file.AsObject()->Find("name")->AsString()));
    EXPECT_FALSE(file.AsObject()->Find("bytes")->is_null());
  }
  EXPECT_EQ(json.output.find("\"...\""), std::string::npos) << "something was cut";
}

TEST_P(FixturesTest, TablesNameEveryTensor) {
  const std::string& path = GetParam();
  if (path == kUnsupported) return;
  const Ran table = Meta({path, "--table", "--objects"});
  ASSERT_EQ(table.exit_code, 0) << table.error;
  const json::Value document = json::Parse(Meta({path, "--json"}).output);
  for (const json::Value& tensor : *document.AsObject()->Find("tensors")->AsArray())
    EXPECT_NE(table.output.find(*tensor.AsObject()->Find("name")->AsString()), std::string::npos);
  const Ran globals = Meta({path, "--show-globals", "--table"});
  EXPECT_EQ(globals.exit_code, 0) << globals.error;
  EXPECT_EQ(globals.error, "");
}

// The plan of one input is its copy: it has the same tensors, and the same arguments in the same place.
TEST_P(FixturesTest, ACopyHoldsTheSame) {
  const std::string& path = GetParam();
  if (path == kUnsupported) return;
  const json::Value document = json::Parse(Meta({path, "--json"}).output);
  const json::Object& meta = *document.AsObject();
  json::Object input;
  input.Set("path", stdfs::absolute(path).string()).Set("format", *meta.Find("format"));
  json::Object plan;
  plan.Set("schema", "ck.plan").Set("version", "1.0").Set("inputs", json::Array{json::Value(std::move(input))});
  const Ran ran = Meta({"--json"}, json::Write(plan));
  ASSERT_EQ(ran.exit_code, 0) << ran.error;
  static const auto schema = plan::testing::SchemaValidator::Load("ck.meta");
  const json::Value copy = json::Parse(ran.output);
  EXPECT_EQ(schema.Violations(copy), std::vector<std::string>());
  EXPECT_TRUE(copy.AsObject()->Find("path")->is_null());
  EXPECT_EQ(*copy.AsObject()->Find("format"), *meta.Find("format"));
  EXPECT_EQ(*copy.AsObject()->Find("tensors"), *meta.Find("tensors"));
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

TEST(Checkpoints, AllAreFound) { EXPECT_GE(Checkpoints("testdata").size(), 110u); }

INSTANTIATE_TEST_SUITE_P(Testdata, FixturesTest, testing::ValuesIn(Checkpoints("testdata")), TestName);

}  // namespace
}  // namespace ck::meta
