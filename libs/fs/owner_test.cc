#include "libs/fs/owner.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace ck::fs {
namespace {

TEST(Owner, ThisProcessIsAlive) {
  const Process self = ThisProcess();
  EXPECT_EQ(self.pid, static_cast<uint64_t>(getpid()));
  EXPECT_GT(self.start_ticks, 0u);
  EXPECT_EQ(LivenessOf(self), Liveness::kAlive);
  Process again = ThisProcess();
  again.started = self.started;  // rounded to seconds from two clocks: may differ by one
  EXPECT_EQ(again, self);
}

TEST(Owner, RoundTripsAsAFileName) {
  const Process self = ThisProcess();
  const std::string text = EncodeProcess(self);
  EXPECT_EQ(text.find('/'), std::string::npos);
  EXPECT_LT(text.size(), 200u);
  EXPECT_EQ(DecodeProcess(text), self);
  for (size_t length = 0; length + 13 < text.size(); ++length) EXPECT_FALSE(DecodeProcess(text.substr(0, length))) << length;
}

TEST(Owner, RefusesOtherNames) {
  const char* kBad[] = {"",
                        "a,b,c,d,e,f,g",
                        "h,0,t,1,n,b,m",
                        "h,-1,t,1,n,b,m",
                        "h,4294967297,t,1,n,b,m",
                        "h,1,t,1,n,b",
                        "h,1,t,1,n,b,m,x",
                        "h/,1,t,1,n,b,m",
                        ",1,t,1,n,b,m",
                        "h,1,t,,n,b,m",
                        "h\n,1,t,1,n,b,m"};
  EXPECT_TRUE(DecodeProcess("h,1,t,1,n,b,m"));
  for (const char* bad : kBad) EXPECT_FALSE(DecodeProcess(bad)) << bad;
}

TEST(Owner, GoneOnlyWhenCertain) {
  const struct {
    const char* what;
    void (*change)(Process&);
    Liveness expected;
  } kCases[] = {
      {"the number was given to another process", [](Process& p) { p.start_ticks += 1; }, Liveness::kGone},
      {"start time not known", [](Process& p) { p.start_ticks = 0; }, Liveness::kAlive},
      {"another host", [](Process& p) { p.host += "x"; }, Liveness::kUnknown},
      {"another PID namespace", [](Process& p) { p.pid_space = "1"; }, Liveness::kUnknown},
      {"another machine of the same name", [](Process& p) { p.boot = "b", p.machine = "m"; }, Liveness::kUnknown},
      {"boot not known", [](Process& p) { p.boot = "none"; }, Liveness::kUnknown},
  };
  for (const auto& c : kCases) {
    Process process = ThisProcess();
    c.change(process);
    EXPECT_EQ(LivenessOf(process), c.expected) << c.what;
  }
  Process rebooted = ThisProcess();
  rebooted.boot = "b";
  EXPECT_EQ(LivenessOf(rebooted), rebooted.machine == "none" ? Liveness::kUnknown : Liveness::kGone);
}

TEST(Owner, KilledAndZombieProcessesAreGone) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    pause();
    _exit(0);
  }
  Process process = ThisProcess();
  process.pid = static_cast<uint64_t>(child);
  process.start_ticks = 0;
  EXPECT_EQ(LivenessOf(process), Liveness::kAlive);
  kill(child, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(LivenessOf(process), Liveness::kGone) << "a zombie";
  waitpid(child, nullptr, 0);
  EXPECT_EQ(LivenessOf(process), Liveness::kGone) << "reaped";
}

TEST(Owner, Describe) {
  Process process;
  process.host = "node7";
  process.pid = 123;
  process.started = "20260131T235959Z";
  EXPECT_EQ(Describe(process), "pid 123 on node7, started 2026-01-31T23:59:59Z");
}

}  // namespace
}  // namespace ck::fs
