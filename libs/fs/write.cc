#include "libs/fs/write.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/fault.h"
#include "libs/fs/read.h"
#include "libs/fs/write_error.h"

namespace ck::fs {
namespace {

std::atomic<uint64_t> bytes_written{0};

// Runs a system call that returns -1 and errno, again after EINTR. Returns 0 or the error number.
template <typename Call>
int Attempt(Operation operation, Call call) {
  for (;;) {
    if (const int fault = InjectedFault(operation)) return fault;
    if (call() >= 0) return 0;
    if (errno != EINTR) return errno;
  }
}

int Fsync(int fd) {
  const int error_number = Attempt(Operation::kFsync, [&] { return fsync(fd); });
  return error_number == EINVAL ? 0 : error_number;  // the file system has no fsync for this kind of file
}

void SyncPath(const std::string& path, int flags, const char* action) {
  int fd = -1;
  int error_number = Attempt(Operation::kOpen, [&] { return fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); });
  if (error_number == 0) {
    error_number = Fsync(fd);
    close(fd);
  }
  if (error_number != 0) ThrowWrite("fs.sync_failed", action, path, error_number);
}

bool IsDirectoryItself(const std::string& path) {
  struct stat status;
  return Attempt(Operation::kStat, [&] { return lstat(path.c_str(), &status); }) == 0 && S_ISDIR(status.st_mode);
}

// RenameNoReplace for a file system without RENAME_NOREPLACE. Returns 0 or the error number.
int RenameAfterLook(const std::string& from, const std::string& to) {
  if (!IsDirectoryItself(from)) {
    const int error_number = Attempt(Operation::kLink, [&] { return link(from.c_str(), to.c_str()); });
    if (error_number == 0) return Attempt(Operation::kUnlink, [&] { return unlink(from.c_str()); });
    if (error_number != EPERM && error_number != EOPNOTSUPP && error_number != ENOSYS) return error_number;
  }
  if (NameTaken(to)) return EEXIST;
  return Attempt(Operation::kRename, [&] { return rename(from.c_str(), to.c_str()); });
}

[[noreturn]] void ThrowRename(const std::string& from, const std::string& to, int error_number) {
  if (error_number == ENOTEMPTY) error_number = EEXIST;
  ThrowWrite("fs.rename_failed", Cat("cannot rename ", Quote(from, 4096), " to"), to, error_number);
}

}  // namespace

OutputFile::OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<OutputFile> OutputFile::Create(const std::string& path) {
  int fd = -1;
  const int error_number = Attempt(Operation::kCreate, [&] {
    return fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  });
  if (error_number != 0) ThrowWrite("fs.write_failed", "cannot create", path, error_number);
  return std::unique_ptr<OutputFile>(new OutputFile(path, fd));
}

void OutputFile::Allocate(uint64_t size_bytes) {
  if (size_bytes == 0) return;  // fallocate refuses it, and the file is empty already
  allocated_bytes_ = size_bytes;
  const auto size = static_cast<off_t>(size_bytes);
  int error_number = EFBIG;
  if (size_bytes <= static_cast<uint64_t>(std::numeric_limits<off_t>::max())) {
    error_number = Attempt(Operation::kAllocate, [&] { return fallocate(fd_, 0, 0, size); });
    if (error_number == EOPNOTSUPP || error_number == ENOSYS) {
      error_number = Attempt(Operation::kAllocate, [&] { return ftruncate(fd_, size); });
    }
  }
  if (error_number != 0) ThrowWrite("fs.write_failed", Cat("cannot reserve ", size_bytes, " bytes for"), path_, error_number);
}

void OutputFile::WriteAt(uint64_t offset, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = 0;
    int error_number = Attempt(Operation::kWrite, [&] {
      return count = pwrite(fd_, data.data(), data.size(), static_cast<off_t>(offset));
    });
    if (error_number == 0 && count == 0) error_number = ENOSPC;  // no progress and no reason: never loop on it
    if (error_number != 0) {
      const uint64_t written = written_bytes_.load();
      ThrowWrite("fs.write_failed", "cannot write", path_, error_number,
                 Cat(" after ", written, " of ", std::max(allocated_bytes_, written + data.size()), " bytes"));
    }
    const auto done = static_cast<size_t>(count);
    written_bytes_.fetch_add(done, std::memory_order_relaxed);
    bytes_written.fetch_add(done, std::memory_order_relaxed);
    offset += done;
    data.remove_prefix(done);
  }
}

void OutputFile::SetMode(uint32_t mode) {
  const int error_number = Attempt(Operation::kCreate, [&] { return fchmod(fd_, mode & 07777); });
  if (error_number != 0) ThrowWrite("fs.write_failed", "cannot set the mode of", path_, error_number);
}

void OutputFile::StartWriteback(uint64_t offset, uint64_t length) {
  // Best effort: Sync reports what goes wrong.
  sync_file_range(fd_, static_cast<off_t>(offset), static_cast<off_t>(length), SYNC_FILE_RANGE_WRITE);
}

void OutputFile::Sync() {
  const int error_number = Fsync(fd_);
  if (error_number != 0) ThrowWrite("fs.sync_failed", "cannot sync", path_, error_number);
}

void OutputFile::Close() {
  // The descriptor is gone whatever close says, so it is never tried twice.
  const int fault = InjectedFault(Operation::kClose);
  const int result = close(std::exchange(fd_, -1));
  const int error_number = fault != 0 ? fault : result != 0 ? errno : 0;
  if (error_number != 0) ThrowWrite("fs.write_failed", "cannot close", path_, error_number);
}

void WriteSmallFile(const std::string& path, std::string_view data, Durability durability) {
  const auto file = OutputFile::Create(path);
  try {
    file->WriteAt(0, data);
    if (durability == Durability::kSync) file->Sync();
    file->Close();
  } catch (const Error&) {
    unlink(path.c_str());
    throw;
  }
}

void MakeDirectory(const std::string& path) {
  const int error_number = Attempt(Operation::kMkdir, [&] { return mkdir(path.c_str(), 0777); });
  if (error_number != 0) ThrowWrite("fs.mkdir_failed", "cannot make the directory", path, error_number);
}

std::vector<std::string> MakeDirectories(const std::string& path) {
  // Existing directories are looked at and not made: a read-only or automounted parent may answer mkdir with anything.
  std::vector<std::string> missing;
  for (std::string at = path;; at = DirName(at)) {
    const auto info = Stat(at);
    if (info && info->type == FileType::kDirectory) break;
    // Something that is no directory, or a dangling link, stays in the way of mkdir, which then says so.
    missing.push_back(at);
    if (info || at == "/" || at == ".") break;
  }
  std::reverse(missing.begin(), missing.end());
  std::vector<std::string> made;
  for (const std::string& at : missing) {
    const int error_number = Attempt(Operation::kMkdir, [&] { return mkdir(at.c_str(), 0777); });
    if (error_number == 0) {
      made.push_back(at);
      continue;
    }
    const auto info = error_number == EEXIST ? Stat(at) : std::nullopt;
    const bool raced = info && info->type == FileType::kDirectory;
    if (!raced) {
      const bool in_the_way = error_number == EEXIST;
      for (; !made.empty(); made.pop_back()) rmdir(made.back().c_str());  // fails where others use it already
      ThrowWrite("fs.mkdir_failed", "cannot make the directory", at, in_the_way ? ENOTDIR : error_number);
    }
  }
  return made;
}

void SyncDirectory(const std::string& path) { SyncPath(path, O_DIRECTORY, "cannot sync the directory"); }

void SyncFile(const std::string& path) { SyncPath(path, O_NONBLOCK, "cannot sync"); }

void RenameNoReplace(const std::string& from, const std::string& to) {
  int error_number = Attempt(Operation::kRename, [&] {
    return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  });
  if (error_number == EINVAL || error_number == ENOSYS || error_number == EOPNOTSUPP) error_number = RenameAfterLook(from, to);
  if (error_number != 0) ThrowRename(from, to, error_number);
}

void RenameReplace(const std::string& from, const std::string& to) {
  const int error_number = Attempt(Operation::kRename, [&] { return rename(from.c_str(), to.c_str()); });
  if (error_number != 0) ThrowRename(from, to, error_number);
}

void RemoveFile(const std::string& path) {
  const int error_number = Attempt(Operation::kUnlink, [&] { return unlink(path.c_str()); });
  if (error_number != 0 && error_number != ENOENT) ThrowWrite("fs.remove_failed", "cannot remove", path, error_number);
}

bool RemoveEmptyDirectory(const std::string& path) {
  const int error_number = Attempt(Operation::kUnlink, [&] { return rmdir(path.c_str()); });
  if (error_number == 0 || error_number == ENOENT) return true;
  if (error_number == ENOTEMPTY || error_number == EEXIST) return false;
  ThrowWrite("fs.remove_failed", "cannot remove", path, error_number);
}

uint64_t FreeSpace(const std::string& path) {
  struct statvfs status;
  const int error_number = Attempt(Operation::kStat, [&] { return statvfs(path.c_str(), &status); });
  if (error_number != 0) ThrowWrite("fs.write_failed", "cannot ask for the free space of", path, error_number);
  return CheckedMul(status.f_bavail, status.f_frsize).value_or(std::numeric_limits<uint64_t>::max());
}

void HardLink(const std::string& from, const std::string& to) {
  const int error_number = Attempt(Operation::kLink, [&] { return link(from.c_str(), to.c_str()); });
  if (error_number != 0) ThrowWrite("fs.write_failed", Cat("cannot link ", Quote(from, 4096), " to"), to, error_number);
}

uint64_t BytesWritten() { return bytes_written.load(std::memory_order_relaxed); }

}  // namespace ck::fs
