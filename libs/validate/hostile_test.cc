// Every folder of testdata/hostile is a case: `checkpoint/` and the findings that it must give, in `expected`. A new folder is a new test.
#include <algorithm>
#include <filesystem>

#include "gtest/gtest.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/validate/validate.h"

namespace ck::validate {
namespace {

constexpr char kRoot[] = "testdata/hostile";

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Found(const std::string& checkpoint) {
  std::string out;
  for (const Finding& finding : CheckCheckpoints({checkpoint}, {.threads = 2}).findings) {
    out += Cat(NameOf(finding.severity), " ", finding.id, "\n");
    EXPECT_NE(finding.message.find(checkpoint), std::string::npos) << finding.message;
    EXPECT_EQ(finding.message.find('\n'), std::string::npos) << finding.message;
    EXPECT_LT(finding.message.size(), 2000u) << finding.message;
  }
  return out;
}

class Hostile : public ::testing::TestWithParam<std::string> {};

TEST_P(Hostile, GivesTheFindingsExpected) {
  const std::string folder = Cat(kRoot, "/", GetParam());
  EXPECT_EQ(Found(Cat(folder, "/checkpoint")), testing::ReadFixture(Cat(folder, "/expected")));
}

INSTANTIATE_TEST_SUITE_P(Folders, Hostile, ::testing::ValuesIn(CaseNames()), [](const auto& test) { return test.param; });

TEST(HostileCorpus, IsThere) { EXPECT_GE(CaseNames().size(), 150u); }

}  // namespace
}  // namespace ck::validate
