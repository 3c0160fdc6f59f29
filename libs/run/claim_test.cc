#include "libs/run/claim.h"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <thread>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/fs/fault.h"
#include "libs/fs/owner.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/run/publish_process.h"

namespace ck::run {
namespace {

using fs::TestDirectory;

constexpr char kId[] = "0123456789ab";

std::string Fault(const std::function<void()>& run, std::string* message = nullptr) {
  try {
    run();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.message();
    return error.id();
  }
  return "none";
}

fs::Process Dead() {
  fs::Process process = fs::ThisProcess();
  process.start_ticks += 1;  // our number, but another process
  return process;
}

fs::Process Elsewhere() {
  fs::Process process = fs::ThisProcess();
  process.host = "another-node";
  return process;
}

// Makes the claim of `owner` on "out", with a staging directory.
void Leave(const TestDirectory& dir, const fs::Process& owner) {
  dir.Write(".out.ck-claim/" + fs::EncodeProcess(owner) + "," + kId, "");
  dir.Write(std::string(".out.ck-") + kId + "/data", "x");
}

TEST(Claim, OneAtATime) {
  const TestDirectory dir;
  auto claim = Claim::Take(dir.path(), "out");
  EXPECT_EQ(Fault([&] { Claim::Take(dir.path(), "out"); }), "publish.claimed");
  EXPECT_EQ(Fault([&] { Claim::Take(dir.path(), "other"); }), "none");
  claim->CheckHeld();
  const std::string own = dir.Write(".out.ck-" + claim->id(), "what the holder writes");
  EXPECT_EQ(claim->Sweep(), std::vector<std::string>{});
  std::filesystem::remove(own);
  EXPECT_TRUE(claim->Release());
  EXPECT_TRUE(claim->Release());
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  EXPECT_EQ(Fault([&] { claim->CheckHeld(); }), "publish.claim_lost");
  claim = Claim::Take(dir.path(), "out");
}

TEST(Claim, OfADeadOwnerIsTakenOverAndSwept) {
  const TestDirectory dir;
  Leave(dir, Dead());
  dir.Write(".out.ck-trash-0123456789ab/data", "x");
  dir.Write(".out.ck-new-0123456789ab/" + fs::EncodeProcess(Dead()) + "," + kId, "");
  dir.Write(".out.ck-new-aaaaaaaaaaaa/" + fs::EncodeProcess(fs::ThisProcess()) + ",aaaaaaaaaaaa", "");
  dir.Write(".out.ck-staged-0123456789ab/data", "x");
  dir.Write(".other.ck-0123456789ab/data", "x");
  dir.Write(".out.ck-mine/data", "x");
  {
    const auto claim = Claim::Take(dir.path(), "out");
    EXPECT_EQ(claim->Sweep(), (std::vector<std::string>{dir / ".out.ck-0123456789ab", dir / ".out.ck-new-0123456789ab",
                                                        dir / ".out.ck-trash-0123456789ab"}));
  }
  EXPECT_EQ(HiddenNames(dir.path()),
            (std::vector<std::string>{dir / ".other.ck-0123456789ab", dir / ".out.ck-mine", dir / ".out.ck-new-aaaaaaaaaaaa",
                                      dir / ".out.ck-staged-0123456789ab"}));
}

TEST(Claim, OfAnOwnerThatMayLiveStands) {
  const struct {
    const char* what;
    std::string record;
    const char* text;
  } kCases[] = {
      {"alive", fs::EncodeProcess(fs::ThisProcess()) + "," + kId, "is being written by pid "},
      {"another host", fs::EncodeProcess(Elsewhere()) + "," + kId, "on another-node, started 20"},
      {"not ours", "something", "an unknown process ('something')"},
  };
  for (const auto& c : kCases) {
    const TestDirectory dir;
    dir.Write(".out.ck-claim/" + c.record, "");
    std::string message;
    EXPECT_EQ(Fault([&] { Claim::Take(dir.path(), "out"); }, &message), "publish.claimed") << c.what;
    EXPECT_NE(message.find(c.text), std::string::npos) << message;
    // Who cannot tell says how to go on; who can tell does not advise to break a live claim.
    EXPECT_EQ(message.find("remove") == std::string::npos, std::string(c.what) == "alive") << message;
    EXPECT_TRUE(fs::NameTaken(dir / (".out.ck-claim/" + c.record)));
    EXPECT_EQ(HiddenNames(dir.path()).size(), 1u);
  }
}

TEST(Claim, AnEmptyOneIsFree) {
  const TestDirectory dir;
  std::filesystem::create_directory(dir / ".out.ck-claim");
  EXPECT_EQ(Fault([&] { Claim::Take(dir.path(), "out"); }), "none");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Claim, SomethingElseInItsPlaceIsAnError) {
  const TestDirectory dir;
  dir.Write(".out.ck-claim", "a file");
  EXPECT_EQ(Fault([&] { Claim::Take(dir.path(), "out"); }), "fs.not_a_directory");
  EXPECT_EQ(Fault([&] { Claim::Take(dir / "none", "out"); }), "fs.mkdir_failed");
}

TEST(Claim, ManyThreadsOneHolder) {
  for (const bool stale : {false, true}) {
    const TestDirectory dir(fs::MemoryBase());
    std::atomic<int> inside{0}, most{0}, taken{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          try {
            const auto claim = Claim::Take(dir.path(), "out");
            const int now = ++inside;
            ++taken;
            if (now > most) most = now;
            claim->Sweep();
            claim->CheckHeld();
            --inside;
            // In every other round the holder "dies": its claim is left, naming a process that is gone.
            if (!stale || round % 2 == 0) continue;
            const std::string dead = fs::EncodeProcess(Dead()) + "," + claim->id();
            const std::string live = fs::EncodeProcess(fs::ThisProcess()) + "," + claim->id();
            std::error_code ignored;
            std::filesystem::rename(dir / (".out.ck-claim/" + live), dir / (".out.ck-claim/" + dead), ignored);
          } catch (const Error& error) {
            EXPECT_EQ(error.id(), "publish.claimed") << error.message();
          }
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(most, 1) << "stale: " << stale;
    EXPECT_GE(taken, 1);
  }
}

TEST(Claim, EveryOperationMayFail) {
  for (int i = 0; i < fs::kOperationCount; ++i) {
    const auto operation = static_cast<fs::Operation>(i);
    for (const bool stale : {false, true}) {
      for (int nth = 1; nth <= 4; ++nth) {
        const TestDirectory dir(fs::MemoryBase());
        if (stale) Leave(dir, Dead());
        {
          const fs::ScopedFault fault(operation, nth, EIO);
          Fault([&] { Claim::Take(dir.path(), "out")->Sweep(); });
        }
        // Whatever happened, the name can be claimed again and nothing is left.
        EXPECT_EQ(Fault([&] { Claim::Take(dir.path(), "out")->Sweep(); }), "none") << fs::OperationName(operation) << " " << nth;
        EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{}) << fs::OperationName(operation) << " " << nth;
      }
    }
  }
}

}  // namespace
}  // namespace ck::run
