// Several processes with one output, and signals.
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/wait.h>

#include "gtest/gtest.h"
#include "libs/fs/test_directory.h"
#include "libs/run/publish_process.h"

namespace ck::run {
namespace {

using fs::ReadAll;
using fs::TestDirectory;

TEST(Race, EightWritersOneWinner) {
  // Half of the rounds find the claim of a killed run.
  for (int round = 0; round < 10; ++round) {
    const TestDirectory dir(fs::MemoryBase());
    const std::string out = dir / "new/root";
    if (round % 2 == 1) {
      ASSERT_EQ(RunProgram({out, "1000"}, "rename:2:kill").status, -SIGKILL);
    }
    std::vector<std::unique_ptr<Process>> writers;
    for (int i = 0; i < 8; ++i) writers.push_back(std::make_unique<Process>(std::vector<std::string>{out, "1000"}));
    int winners = 0;
    for (const auto& writer : writers) {
      const Outcome outcome = writer->Wait();
      if (outcome.status == 0) {
        ++winners;
        EXPECT_EQ(outcome.err, "");
        continue;
      }
      EXPECT_EQ(outcome.status, 5) << outcome.err;
      EXPECT_TRUE(outcome.Tail() == "publish.claimed" || outcome.Tail() == "publish.target_exists") << outcome.err;
    }
    EXPECT_EQ(winners, 1) << "round " << round;
    EXPECT_EQ(Incomplete(out + "/iter_0001000"), "");
    EXPECT_EQ(ReadAll(out + "/latest_checkpointed_iteration.txt"), "1000\n");
    EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{});
  }
}

TEST(Race, DifferentIterationsAllWinAndTheMarkerIsTheHighest) {
  const TestDirectory dir(fs::MemoryBase());
  std::vector<std::unique_ptr<Process>> writers;
  for (int i = 1; i <= 6; ++i) writers.push_back(std::make_unique<Process>(std::vector<std::string>{dir / "root", std::to_string(i)}));
  for (const auto& writer : writers) {
    const Outcome outcome = writer->Wait();
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
  EXPECT_EQ(ReadAll(dir / "root/latest_checkpointed_iteration.txt"), "6\n");
  EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{});
}

TEST(Race, LosersNameTheOwner) {
  const TestDirectory dir;
  Process owner({"--wait", dir / "out", "none"});
  EXPECT_EQ(owner.ReadLine(), "waiting");
  const Outcome loser = RunProgram({dir / "out", "none"});
  EXPECT_EQ(loser.status, 5);
  EXPECT_EQ(loser.Tail(), "publish.claimed");
  EXPECT_NE(loser.err.find("is being written by pid "), std::string::npos) << loser.err;
  owner.Send(SIGKILL);
  owner.Wait();
  EXPECT_EQ(RunProgram({dir / "out", "none"}).status, 0);
}

TEST(Race, AnUnreapedOwnerIsGone) {
  const TestDirectory dir;
  Process owner({"--wait", dir / "out", "none"});
  EXPECT_EQ(owner.ReadLine(), "waiting");
  owner.Send(SIGKILL);
  // Until we wait for it, the owner is a zombie; its number is still taken.
  siginfo_t info;
  ASSERT_EQ(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(RunProgram({dir / "out", "none"}).status, 0);
  owner.Wait();
}

TEST(Signals, StopRemovesEverythingAndSaysWhich) {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    const TestDirectory dir;
    Process run({"--wait", dir / "new/out", "none"});
    EXPECT_EQ(run.ReadLine(), "waiting");
    EXPECT_EQ(HiddenNames(dir.path()).size(), 2u);
    run.Send(signal_number);
    const Outcome outcome = run.Wait();
    EXPECT_EQ(outcome.status, 128 + signal_number);
    EXPECT_EQ(outcome.Tail(), "run.interrupted") << outcome.err;
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  }
}

TEST(Signals, IgnoredOnesStayIgnored) {
  const TestDirectory dir;
  const auto old_handler = std::signal(SIGHUP, SIG_IGN);  // as nohup does; inherited by the program
  Process run({"--wait", dir / "out", "none"});
  EXPECT_EQ(run.ReadLine(), "waiting");
  std::signal(SIGHUP, old_handler);
  run.Send(SIGHUP);
  run.Send(SIGPIPE);
  run.Send(SIGXFSZ);
  run.Send(SIGTERM);
  EXPECT_EQ(run.Wait().status, 128 + SIGTERM);
}

}  // namespace
}  // namespace ck::run
