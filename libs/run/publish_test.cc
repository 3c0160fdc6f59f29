// Staging in one process: what it refuses, makes, keeps and removes. Crashes are in publish_crash_test.cc.
#include "libs/run/publish.h"

#include <cerrno>
#include <filesystem>
#include <functional>
#include <thread>

#include <sys/stat.h>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/fs/fault.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/run/claim.h"
#include "libs/run/publish_process.h"

namespace ck::run {
namespace {

using fs::ReadAll;
using fs::TestDirectory;

std::string Fault(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return error.id() + " " + std::to_string(static_cast<int>(error.code()));
  }
  return "none";
}

Placement At(const std::string& out) { return Place(out, {}, Markers::kAllowed); }
Placement At(const std::string& out, int64_t iteration) { return Place(out, iteration, Markers::kAllowed); }

const Verify kAccept = [](const std::string&) {};
const PublishOptions kOptions;

void WriteInto(Staging& staging, const std::string& name, const std::string& data) {
  fs::WriteSmallFile(staging.PathFor(name), data, fs::Durability::kSync);
}

TEST(Staging, NothingIsVisibleBeforeCommit) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "a/b/out", 5), kOptions);
  EXPECT_EQ(staging->made_parents(), (std::vector<std::string>{dir / "a", dir / "a/b", dir / "a/b/out"}));
  WriteInto(*staging, "data", "1");
  WriteInto(*staging, "tokenizer/deep/vocab", "2");
  EXPECT_FALSE(fs::NameTaken(dir / "a/b/out/iter_0000005"));
  std::string verified;
  const Published published = staging->Commit([&](const std::string& directory) {
    verified = directory;
    EXPECT_EQ(ReadAll(directory + "/data"), "1");
    EXPECT_FALSE(fs::NameTaken(dir / "a/b/out/iter_0000005"));
  });
  EXPECT_EQ(verified, staging->directory());
  EXPECT_EQ(published.path, dir / "a/b/out/iter_0000005");
  EXPECT_EQ(published.marker.outcome, MarkerChange::Outcome::kWritten);
  EXPECT_EQ(published.warnings, std::vector<std::string>{});
  EXPECT_EQ(ReadAll(published.path + "/tokenizer/deep/vocab"), "2");
  EXPECT_EQ(ReadAll(dir / "a/b/out/latest_checkpointed_iteration.txt"), "5\n");
  EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{});
}

TEST(Staging, AVerifyThatFailsLeavesNothing) {
  const TestDirectory dir;
  EXPECT_EQ(Fault([&] {
              const auto staging = Staging::Begin(At(dir / "new/out"), kOptions);
              WriteInto(*staging, "sub/data", "1");
              staging->Commit([](const std::string&) { throw InputError("test.bad", "bad"); });
            }),
            "test.bad 3");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(Staging, AbortKeepsParentsThatOthersUse) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "a/b/out"), kOptions);
  dir.Write("a/note", "x");
  EXPECT_EQ(staging->Abort(), "");
  EXPECT_EQ(staging->Abort(), "");
  EXPECT_TRUE(fs::NameTaken(dir / "a/note"));
  EXPECT_FALSE(fs::NameTaken(dir / "a/b"));
}

TEST(Staging, AbortSaysWhatItCannotRemove) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "out"), kOptions);
  std::string path = staging->directory();
  for (int i = 0; i < 70; ++i) path += "/d";
  std::filesystem::create_directories(path);
  EXPECT_NE(staging->Abort().find(".out.ck-"), std::string::npos);
}

TEST(Staging, UnsafeNamesAreRefused) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "out"), kOptions);
  for (const char* name : {"", "/etc/x", "../x", "a/../../x", "a//b", "a/", ".", "a\nb"}) {
    EXPECT_EQ(Fault([&] { staging->PathFor(name); }), "publish.unsafe_name 3") << name;
  }
  EXPECT_EQ(staging->PathFor(".metadata"), staging->directory() + "/.metadata");
}

TEST(Staging, ASecondWriterIsRefusedAtOnce) {
  const TestDirectory dir;
  const auto first = Staging::Begin(At(dir / "out"), kOptions);
  try {
    Staging::Begin(At(dir / "out"), kOptions);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "publish.claimed");
    EXPECT_EQ(error.code(), Code::kPrecondition);
    EXPECT_NE(error.message().find("pid " + std::to_string(getpid()) + " on "), std::string::npos) << error.message();
    EXPECT_NE(error.message().find(", started 20"), std::string::npos) << error.message();
  }
  const auto other_name = Staging::Begin(At(dir / "out2"), kOptions);
  WriteInto(*first, "data", "1");
  first->Commit(kAccept);
  EXPECT_EQ(Fault([&] { Staging::Begin(At(dir / "out"), kOptions); }), "publish.target_exists 5");
}

TEST(Staging, ATargetThatAppearsMeanwhileIsNeverReplaced) {
  for (const char* kind : {"file", "empty directory", "full directory", "dangling link"}) {
    const TestDirectory dir;
    const auto staging = Staging::Begin(At(dir / "out"), kOptions);
    WriteInto(*staging, "data", "1");
    const std::string what = kind;
    if (what == "file") dir.Write("out", "theirs");
    if (what == "empty directory") std::filesystem::create_directory(dir / "out");
    if (what == "full directory") dir.Write("out/file", "theirs");
    if (what == "dangling link") std::filesystem::create_symlink("nowhere", dir / "out");
    EXPECT_EQ(Fault([&] { staging->Commit(kAccept); }), "publish.target_exists 5") << kind;
    staging->Abort();
    EXPECT_TRUE(fs::NameTaken(dir / "out"));
    EXPECT_FALSE(fs::NameTaken(dir / "out/data"));
    EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{});
  }
}

TEST(Staging, ALostClaimIsNoticedBeforePublishing) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "out"), kOptions);
  std::filesystem::remove_all(dir / ".out.ck-claim");
  EXPECT_EQ(Fault([&] { staging->Commit(kAccept); }), "publish.claim_lost 4");
  EXPECT_FALSE(fs::NameTaken(dir / "out"));
}

TEST(Staging, ALostClaimAndASweepNeverPublishHalf) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "out"), kOptions);
  WriteInto(*staging, "data", "1");
  // Someone removes the claim by hand, and the next run takes our directory for a dead one.
  EXPECT_NE(Fault([&] {
              staging->Commit([&](const std::string&) {
                std::filesystem::remove_all(dir / ".out.ck-claim");
                Claim::Take(dir.path(), "out")->Sweep();
              });
            }),
            "none");
  EXPECT_FALSE(fs::NameTaken(dir / "out"));
}

TEST(Staging, ModesFollowTheUmask) {
  const struct {
    mode_t mask;
    uint32_t file, directory;
  } kCases[] = {{022, 0644, 0755}, {007, 0660, 0770}, {077, 0600, 0700}};
  for (const auto& c : kCases) {
    const TestDirectory dir;
    const mode_t old_mask = umask(c.mask);
    const auto staging = Staging::Begin(At(dir / "root", 5), kOptions);
    WriteInto(*staging, "sub/data", "1");
    staging->Commit(kAccept);
    umask(old_mask);
    for (const char* path : {"root/iter_0000005/sub/data", "root/latest_checkpointed_iteration.txt"}) {
      EXPECT_EQ(fs::Stat(dir / path)->mode, c.file) << path;
    }
    for (const char* path : {"root", "root/iter_0000005", "root/iter_0000005/sub"}) EXPECT_EQ(fs::Stat(dir / path)->mode, c.directory) << path;
  }
}

TEST(Staging, SetgidIsInherited) {
  const TestDirectory dir;
  std::filesystem::create_directory(dir / "shared");
  ASSERT_EQ(chmod((dir / "shared").c_str(), 02775), 0);
  const auto staging = Staging::Begin(At(dir / "shared/out"), kOptions);
  WriteInto(*staging, "sub/data", "1");
  staging->Commit(kAccept);
  EXPECT_EQ(fs::Stat(dir / "shared/out")->mode & 02000u, 02000u);
  EXPECT_EQ(fs::Stat(dir / "shared/out/sub")->mode & 02000u, 02000u);
}

TEST(Staging, EverythingIsSyncedOrNothing) {
  const TestDirectory dir;
  const auto syncs = [&](const char* name, fs::Durability durability) {
    const uint64_t before = fs::OperationCount(fs::Operation::kFsync);
    const auto staging = Staging::Begin(At(dir / name, 5), {durability, MarkerPolicy::kNeverLower});
    fs::WriteSmallFile(staging->PathFor("sub/data"), "1", durability);
    staging->Commit(kAccept);
    return fs::OperationCount(fs::Operation::kFsync) - before;
  };
  // The file, sub, the staging directory, its parent, the parent of the made parent, the marker, its directory.
  EXPECT_EQ(syncs("synced", fs::Durability::kSync), 7u);
  EXPECT_EQ(syncs("unsynced", fs::Durability::kNoSync), 0u);
}

TEST(Staging, WhatASyncCoversAppearsOnlyAfterIt) {
  // The syncs of Commit, in order, with what may be visible when that one fails.
  const struct {
    const char* what;
    bool published, marked;
  } kSyncs[] = {
      {"sub", false, false},         {"the staging directory", false, false}, {"the parent", true, false},
      {"the made parent's parent", true, false}, {"the marker", true, false}, {"the marker's directory", true, true},
  };
  for (int i = 0; i < 6; ++i) {
    const TestDirectory dir;
    {
      const auto staging = Staging::Begin(At(dir / "root", 5), kOptions);
      WriteInto(*staging, "sub/data", "1");
      const fs::ScopedFault fault(fs::Operation::kFsync, i + 1, EIO);
      EXPECT_NE(Fault([&] { staging->Commit(kAccept); }), "none") << kSyncs[i].what;
    }
    EXPECT_EQ(fs::NameTaken(dir / "root/iter_0000005"), kSyncs[i].published) << kSyncs[i].what;
    EXPECT_EQ(fs::NameTaken(dir / "root/latest_checkpointed_iteration.txt"), kSyncs[i].marked) << kSyncs[i].what;
  }
}

TEST(Staging, LeftoversThatCannotBeRemovedAreAWarning) {
  const TestDirectory dir;
  std::string path = dir / ".out.ck-0123456789ab";
  for (int i = 0; i < 70; ++i) path += "/d";
  std::filesystem::create_directories(path);
  const auto staging = Staging::Begin(At(dir / "out"), kOptions);
  WriteInto(*staging, "data", "1");
  const Published published = staging->Commit(kAccept);
  ASSERT_EQ(published.warnings.size(), 1u);
  EXPECT_NE(published.warnings[0].find(".out.ck-trash-"), std::string::npos) << published.warnings[0];
}

TEST(Staging, RunsThatFailDoNotRemoveTheParentsOfOthers) {
  const TestDirectory dir(fs::MemoryBase());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&dir, i] {
      for (int round = 0; round < 100; ++round) {
        const auto staging = Staging::Begin(At(dir / ("a/b/out" + std::to_string(i))), kOptions);
        EXPECT_EQ(staging->Abort(), "");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{});
}

TEST(Staging, AnUnsyncedParentIsSaid) {
  const TestDirectory dir;
  const auto staging = Staging::Begin(At(dir / "out"), kOptions);
  WriteInto(*staging, "data", "1");
  const fs::ScopedFault fault(fs::Operation::kFsync, 2, EIO);  // after the staging directory
  EXPECT_EQ(Fault([&] { staging->Commit(kAccept); }), "publish.not_synced 4");
  EXPECT_EQ(ReadAll(dir / "out/data"), "1");
}

TEST(Staging, ALowerMarkerIsAWarning) {
  const TestDirectory dir;
  dir.Write("latest_checkpointed_iteration.txt", "9\n");
  auto staging = Staging::Begin(At(dir.path(), 5), kOptions);
  WriteInto(*staging, "data", "1");
  const Published published = staging->Commit(kAccept);
  EXPECT_EQ(published.warnings, std::vector<std::string>{});
  EXPECT_NE(published.marker.warning.find("--force-marker"), std::string::npos) << published.marker.warning;
  EXPECT_EQ(ReadAll(dir / "latest_checkpointed_iteration.txt"), "9\n");
  EXPECT_TRUE(fs::NameTaken(dir / "iter_0000005/data"));

  staging = Staging::Begin(At(dir.path(), 6), {fs::Durability::kSync, MarkerPolicy::kForce});
  WriteInto(*staging, "data", "1");
  EXPECT_EQ(staging->Commit(kAccept).marker.warning, "");
  EXPECT_EQ(ReadAll(dir / "latest_checkpointed_iteration.txt"), "6\n");
}

TEST(Staged, KeptThenPublished) {
  const TestDirectory dir;
  std::string staged;
  {
    const auto staging = Staging::Begin(At(dir / "out"), kOptions);
    WriteInto(*staging, "sub/data", "1");
    staged = staging->Keep(kAccept);
  }
  EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{staged});
  EXPECT_EQ(StagedFor(staged), dir / "out");
  EXPECT_FALSE(fs::NameTaken(dir / "out"));

  // A failure leaves it staged.
  EXPECT_EQ(Fault([&] { Staging::Adopt(staged, At(dir / "out"), kOptions)->Commit([](const std::string&) { throw InputError("test.bad", "bad"); }); }),
            "test.bad 3");
  EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{staged});

  const auto adopted = Staging::Adopt(staged, At(StagedFor(staged)), kOptions);
  EXPECT_EQ(Fault([&] { Staging::Begin(At(dir / "out"), kOptions); }), "publish.claimed 5");
  adopted->Commit([&](const std::string& directory) { EXPECT_EQ(directory, staged); });
  EXPECT_EQ(ReadAll(dir / "out/sub/data"), "1");
  EXPECT_EQ(HiddenNames(dir.path()), std::vector<std::string>{});
}

TEST(Staged, OnlyStagedDirectoriesAreAdopted) {
  const TestDirectory dir;
  dir.Write("plain/data", "1");
  dir.Write(".out.ck-0123456789ab/data", "1");
  dir.Write(".out.ck-staged-0123456789ab", "a file");
  for (const char* name : {"plain", ".out.ck-0123456789ab", ".out.ck-staged-0123456789ab", ".out.ck-staged-000000000000"}) {
    EXPECT_EQ(Fault([&] { Staging::Adopt(dir / name, At(dir / "out"), kOptions); }), "publish.not_staged 3") << name;
  }
}

}  // namespace
}  // namespace ck::run
