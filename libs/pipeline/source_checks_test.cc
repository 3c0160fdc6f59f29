#include "libs/pipeline/source_checks.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/checkpoint/testing/tiny_checkpoint.h"
#include "libs/fs/test_directory.h"
#include "libs/transform/copy.h"

namespace ck::pipeline {
namespace {

using checkpoint::TinyCheckpoint;

std::string CoverageId(TinyCheckpoint checkpoint) {
  try {
    CheckSourceCoverage(transform::CopyView(checkpoint.Open(), {}));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id();
  }
  return "";
}

TEST(SourceChecks, ChunksMustTileWhatIsRead) {
  const fs::TestDirectory directory;
  const Box top{{0, 0}, {2, 6}}, bottom{{2, 0}, {2, 6}};
  const struct {
    std::vector<Box> chunks;
    const char* id;
  } cases[] = {
      {{top, bottom}, ""},
      {{top}, "coverage.hole"},
      {{top, Box{{1, 0}, {3, 6}}}, "coverage.overlap"},
      {{top, Box{{2, 0}, {3, 6}}}, "coverage.out_of_range"},
  };
  int number = 0;
  for (const auto& c : cases) {
    TinyCheckpoint checkpoint(directory / std::to_string(number++));
    EXPECT_EQ(CoverageId(checkpoint.Tensor("decoder.weight", DType::kBF16, {4, 6}, c.chunks)), c.id);
  }
}

TEST(SourceChecks, EveryInputOfASumIsLookedAt) {
  const fs::TestDirectory directory;
  const Box top{{0, 0}, {2, 6}}, bottom{{2, 0}, {2, 6}};
  const auto open = [&](const std::string& name, const Dims& shape) {
    return TinyCheckpoint(directory / name).Tensor("decoder.weight", DType::kBF16, shape, {top, bottom}).Open();
  };
  const auto whole = open("whole", {4, 6}), larger = open("larger", {5, 6});
  for (const bool damaged : {false, true}) {
    transform::View view = transform::CopyView(whole, {});
    view.inputs.push_back(damaged ? larger : whole);
    view.leaves[0].terms.push_back({.input = 1, .weight = 1});
    if (damaged) {
      EXPECT_THROW(CheckSourceCoverage(view), Error);
    } else {
      EXPECT_NO_THROW(CheckSourceCoverage(view));
    }
  }
}

TEST(SourceChecks, EachMissingOrShortFileIsAFinding) {
  const fs::TestDirectory directory;
  const auto findings_after = [&](const std::string& name, auto damage) {
    const std::string path = directory / name;
    TinyCheckpoint model(path);
    model.Tensor("decoder.weight", DType::kBF16, {4, 6}).Object("decoder._extra_state", "x");
    model.Open();
    damage(path + "/__0_0.distcp");
    return CheckSourceFiles(transform::CopyView(checkpoint::Checkpoint::Open(path), {}));
  };
  EXPECT_TRUE(findings_after("whole", [](const std::string&) {}).empty());
  const auto missing = findings_after("missing", [](const std::string& file) { std::filesystem::remove(file); });
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].id, "checkpoint.missing_file");
  EXPECT_NE(missing[0].message.find("2 items, the first of 'decoder.weight'"), std::string::npos) << missing[0].message;
  const auto one_byte_short =
      findings_after("short", [](const std::string& file) { std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1); });
  ASSERT_EQ(one_byte_short.size(), 1u);
  EXPECT_EQ(one_byte_short[0].id, "checkpoint.short_file");
  EXPECT_NE(one_byte_short[0].message.find("1 item, 'decoder._extra_state'"), std::string::npos) << one_byte_short[0].message;
}

TEST(SourceChecks, WhatIsNotReadMayBeGone) {
  const fs::TestDirectory directory;
  TinyCheckpoint model(directory / "a");
  const auto opened = model.Tensor("decoder.weight", DType::kBF16, {4, 6}).Open();
  std::filesystem::remove(directory / "a/__0_0.distcp");
  transform::View view = transform::CopyView(checkpoint::Checkpoint::Open(directory / "a"), {});
  view.leaves.clear();
  EXPECT_TRUE(CheckSourceFiles(view).empty());
}

}  // namespace
}  // namespace ck::pipeline
