#include "libs/fs/read.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/fs/fault.h"
#include "libs/fs/test_directory.h"

namespace ck::fs {
namespace {

// "id code" of the error, or "none".
std::string Fault(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return error.id() + " " + std::to_string(static_cast<int>(error.code()));
  }
  return "none";
}

TEST(Path, Lexical) {
  const struct {
    const char *path, *absolute, *base, *directory;
  } kCases[] = {
      {"/", "/", "/", "/"},
      {"/a", "/a", "a", "/"},
      {"/a/b", "/a/b", "b", "/a"},
      {"//a///b/", "/a/b", "b", "//a"},
      {"/a/./b/../c", "/a/c", "c", "/a/./b/.."},
      {"/../../a", "/a", "a", "/../.."},
      {"/a/..", "/", "..", "/a"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(AbsolutePath(c.path), c.absolute) << c.path;
    EXPECT_EQ(BaseName(c.path), c.base) << c.path;
    EXPECT_EQ(DirName(c.path), c.directory) << c.path;
  }
  EXPECT_EQ(DirName("a"), ".");
  EXPECT_EQ(DirName("a/b"), "a");
  EXPECT_EQ(BaseName("a/"), "a");
  EXPECT_EQ(AbsolutePath("x/../y"), std::filesystem::current_path().string() + "/y");
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
}

TEST(Path, PlainNames) {
  for (const char* good : {"a", "..a", "a b", "\xc3\xa4", "-rf", "..."}) EXPECT_TRUE(IsPlainName(good)) << good;
  for (const std::string bad : {"", ".", "..", "a/b", "/", "a\nb", "\x7f"}) EXPECT_FALSE(IsPlainName(bad)) << bad;
  EXPECT_FALSE(IsPlainName(std::string_view("a\0b", 3)));
}

TEST(Stat, TellsWhatIsThere) {
  const TestDirectory dir;
  dir.Write("file", "12345");
  chmod((dir / "file").c_str(), 0640);
  std::filesystem::create_directory(dir / "sub");
  std::filesystem::create_symlink("file", dir / "link");
  std::filesystem::create_symlink("nowhere", dir / "dangling");

  EXPECT_EQ(Stat(dir / "file")->type, FileType::kFile);
  EXPECT_EQ(Stat(dir / "file")->size_bytes, 5u);
  EXPECT_EQ(Stat(dir / "file")->mode, 0640u);
  EXPECT_EQ(Stat(dir / "link")->inode, Stat(dir / "file")->inode);
  EXPECT_EQ(Stat(dir / "sub")->type, FileType::kDirectory);
  for (const char* absent : {"none", "dangling", "file/below"}) EXPECT_FALSE(Stat(dir / absent)) << absent;
  EXPECT_TRUE(NameTaken(dir / "dangling"));
  EXPECT_FALSE(NameTaken(dir / "none"));
  EXPECT_EQ(Fault([&] { Stat(dir / std::string(300, 'x')); }), "fs.read_failed 4");
  EXPECT_EQ(RealPath(dir / "sub/../link"), RealPath(dir / "file"));
  EXPECT_EQ(Fault([&] { RealPath(dir / "none"); }), "fs.not_found 3");
}

TEST(ListDirectory, SortsAndFollowsLinks) {
  const TestDirectory dir;
  const std::string odd = "new\nline \xff", longest(255, 'n');
  for (const std::string& name : {std::string("b"), std::string("B"), odd, longest, std::string(".hidden")}) dir.Write(name, name);
  std::filesystem::create_directory(dir / "sub");
  std::filesystem::create_symlink("b", dir / "to_file");
  std::filesystem::create_symlink("nowhere", dir / "dangling");
  std::filesystem::create_symlink("loop", dir / "loop");
  mkfifo((dir / "fifo").c_str(), 0600);

  std::vector<std::string> names;
  for (const Entry& entry : ListDirectory(dir.path())) {
    names.push_back(entry.name);
    EXPECT_EQ(entry.vanished, entry.name == "dangling" || entry.name == "loop") << entry.name;
    const bool no_file = entry.name == "fifo" || entry.vanished;
    EXPECT_EQ(entry.info.type, no_file                ? FileType::kOther
                               : entry.name == "sub" ? FileType::kDirectory
                                                     : FileType::kFile);
    if (entry.name == "to_file") {
      EXPECT_EQ(entry.info.size_bytes, 1u);
    }
  }
  const std::vector<std::string> expected = {".hidden", "B", "b", "dangling", "fifo", "loop", odd, longest, "sub", "to_file"};
  std::vector<std::string> sorted = expected;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(names, sorted);

  names.clear();
  for (const Name& name : ListNames(dir.path())) {
    names.push_back(name.name);
    EXPECT_EQ(name.is_directory, name.name == "sub") << name.name;
  }
  EXPECT_EQ(names, sorted);
}

TEST(ListDirectory, AnEntryThatVanishesIsMarked) {
  const TestDirectory dir;
  dir.Write("a", "1");
  dir.Write("b", "22");
  for (const int error_number : {ENOENT, ESTALE}) {
    const ScopedFault fault(Operation::kStat, 1, error_number);
    const auto entries = ListDirectory(dir.path());
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_NE(entries[0].vanished, entries[1].vanished);
  }
}

TEST(ListDirectory, Failures) {
  const TestDirectory dir;
  dir.Write("file", "");
  EXPECT_EQ(Fault([&] { ListDirectory(dir / "none"); }), "fs.not_found 3");
  EXPECT_EQ(Fault([&] { ListDirectory(dir / "file"); }), "fs.not_a_directory 3");
  const struct {
    Operation operation;
    int error_number;
    const char* expected;
  } kCases[] = {
      {Operation::kOpen, EACCES, "fs.permission 4"},
      {Operation::kOpen, EIO, "fs.read_failed 4"},
      {Operation::kList, EIO, "fs.read_failed 4"},
      {Operation::kStat, EIO, "fs.read_failed 4"},
  };
  for (const auto& c : kCases) {
    const ScopedFault fault(c.operation, 1, c.error_number);
    EXPECT_EQ(Fault([&] { ListDirectory(dir.path()); }), c.expected);
  }
}

TEST(ReadSmallFile, WholeOrError) {
  const TestDirectory dir;
  const std::string path = dir.Write("file", std::string("a\0b", 3));
  dir.Write("empty", "");
  EXPECT_EQ(ReadSmallFile(path, 3), std::string("a\0b", 3));
  EXPECT_EQ(ReadSmallFile(dir / "empty", 0), "");
  EXPECT_EQ(Fault([&] { ReadSmallFile(path, 2); }), "fs.too_large 3");
  // Too large is decided from the size: nothing of that size is allocated.
  const std::string huge = dir.Write("huge", "");
  ASSERT_EQ(truncate(huge.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(Fault([&] { ReadSmallFile(huge, 100); }), "fs.too_large 3");
  EXPECT_EQ(Fault([&] { ReadSmallFile(dir / "none", 3); }), "fs.not_found 3");
  EXPECT_EQ(Fault([&] { ReadSmallFile(dir / "file/below", 3); }), "fs.not_a_directory 3");
}

TEST(InputFile, OnlyRegularFiles) {
  const TestDirectory dir;
  mkfifo((dir / "fifo").c_str(), 0600);  // opening it for reading must not wait for a writer
  for (const std::string& path : {dir.path(), dir / "fifo", std::string("/dev/zero")}) {
    EXPECT_EQ(Fault([&] { InputFile::Open(path); }), "fs.not_a_file 3") << path;
  }
}

TEST(InputFile, ReadsRangesAndCountsBytes) {
  const TestDirectory dir;
  const auto file = InputFile::Open(dir.Write("file", "0123456789"));
  EXPECT_EQ(file->size(), 10u);
  const uint64_t before = BytesRead();
  EXPECT_EQ(file->Read(3, 4, 100), "3456");
  EXPECT_EQ(BytesRead() - before, 4u);
  EXPECT_EQ(file->Read(10, 0, 100), "");
  char byte;
  EXPECT_EQ(Fault([&] { file->ReadInto(10, 1, &byte); }), "bytes.out_of_range 3");
  EXPECT_EQ(Fault([&] { file->ReadInto(UINT64_MAX, 2, &byte); }), "bytes.out_of_range 3");
  file->WillNeed(0, 10);
}

TEST(InputFile, AFileThatShrinksIsAnError) {
  const TestDirectory dir;
  const std::string path = dir.Write("file", "0123456789");
  const auto file = InputFile::Open(path);
  ASSERT_EQ(truncate(path.c_str(), 5), 0);
  char bytes[10];
  EXPECT_EQ(Fault([&] { file->ReadInto(0, 10, bytes); }), "fs.shrunk 4");
}

TEST(InputFile, AStaleHandleIsReopenedOnce) {
  const TestDirectory dir;
  const std::string path = dir.Write("file", "0123456789");
  const auto file = InputFile::Open(path);
  {
    const ScopedFault fault(Operation::kRead, 1, ESTALE);
    EXPECT_EQ(file->Read(2, 3, 10), "234");
    EXPECT_EQ(file->Read(0, 10, 10), "0123456789");
  }
  // Another file under the same name has the right size, and must not be taken for the old one.
  std::filesystem::rename(dir.Write("other", "abcdefghij"), path);
  const ScopedFault fault(Operation::kRead, 1, ESTALE);
  EXPECT_EQ(Fault([&] { file->Read(0, 10, 10); }), "fs.read_failed 4");
}

TEST(InputFile, Failures) {
  const TestDirectory dir;
  const std::string path = dir.Write("file", "0123456789");
  const struct {
    Operation operation;
    int error_number;
    const char* expected;
  } kCases[] = {
      {Operation::kOpen, ENOENT, "fs.not_found 3"},   {Operation::kOpen, EACCES, "fs.permission 4"},
      {Operation::kOpen, EIO, "fs.read_failed 4"},    {Operation::kOpen, ESTALE, "fs.read_failed 4"},
      {Operation::kStat, EIO, "fs.read_failed 4"},    {Operation::kRead, EIO, "fs.read_failed 4"},
      {Operation::kRead, EACCES, "fs.permission 4"},
  };
  for (const auto& c : kCases) {
    const ScopedFault fault(c.operation, 1, c.error_number);
    EXPECT_EQ(Fault([&] { ReadSmallFile(path, 100); }), c.expected);
  }
}

// Root may read everything: gives up the capabilities that say so, and takes them back. Does nothing for other users, who have none.
class WithoutOverride {
 public:
  WithoutOverride() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct data[2] = {before_[0], before_[1]};
    data[0].effective &= ~(1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(syscall(SYS_capset, &header_, data), 0);
  }
  ~WithoutOverride() { EXPECT_EQ(syscall(SYS_capset, &header_, before_), 0); }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

TEST(InputFile, PermissionIsNotTakenForAbsence) {
  const TestDirectory dir;
  const std::string path = dir.Write("file", "x");
  chmod(path.c_str(), 0);
  const WithoutOverride without_override;
  EXPECT_EQ(Fault([&] { InputFile::Open(path); }), "fs.permission 4");
}

TEST(Fault, CountsEveryOperation) {
  const TestDirectory dir;
  const std::string path = dir.Write("file", "x");
  const uint64_t opens = OperationCount(Operation::kOpen), reads = OperationCount(Operation::kRead);
  ReadSmallFile(path, 1);
  EXPECT_EQ(OperationCount(Operation::kOpen) - opens, 1u);
  EXPECT_EQ(OperationCount(Operation::kRead) - reads, 1u);
  const ScopedFault fault(Operation::kOpen, 2, EIO);
  EXPECT_EQ(Fault([&] { ReadSmallFile(path, 1); }), "none");
  EXPECT_EQ(Fault([&] { ReadSmallFile(path, 1); }), "fs.read_failed 4");
  EXPECT_EQ(Fault([&] { ReadSmallFile(path, 1); }), "none");
}

}  // namespace
}  // namespace ck::fs
