#include "libs/run/gc.h"

#include <csignal>
#include <filesystem>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/fs/owner.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/run/claim.h"
#include "libs/run/publish_process.h"

namespace ck::run {
namespace {

using fs::TestDirectory;

std::vector<std::string> Paths(const std::vector<GcItem>& items) {
  std::vector<std::string> paths;
  for (const GcItem& item : items) {
    EXPECT_NE(item.reason, "");
    EXPECT_EQ(item.reason.find('\n'), std::string::npos);
    paths.push_back(item.path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void Claimed(const TestDirectory& dir, const std::string& prefix, const std::string& host, uint64_t more_ticks) {
  fs::Process process = fs::ThisProcess();
  if (!host.empty()) process.host = host;
  process.start_ticks += more_ticks;
  dir.Write(prefix + "claim/" + fs::EncodeProcess(process) + ",0123456789ab", "");
  dir.Write(prefix + "0123456789ab/data", "x");
}

TEST(Gc, RemovesWhatDeadOwnersLeftAndNothingElse) {
  const TestDirectory dir;
  dir.Write("run/iter_0000010/.metadata", "m");
  dir.Write("run/.hidden/file", "x");
  Claimed(dir, "run/.iter_0000020.ck-", "", 1);
  Claimed(dir, "run/.iter_0000030.ck-", "", 0);
  Claimed(dir, "run/.iter_0000040.ck-", "another-node", 1);
  dir.Write("run/.latest_checkpointed_iteration.txt.ck-0123456789ab", "20\n");
  dir.Write("run/.iter_0000050.ck-staged-0123456789ab/data", "x");
  dir.Write("run/.iter_0000060.ck-new-0123456789ab/" + fs::EncodeProcess(fs::ThisProcess()) + ",0123456789ab", "");
  dir.Write("deep/er/.out.ck-0123456789ab/.inner.ck-0123456789ab/x", "orphan");
  std::filesystem::create_directory(dir / "deep/.out.ck-claim");  // a crash between the two steps of releasing
  dir.Write("elsewhere/.x.ck-0123456789ab/data", "x");
  std::filesystem::create_directory(dir / "links");
  std::filesystem::create_directory_symlink(dir / "elsewhere", dir / "links/link");
  dir.Write("run/.iter_0000070.ck-backup/data", "not ours");

  GcReport report = Gc(dir / "run");
  EXPECT_EQ(Paths(report.removed),
            (std::vector<std::string>{dir / "run/.iter_0000020.ck-0123456789ab", dir / "run/.iter_0000020.ck-claim",
                                      dir / "run/.latest_checkpointed_iteration.txt.ck-0123456789ab"}));
  EXPECT_EQ(Paths(report.kept),
            (std::vector<std::string>{dir / "run/.iter_0000030.ck-0123456789ab", dir / "run/.iter_0000030.ck-claim",
                                      dir / "run/.iter_0000040.ck-0123456789ab", dir / "run/.iter_0000040.ck-claim",
                                      dir / "run/.iter_0000050.ck-staged-0123456789ab", dir / "run/.iter_0000060.ck-new-0123456789ab"}));
  for (const std::string& path : Paths(report.removed)) EXPECT_FALSE(fs::NameTaken(path)) << path;
  for (const std::string& path : Paths(report.kept)) EXPECT_TRUE(fs::NameTaken(path)) << path;
  for (const char* name : {"run/iter_0000010/.metadata", "run/.hidden/file", "run/.iter_0000070.ck-backup/data",
                           "run/.iter_0000030.ck-0123456789ab/data", "elsewhere/.x.ck-0123456789ab/data"}) {
    EXPECT_TRUE(fs::NameTaken(dir / name)) << name;
  }

  report = Gc(dir / "deep");
  EXPECT_EQ(Paths(report.removed), (std::vector<std::string>{dir / "deep/.out.ck-claim", dir / "deep/er/.out.ck-0123456789ab"}));
  EXPECT_EQ(Paths(Gc(dir / "links").removed), std::vector<std::string>{});
  EXPECT_EQ(Paths(Gc(dir / "deep").removed), std::vector<std::string>{});
}

TEST(Gc, KeptClaimsSayWhoHasThem) {
  const TestDirectory dir;
  Claimed(dir, ".out.ck-", "another-node", 0);
  const GcReport report = Gc(dir.path());
  ASSERT_EQ(report.kept.size(), 2u);
  EXPECT_NE(report.kept[0].reason.find("on another-node"), std::string::npos) << report.kept[0].reason;
}

TEST(Gc, ALiveRunIsNotDisturbed) {
  const TestDirectory dir;
  Process run({"--wait", dir / "out", "none"});
  EXPECT_EQ(run.ReadLine(), "waiting");
  EXPECT_EQ(Paths(Gc(dir.path()).removed), std::vector<std::string>{});
  run.Send(SIGKILL);
  EXPECT_EQ(run.Wait().status, -SIGKILL);
  EXPECT_EQ(Gc(dir.path()).removed.size(), 2u);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Gc, ARootThatCannotBeReadIsAnError) {
  const TestDirectory dir;
  EXPECT_THROW(Gc(dir / "none"), Error);
  EXPECT_THROW(Gc(dir.Write("file", "")), Error);
}

}  // namespace
}  // namespace ck::run
