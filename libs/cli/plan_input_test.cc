#include "libs/cli/plan_input.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/cli/testing/string_streams.h"

namespace ck::cli {
namespace {

constexpr const char* kPlan =
    R"({"schema": "ck.plan", "version": "1.0", "inputs": [{"path": "/run/iter_0000010", "format": "torch_dist"}]})";

std::string TempFile(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

TEST(PlanInput, StdinOrAFile) {
  for (const std::optional<std::string>& source : {std::optional<std::string>(), std::optional<std::string>("-")}) {
    StringStreams streams;
    streams.input = kPlan;
    EXPECT_EQ(ReadPlan(streams, source).inputs.at(0).path, "/run/iter_0000010");
  }
  StringStreams streams;
  streams.input_is_terminal = true;
  EXPECT_EQ(ReadPlan(streams, TempFile("plan.json", kPlan)).inputs.at(0).path, "/run/iter_0000010");
}

TEST(PlanInput, ErrorsNameTheSource) {
  StringStreams streams;
  streams.input = "{";
  const std::string path = TempFile("bad.json", "[]");
  try {
    ReadPlan(streams, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("stdin: "), 0u) << error.message();
  }
  try {
    ReadPlan(streams, path);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find("'" + path + "': "), 0u) << error.message();
  }
  try {
    ReadPlan(streams, path + ".missing");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "fs.not_found");
  }
}

}  // namespace
}  // namespace ck::cli
