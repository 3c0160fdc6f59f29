// Real checkpoints are clean: no check takes for a fault what torch or Megatron-Core writes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "gtest/gtest.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/fs/test_directory.h"
#include "libs/validate/validate.h"

namespace ck::validate {
namespace {

std::string Parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::set<std::string> DirectoriesWith(const std::string& name) {
  std::set<std::string> out;
  for (const std::string& path : testing::ListFixtures("testdata/fixtures", name)) out.insert(Parent(path));
  return out;
}

std::string Text(const plan::Report& report) {
  std::string out;
  for (const Finding& finding : report.findings) out += Cat(NameOf(finding.severity), " ", finding.message, " [", finding.id, "]\n");
  return out;
}

TEST(Fixtures, AreClean) {
  std::set<std::string> directories = DirectoriesWith(".metadata");
  directories.merge(DirectoriesWith("config.json"));
  EXPECT_GT(directories.size(), 80u);
  for (const std::string& directory : directories) {
    SCOPED_TRACE(directory);
    if (EndsWith(directory, "t214_safetensors_fmt")) continue;  // below
    const plan::Report report = CheckCheckpoints({directory}, {});
    EXPECT_TRUE(plan::IsClean(report)) << Text(report);
    if (EndsWith(directory, "t214_fsdp_dtensor_like")) {  // a pickled DTensor: classes outside every list of safe ones
      EXPECT_EQ(report.findings.size(), 1u) << Text(report);
      EXPECT_EQ(report.findings[0].id, "pickle.unknown_global");
    } else {
      EXPECT_TRUE(report.findings.empty()) << Text(report);
    }
  }
}

TEST(Fixtures, WhatIsNotSupportedIsNamed) {
  const plan::Report report = CheckCheckpoints({"testdata/fixtures/t214_safetensors_fmt"}, {});
  EXPECT_FALSE(plan::IsClean(report));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].id, "checkpoint.unsupported_format");
}

// Whatever bit of whatever file is flipped: a report, never an exception and never a crash.
TEST(Fixtures, FlippedBitsGiveAReport) {
  constexpr size_t kFlips = 150;
  const fs::TestDirectory directory;
  const std::string copy = directory / "copy";
  std::filesystem::copy("testdata/fixtures/mcore_head_t214", copy);
  uint64_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(copy)) {
    const std::string path = entry.path().string(), bytes = fs::ReadAll(path);
    std::filesystem::remove(path);  // it may be a link into the fixtures
    for (size_t i = 0; i < kFlips && !bytes.empty(); ++i) {
      std::string flipped = bytes;
      flipped[i * 7919 % bytes.size()] ^= static_cast<char>(1 << i % 8);
      std::ofstream(path, std::ios::binary) << flipped;
      EXPECT_NO_THROW(found += CheckCheckpoints({copy}, {}).findings.size()) << path << " flip " << i;
    }
    std::ofstream(path, std::ios::binary) << bytes;
  }
  EXPECT_GT(found, kFlips);
}

TEST(Fixtures, ThreadsDoNotChangeTheReport) {
  const std::string directory = "testdata/fixtures/megatron/gpt_dense_tp2pp2";
  const std::vector<std::string> metadata = testing::ListFixtures(directory, ".metadata");
  ASSERT_FALSE(metadata.empty());
  EXPECT_EQ(Text(CheckCheckpoints({Parent(metadata[0])}, {.threads = 1})), Text(CheckCheckpoints({Parent(metadata[0])}, {.threads = 4})));
}

}  // namespace
}  // namespace ck::validate
