// Kills or faults a publishing process at every system call of the protocol, and looks at what is left.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/fs/test_directory.h"
#include "libs/run/publish_process.h"

namespace ck::run {
namespace {

using fs::ReadAll;
using fs::TestDirectory;

struct Step {
  std::string operation;
  int count;
};

// One scenario: what is there before, and how the program is started.
struct Scenario {
  const char* name;
  const char* iteration;
  bool stale_claim;  // a killed run left its claim and staging directory
  bool old_marker;   // iteration 900 is published already
  bool adopt;        // publish a staged directory
};

constexpr Scenario kScenarios[] = {
    {"FirstIteration", "1000", false, false, false}, {"PlainDirectory", "none", false, false, false},
    {"NextIteration", "1000", false, true, false},   {"AfterAKilledRun", "1000", true, true, false},
    {"Staged", "1000", false, true, true},
};

class CrashTest : public testing::TestWithParam<Scenario> {
 protected:
  struct Site {
    TestDirectory dir{fs::MemoryBase()};
    std::string out, final_path, marker;
    std::vector<std::string> arguments;
  };

  // Prepares a fresh place for one run of the scenario.
  static std::unique_ptr<Site> Prepare() {
    const Scenario& scenario = GetParam();
    auto site = std::make_unique<Site>();
    const bool plain = std::string(scenario.iteration) == "none";
    site->out = site->dir / "new/parent/out";
    site->final_path = plain ? site->out : site->out + "/iter_0001000";
    site->marker = site->out + "/latest_checkpointed_iteration.txt";
    if (scenario.old_marker && RunProgram({site->out, "900"}).status != 0) std::abort();
    if (scenario.stale_claim && RunProgram({site->out, scenario.iteration}, "fsync:2:kill").status != -SIGKILL) std::abort();
    if (scenario.adopt) {
      std::string staged = RunProgram({"--keep", site->out, scenario.iteration}).out;
      if (!staged.empty()) staged.pop_back();
      site->arguments = {"--adopt", staged};
    }
    site->arguments.insert(site->arguments.end(), {site->out, scenario.iteration});
    return site;
  }

  static std::vector<Step> Steps() {
    const auto site = Prepare();
    auto arguments = site->arguments;
    arguments.insert(arguments.begin(), "--counts");
    std::istringstream lines(RunProgram(arguments).out);
    std::vector<Step> steps;
    for (Step step; lines >> step.operation >> step.count;) steps.push_back(step);
    return steps;
  }

  // What must be true at every instant.
  static void ExpectSound(const Site& site) {
    if (std::filesystem::exists(site.final_path)) {
      EXPECT_EQ(Incomplete(site.final_path), "");
    }
    if (!std::filesystem::exists(site.marker)) {
      EXPECT_FALSE(GetParam().old_marker) << "the marker is lost";
      return;
    }
    const std::string value = ReadAll(site.marker);
    EXPECT_TRUE(value == "1000\n" || (GetParam().old_marker && value == "900\n")) << value;
    EXPECT_EQ(Incomplete(site.out + (value == "900\n" ? "/iter_0000900" : "/iter_0001000")), "");
  }

  static std::vector<std::string> Unfinished(const Site& site) {
    std::vector<std::string> names;
    for (const std::string& name : HiddenNames(site.dir.path())) {
      // A staged directory is meant to stay until it is published.
      if (name.find(".ck-staged-") == std::string::npos) names.push_back(name);
    }
    return names;
  }
};

// A kill before a call that only reads leaves what a kill before the next call that changes something leaves.
bool ChangesNothing(const std::string& operation) {
  return operation == "open" || operation == "read" || operation == "stat" || operation == "list";
}

TEST_P(CrashTest, KilledAtEveryStep) {
  int killed = 0;
  for (const Step& step : Steps()) {
    if (ChangesNothing(step.operation)) continue;
    for (int nth = 1; nth <= step.count; ++nth) {
      const std::string fault = step.operation + ":" + std::to_string(nth) + ":kill";
      SCOPED_TRACE(fault);
      const auto site = Prepare();
      ASSERT_EQ(RunProgram(site->arguments, fault).status, -SIGKILL);
      ++killed;
      ExpectSound(*site);
      const bool published = std::filesystem::exists(site->final_path);

      if (nth % 2 == 0) {
        EXPECT_EQ(RunProgram({"--gc", site->dir.path()}).status, 0);
        EXPECT_EQ(Unfinished(*site), std::vector<std::string>{});
      }
      const Outcome again = RunProgram(site->arguments);
      EXPECT_EQ(again.Tail(), published ? "publish.target_exists" : "") << again.err;
      EXPECT_EQ(Incomplete(site->final_path), "");
      ExpectSound(*site);
      EXPECT_EQ(RunProgram({"--gc", site->dir.path()}).status, 0);
      EXPECT_EQ(Unfinished(*site), std::vector<std::string>{});
    }
  }
  EXPECT_GT(killed, 15);
}

TEST_P(CrashTest, FaultedAtEveryStep) {
  for (const Step& step : Steps()) {
    for (int nth = 1; nth <= step.count; ++nth) {
      const std::string fault = step.operation + ":" + std::to_string(nth) + (nth % 2 == 0 ? ":ENOSPC" : ":EIO");
      SCOPED_TRACE(fault);
      const auto site = Prepare();
      const Outcome outcome = RunProgram(site->arguments, fault);
      ExpectSound(*site);
      const bool published = std::filesystem::exists(site->final_path);
      if (outcome.status == 0) {
        EXPECT_TRUE(published);
        // A failure in a removal is a warning; what it leaves is for Gc.
        EXPECT_TRUE(Unfinished(*site).empty() || !outcome.err.empty());
      } else {
        EXPECT_TRUE(outcome.status == 4 || outcome.status == 5) << outcome.status;
        EXPECT_NE(outcome.Tail(), "") << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        if (published) {
          EXPECT_NE(outcome.err.find("is published and complete"), std::string::npos) << outcome.err;
        }
        if (!GetParam().stale_claim) {
          EXPECT_EQ(Unfinished(*site), std::vector<std::string>{});
        }
        if (!GetParam().old_marker && !published) {
          EXPECT_FALSE(std::filesystem::exists(site->dir / "new")) << "parents were left";
        }
      }
      EXPECT_EQ(RunProgram({"--gc", site->dir.path()}).status, 0);
      EXPECT_EQ(Unfinished(*site), std::vector<std::string>{});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrashTest, testing::ValuesIn(kScenarios),
                         [](const testing::TestParamInfo<Scenario>& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace ck::run
