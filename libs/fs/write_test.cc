#include "libs/fs/write.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/fs/fault.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"

namespace ck::fs {
namespace {

// "id code" of the error, or "none"; the message goes to `message`.
std::string Fault(const std::function<void()>& run, std::string* message = nullptr) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    if (message != nullptr) *message = error.message();
    return error.id() + " " + std::to_string(static_cast<int>(error.code()));
  }
  return "none";
}

class ScopedUmask {
 public:
  explicit ScopedUmask(mode_t mask) : old_(umask(mask)) {}
  ~ScopedUmask() { umask(old_); }

 private:
  mode_t old_;
};

uint32_t Mode(const std::string& path) { return Stat(path)->mode; }

TEST(OutputFile, FillsInAnyOrder) {
  const TestDirectory dir;
  const uint64_t before = BytesWritten();
  const auto file = OutputFile::Create(dir / "file");
  file->Allocate(10);
  EXPECT_EQ(Stat(dir / "file")->size_bytes, 10u);
  std::thread other([&] { file->WriteAt(5, "56789"); });
  file->WriteAt(0, "01234");
  other.join();
  file->StartWriteback(0, 10);
  file->Sync();
  file->Close();
  EXPECT_EQ(ReadAll(dir / "file"), "0123456789");
  EXPECT_EQ(BytesWritten() - before, 10u);
}

TEST(OutputFile, NeverOpensWhatIsThere) {
  const TestDirectory dir;
  dir.Write("file", "old");
  std::filesystem::create_symlink("elsewhere", dir / "dangling");
  std::filesystem::create_directory(dir / "sub");
  for (const char* name : {"file", "dangling", "sub"}) {
    EXPECT_EQ(Fault([&] { OutputFile::Create(dir / name); }), "fs.exists 5") << name;
  }
  EXPECT_EQ(ReadAll(dir / "file"), "old");
  EXPECT_FALSE(NameTaken(dir / "elsewhere"));
}

TEST(OutputFile, EmptyAndOddNames) {
  const TestDirectory dir;
  for (const std::string& name : {std::string(255, 'x'), std::string("new\nline\xff"), std::string("-rf"), std::string(" ")}) {
    const auto file = OutputFile::Create(dir / name);
    file->Allocate(0);
    file->WriteAt(0, "");
    file->Close();
    EXPECT_EQ(Stat(dir / name)->size_bytes, 0u);
  }
  EXPECT_EQ(Fault([&] { OutputFile::Create(dir / std::string(256, 'x')); }), "fs.write_failed 4");
}

TEST(OutputFile, EveryOperationMayFail) {
  const struct {
    Operation operation;
    int error_number;
    const char* expected;
  } kCases[] = {
      {Operation::kCreate, EACCES, "fs.write_failed 4"}, {Operation::kCreate, ENOSPC, "fs.no_space 4"},
      {Operation::kAllocate, ENOSPC, "fs.no_space 4"},   {Operation::kAllocate, EIO, "fs.write_failed 4"},
      {Operation::kWrite, EIO, "fs.write_failed 4"},     {Operation::kWrite, EDQUOT, "fs.no_space 4"},
      {Operation::kWrite, EFBIG, "fs.no_space 4"},       {Operation::kFsync, EIO, "fs.sync_failed 4"},
      {Operation::kFsync, ENOSPC, "fs.no_space 4"},      {Operation::kClose, EIO, "fs.write_failed 4"},
      {Operation::kClose, EDQUOT, "fs.no_space 4"},      {Operation::kFsync, EINVAL, "none"},
      {Operation::kAllocate, EOPNOTSUPP, "none"},
  };
  for (const auto& c : kCases) {
    const TestDirectory dir;
    const ScopedFault fault(c.operation, 1, c.error_number);
    std::string message;
    EXPECT_EQ(Fault(
                  [&] {
                    const auto file = OutputFile::Create(dir / "file");
                    file->Allocate(4);
                    file->WriteAt(0, "data");
                    file->Sync();
                    file->Close();
                  },
                  &message),
              c.expected)
        << OperationName(c.operation) << " " << c.error_number;
    if (std::string_view(c.expected) == "none") {
      EXPECT_EQ(ReadAll(dir / "file"), "data");
    } else {
      EXPECT_NE(message.find("file"), std::string::npos) << message;
    }
  }
}

TEST(OutputFile, AFileSizeLimitIsReportedWithBytes) {
  const TestDirectory dir;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const struct rlimit limit = {1000, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string message, reserve_message;
  const std::string fault = Fault(
      [&] {
        const auto file = OutputFile::Create(dir / "file");
        file->WriteAt(0, std::string(600, 'x'));
        file->WriteAt(600, std::string(900, 'x'));
      },
      &message);
  const std::string reserve_fault = Fault([&] { OutputFile::Create(dir / "big")->Allocate(5000); }, &reserve_message);
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);

  EXPECT_EQ(fault, "fs.no_space 4");
  EXPECT_NE(message.find("after 1000 of 1500 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("df"), std::string::npos) << message;
  EXPECT_EQ(reserve_fault, "fs.no_space 4");
  EXPECT_NE(reserve_message.find("5000 bytes"), std::string::npos) << reserve_message;
}

TEST(Modes, FollowTheUmask) {
  const struct {
    mode_t mask;
    uint32_t file, directory;
  } kCases[] = {{022, 0644, 0755}, {007, 0660, 0770}, {077, 0600, 0700}, {0, 0666, 0777}};
  for (const auto& c : kCases) {
    const TestDirectory dir;
    const ScopedUmask mask(c.mask);
    WriteSmallFile(dir / "file", "x", Durability::kNoSync);
    MakeDirectory(dir / "sub");
    MakeDirectories(dir / "a/b");
    EXPECT_EQ(Mode(dir / "file"), c.file);
    for (const char* name : {"sub", "a", "a/b"}) EXPECT_EQ(Mode(dir / name), c.directory) << name;
  }
}

TEST(Modes, SetgidIsInherited) {
  const TestDirectory dir;
  const ScopedUmask mask(007);
  MakeDirectory(dir / "shared");
  ASSERT_EQ(chmod((dir / "shared").c_str(), 02770), 0);
  MakeDirectory(dir / "shared/sub");
  WriteSmallFile(dir / "shared/sub/file", "x", Durability::kSync);
  EXPECT_EQ(Mode(dir / "shared/sub"), 02770u);
  EXPECT_EQ(Mode(dir / "shared/sub/file"), 0660u);
}

TEST(Modes, SetMode) {
  const TestDirectory dir;
  const auto file = OutputFile::Create(dir / "file");
  file->SetMode(0640);
  EXPECT_EQ(Mode(dir / "file"), 0640u);
}

TEST(WriteSmallFile, WholeOrNothing) {
  const TestDirectory dir;
  WriteSmallFile(dir / "file", "data", Durability::kSync);
  EXPECT_EQ(ReadAll(dir / "file"), "data");
  EXPECT_EQ(Fault([&] { WriteSmallFile(dir / "file", "new", Durability::kSync); }), "fs.exists 5");
  EXPECT_EQ(ReadAll(dir / "file"), "data");
  for (const Operation operation : {Operation::kWrite, Operation::kFsync, Operation::kClose}) {
    const ScopedFault fault(operation, 1, EIO);
    EXPECT_NE(Fault([&] { WriteSmallFile(dir / "other", "data", Durability::kSync); }), "none");
    EXPECT_FALSE(NameTaken(dir / "other"));
  }
  const ScopedFault fault(Operation::kFsync, 1, EIO);
  EXPECT_EQ(Fault([&] { WriteSmallFile(dir / "unsynced", "data", Durability::kNoSync); }), "none");
}

TEST(MakeDirectories, TellsWhatItMade) {
  const TestDirectory dir;
  EXPECT_EQ(MakeDirectories(dir / "a/b/c"), (std::vector<std::string>{dir / "a", dir / "a/b", dir / "a/b/c"}));
  EXPECT_EQ(MakeDirectories(dir / "a/b/c"), std::vector<std::string>{});
  EXPECT_EQ(MakeDirectories("/"), std::vector<std::string>{});
  dir.Write("file", "");
  std::filesystem::create_symlink("nowhere", dir / "dangling");
  std::filesystem::create_symlink("a", dir / "link");
  EXPECT_EQ(MakeDirectories(dir / "link/x"), std::vector<std::string>{dir / "link/x"});
  for (const char* path : {"file", "file/x", "dangling", "dangling/x"}) {
    EXPECT_EQ(Fault([&] { MakeDirectories(dir / path); }), "fs.mkdir_failed 4") << path;
  }
  EXPECT_EQ(Fault([&] { MakeDirectories(dir / "new/x/y/" + std::string(256, 'n') + "/z"); }), "fs.mkdir_failed 4");
  {
    const ScopedFault fault(Operation::kMkdir, 3, ENOSPC);
    EXPECT_EQ(Fault([&] { MakeDirectories(dir / "new/x/y/z"); }), "fs.no_space 4");
  }
  EXPECT_FALSE(NameTaken(dir / "new"));
  EXPECT_EQ(Fault([&] { MakeDirectory(dir / "a"); }), "fs.exists 5");
  EXPECT_EQ(Fault([&] { MakeDirectory(dir / "none/x"); }), "fs.mkdir_failed 4");
  const ScopedFault fault(Operation::kMkdir, 1, ENOSPC);
  EXPECT_EQ(Fault([&] { MakeDirectory(dir / "full"); }), "fs.no_space 4");
}

TEST(MakeDirectories, ManyThreadsMakeTheSameTree) {
  const TestDirectory dir;
  std::vector<std::thread> threads;
  std::atomic<int> failures{0}, made{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      try {
        made += static_cast<int>(MakeDirectories(dir / "a/b/c/d").size());
      } catch (const Error&) {
        ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(made, 4);
}

// 0: the file system has RENAME_NOREPLACE. EINVAL: it has not, and the other way is taken.
class RenameNoReplaceTest : public testing::TestWithParam<int> {
 protected:
  void Rename(const std::string& from, const std::string& to) {
    if (GetParam() == 0) return RenameNoReplace(from, to);
    const ScopedFault fault(Operation::kRename, 1, GetParam());
    RenameNoReplace(from, to);
  }
};

TEST_P(RenameNoReplaceTest, NeverReplaces) {
  const TestDirectory dir;
  dir.Write("full/file", "x");
  dir.Write("target_file", "old");
  std::filesystem::create_directory(dir / "target_empty");
  std::filesystem::create_symlink("nowhere", dir / "target_dangling");
  dir.Write("source/file", "new");
  dir.Write("source_file", "new");
  for (const char* source : {"source", "source_file"}) {
    for (const char* target : {"full", "target_file", "target_empty", "target_dangling"}) {
      EXPECT_EQ(Fault([&] { Rename(dir / source, dir / target); }), "fs.exists 5") << source << " " << target;
    }
    EXPECT_TRUE(NameTaken(dir / source));
  }
  EXPECT_EQ(ReadAll(dir / "target_file"), "old");
  Rename(dir / "source", dir / "new");
  EXPECT_EQ(ReadAll(dir / "new/file"), "new");
  Rename(dir / "source_file", dir / "new_file");
  EXPECT_EQ(ReadAll(dir / "new_file"), "new");
  EXPECT_FALSE(NameTaken(dir / "source"));
  EXPECT_FALSE(NameTaken(dir / "source_file"));
  EXPECT_EQ(Fault([&] { Rename(dir / "source", dir / "other"); }), "fs.rename_failed 4");
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutSupport, RenameNoReplaceTest, testing::Values(0, EINVAL, ENOSYS));

TEST(RenameReplace, ReplacesFilesAndEmptyDirectoriesOnly) {
  const TestDirectory dir;
  dir.Write("marker", "old");
  RenameReplace(dir.Write("temp", "new"), dir / "marker");
  EXPECT_EQ(ReadAll(dir / "marker"), "new");
  dir.Write("a/file", "a");
  dir.Write("b/file", "b");
  EXPECT_EQ(Fault([&] { RenameReplace(dir / "a", dir / "b"); }), "fs.exists 5");
  std::filesystem::create_directory(dir / "empty");
  RenameReplace(dir / "a", dir / "empty");
  EXPECT_EQ(ReadAll(dir / "empty/file"), "a");
  const ScopedFault fault(Operation::kRename, 1, EIO);
  EXPECT_EQ(Fault([&] { RenameReplace(dir / "b", dir / "c"); }), "fs.rename_failed 4");
}

TEST(Remove, FilesAndEmptyDirectories) {
  const TestDirectory dir;
  RemoveFile(dir.Write("file", "x"));
  RemoveFile(dir / "file");
  EXPECT_EQ(Fault([&] { RemoveFile(dir.path()); }), "fs.remove_failed 4");
  dir.Write("full/file", "x");
  EXPECT_FALSE(RemoveEmptyDirectory(dir / "full"));
  RemoveFile(dir / "full/file");
  EXPECT_TRUE(RemoveEmptyDirectory(dir / "full"));
  EXPECT_TRUE(RemoveEmptyDirectory(dir / "full"));
  EXPECT_EQ(Fault([&] { RemoveEmptyDirectory(dir.Write("file", "")); }), "fs.remove_failed 4");
}

TEST(RemoveTree, RemovesEverythingInsideAndNothingElse) {
  const TestDirectory dir;
  dir.Write("precious/file", "precious");
  dir.Write("tree/a/b/c", "x");
  dir.Write("tree/.hidden", "x");
  dir.Write("tree/new\nline", "x");
  std::filesystem::create_directory(dir / "tree/empty");
  std::filesystem::create_directory_symlink(dir / "precious", dir / "tree/link");
  std::filesystem::create_symlink(dir / "precious/file", dir / "tree/a/link");
  std::filesystem::create_symlink("nowhere", dir / "tree/dangling");
  RemoveTree(dir / "tree");
  EXPECT_FALSE(NameTaken(dir / "tree"));
  EXPECT_EQ(ReadAll(dir / "precious/file"), "precious");

  RemoveTree(dir / "tree");  // absent is fine
  std::filesystem::create_directory_symlink(dir / "precious", dir / "link");
  RemoveTree(dir / "link");
  EXPECT_FALSE(NameTaken(dir / "link"));
  EXPECT_EQ(ReadAll(dir / "precious/file"), "precious");
  RemoveTree(dir.Write("file", "x"));
  EXPECT_FALSE(NameTaken(dir / "file"));
}

TEST(RemoveTree, DepthIsLimited) {
  const TestDirectory dir;
  std::string path = dir / "d0";
  for (int i = 1; i < 64; ++i) path += "/d";
  std::filesystem::create_directories(path);
  RemoveTree(dir / "d0");
  EXPECT_FALSE(NameTaken(dir / "d0"));
  std::filesystem::create_directories(path + "/d");
  std::string message;
  EXPECT_EQ(Fault([&] { RemoveTree(dir / "d0"); }, &message), "fs.remove_failed 4");
  EXPECT_NE(message.find("64 levels"), std::string::npos) << message;
}

TEST(RemoveTree, EveryOperationMayFail) {
  for (const Operation operation : {Operation::kStat, Operation::kOpen, Operation::kList, Operation::kUnlink}) {
    const TestDirectory dir;
    dir.Write("tree/a/b", "x");
    dir.Write("tree/c", "x");
    int failures = 0;
    while (NameTaken(dir / "tree") && failures < 100) {
      const ScopedFault fault(operation, failures + 1, EIO);
      if (Fault([&] { RemoveTree(dir / "tree"); }) == "none") break;
      ++failures;
    }
    EXPECT_GE(failures, 2) << OperationName(operation);
    EXPECT_FALSE(NameTaken(dir / "tree"));
  }
}

TEST(SyncDirectory, ReportsFailures) {
  const TestDirectory dir;
  SyncDirectory(dir.path());
  SyncFile(dir.Write("file", "x"));
  EXPECT_EQ(Fault([&] { SyncFile(dir / "none"); }), "fs.sync_failed 4");
  EXPECT_EQ(Fault([&] { SyncDirectory(dir / "file"); }), "fs.sync_failed 4");
  EXPECT_EQ(Fault([&] { SyncDirectory(dir / "none"); }), "fs.sync_failed 4");
  {
    const ScopedFault fault(Operation::kFsync, 1, EIO);
    EXPECT_EQ(Fault([&] { SyncDirectory(dir.path()); }), "fs.sync_failed 4");
  }
  const ScopedFault fault(Operation::kFsync, 1, EINVAL);
  EXPECT_EQ(Fault([&] { SyncDirectory(dir.path()); }), "none");
}

TEST(FreeSpace, IsTheSpaceOfTheFileSystem) {
  const TestDirectory dir;
  EXPECT_GT(FreeSpace(dir.path()), 0u);
  EXPECT_EQ(Fault([&] { FreeSpace(dir / "none"); }), "fs.write_failed 4");
}

TEST(HardLink, NeverReplaces) {
  const TestDirectory dir;
  const std::string file = dir.Write("file", "x");
  HardLink(file, dir / "other");
  EXPECT_EQ(Stat(file)->inode, Stat(dir / "other")->inode);
  EXPECT_EQ(Fault([&] { HardLink(file, dir / "other"); }), "fs.exists 5");
  EXPECT_EQ(Fault([&] { HardLink(dir / "none", dir / "x"); }), "fs.write_failed 4");
}

}  // namespace
}  // namespace ck::fs
