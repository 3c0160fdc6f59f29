#include "libs/fs/read.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/fault.h"
#include "libs/fs/system_error.h"

namespace ck::fs {
namespace {

std::atomic<uint64_t> bytes_read{0};

[[noreturn]] void ThrowRead(const std::string& path, int error_number) {
  const std::string text = Cat(Quote(path, 4096), ": ", ErrnoText(error_number));
  switch (error_number) {
    case ENOENT:
      throw InputError("fs.not_found", text);
    case ENOTDIR:
      throw InputError("fs.not_a_directory", text);
    case EISDIR:
      throw InputError("fs.not_a_file", text);
    case EACCES:
    case EPERM:
      throw EnvironmentError("fs.permission", text);
    default:
      throw EnvironmentError("fs.read_failed", Cat("cannot read ", text));
  }
}

Info ToInfo(const struct stat& status) {
  Info info;
  info.type = S_ISREG(status.st_mode)   ? FileType::kFile
              : S_ISDIR(status.st_mode) ? FileType::kDirectory
                                        : FileType::kOther;
  info.size_bytes = static_cast<uint64_t>(status.st_size);
  info.device = status.st_dev;
  info.inode = status.st_ino;
  info.mode = status.st_mode & 07777;
  return info;
}

int StatAt(int directory, const char* name, int flags, struct stat& status) {
  if (const int fault = InjectedFault(Operation::kStat)) return fault;
  return fstatat(directory, name, &status, flags) == 0 ? 0 : errno;
}

// Owns a DIR.
class Directory {
 public:
  explicit Directory(const std::string& path) : path_(path) {
    const int fault = InjectedFault(Operation::kOpen);
    if (fault == 0) stream_ = opendir(path.c_str());
    if (stream_ == nullptr) ThrowRead(path, fault != 0 ? fault : errno);
  }
  ~Directory() { closedir(stream_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  int fd() const { return dirfd(stream_); }

  // The next entry that is not "." or "..", or nullptr at the end.
  const dirent* Next() {
    for (;;) {
      errno = InjectedFault(Operation::kList);
      const dirent* entry = errno == 0 ? readdir(stream_) : nullptr;
      if (entry == nullptr && errno != 0) ThrowRead(path_, errno);
      if (entry == nullptr) return nullptr;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry;
    }
  }

 private:
  std::string path_;
  DIR* stream_ = nullptr;
};

// Fills an entry from what its name leads to. One entry that is gone or out of reach does not end the listing.
void Look(const Directory& directory, const std::string& path, Entry& entry) {
  struct stat status;
  const int error_number = StatAt(directory.fd(), entry.name.c_str(), 0, status);
  switch (error_number) {
    case 0:
      entry.info = ToInfo(status);
      return;
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case ESTALE:
      entry.vanished = true;
      return;
    case EACCES:
      // A link into a closed directory; when the entry itself cannot be seen either, this directory is the closed one.
      if (StatAt(directory.fd(), entry.name.c_str(), AT_SYMLINK_NOFOLLOW, status) == 0) return;
      ThrowRead(JoinPath(path, entry.name), error_number);
    default:
      ThrowRead(JoinPath(path, entry.name), error_number);
  }
}

// One pread, or 0 bytes at the end of the file, or -1 with the error number.
ssize_t ReadOnce(int fd, char* out, uint64_t length, uint64_t offset, int& error_number) {
  // The kernel moves at most about 2 GiB per call; a smaller step also keeps EINTR short.
  constexpr uint64_t kStep = uint64_t{1} << 30;
  for (;;) {
    error_number = InjectedFault(Operation::kRead);
    if (error_number != 0) return -1;
    const ssize_t count = pread(fd, out, std::min(length, kStep), static_cast<off_t>(offset));
    if (count >= 0) {
      bytes_read.fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
      return count;
    }
    if (errno != EINTR) {
      error_number = errno;
      return -1;
    }
  }
}

}  // namespace

std::optional<Info> Stat(const std::string& path) {
  struct stat status;
  const int error_number = StatAt(AT_FDCWD, path.c_str(), 0, status);
  if (error_number == ENOENT || error_number == ENOTDIR) return std::nullopt;
  if (error_number != 0) ThrowRead(path, error_number);
  return ToInfo(status);
}

bool NameTaken(const std::string& path) {
  struct stat status;
  const int error_number = StatAt(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, status);
  if (error_number == ENOENT || error_number == ENOTDIR) return false;
  if (error_number != 0) ThrowRead(path, error_number);
  return true;
}

std::string RealPath(const std::string& path) {
  const int fault = InjectedFault(Operation::kStat);
  const std::unique_ptr<char, decltype(&std::free)> resolved(fault == 0 ? realpath(path.c_str(), nullptr) : nullptr, &std::free);
  if (resolved == nullptr) ThrowRead(path, fault != 0 ? fault : errno);
  return resolved.get();
}

std::vector<Entry> ListDirectory(const std::string& path) {
  Directory directory(path);
  std::vector<Entry> entries;
  while (const dirent* found = directory.Next()) {
    Entry& entry = entries.emplace_back();
    entry.name = found->d_name;
    Look(directory, path, entry);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

std::vector<Name> ListNames(const std::string& path) {
  Directory directory(path);
  std::vector<Name> names;
  while (const dirent* found = directory.Next()) {
    Name& name = names.emplace_back();
    name.name = found->d_name;
    name.is_directory = found->d_type == DT_DIR;
    struct stat status;
    // Some file systems do not tell the type in a listing.
    if (found->d_type == DT_UNKNOWN && StatAt(directory.fd(), found->d_name, AT_SYMLINK_NOFOLLOW, status) == 0) {
      name.is_directory = S_ISDIR(status.st_mode);
    }
  }
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) { return a.name < b.name; });
  return names;
}

int InputFile::OpenFile(const std::string& path, Version& version) {
  const int fault = InjectedFault(Operation::kOpen);
  // O_NONBLOCK: opening a FIFO must fail the check below, not wait for a writer. It changes nothing for regular files.
  const int fd = fault == 0 ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
  if (fd < 0) {
    const int error_number = fault != 0 ? fault : errno;
    if (error_number == ENXIO) throw InputError("fs.not_a_file", Cat(Quote(path, 4096), " is not a regular file"));
    ThrowRead(path, error_number);
  }
  struct stat status;
  const int error_number = StatAt(fd, "", AT_EMPTY_PATH, status);
  if (error_number != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    if (error_number != 0) ThrowRead(path, error_number);
    throw InputError("fs.not_a_file", Cat(Quote(path, 4096), " is not a regular file"));
  }
  version = {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  return fd;
}

InputFile::InputFile(std::string path, int fd, const Version& version)
    : path_(std::move(path)), fd_(fd), size_(version.size_bytes), version_(version) {}

std::unique_ptr<InputFile> InputFile::Open(const std::string& path) {
  Version version;
  const int fd = OpenFile(path, version);
  return std::unique_ptr<InputFile>(new InputFile(path, fd, version));
}

InputFile::~InputFile() { close(fd_); }

// Replaces the file behind the descriptor in one step, so that other threads may go on reading through it.
void InputFile::Reopen() const {
  Version version;
  const int fd = OpenFile(path_, version);
  const bool same = version == version_;
  const bool replaced = same && dup3(fd, fd_, O_CLOEXEC) >= 0;
  const int error_number = errno;
  close(fd);
  if (!same) throw EnvironmentError("fs.read_failed", Cat(Quote(path_, 4096), " was replaced while it was read"));
  if (!replaced) ThrowRead(path_, error_number);
}

void InputFile::ReadInto(uint64_t offset, uint64_t length, char* out) const {
  CheckRange(offset, length);
  bool reopened = false;
  uint64_t done = 0;
  while (done < length) {
    int error_number = 0;
    const ssize_t count = ReadOnce(fd_, out + done, length - done, offset + done, error_number);
    if (count > 0) {
      done += static_cast<uint64_t>(count);
    } else if (count == 0) {
      throw EnvironmentError("fs.shrunk", Cat(Quote(path_, 4096), " became shorter while it was read: it ends before byte ",
                                              offset + done, ", its size was ", size_));
    } else if (error_number == ESTALE && !reopened) {
      reopened = true;
      Reopen();
    } else {
      ThrowRead(path_, error_number);
    }
  }
}

void InputFile::WillNeed(uint64_t offset, uint64_t length) const {
  // Advice only: a failure costs speed, never correctness.
  posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
}

std::string ReadSmallFile(const std::string& path, uint64_t limit_bytes) {
  const auto file = InputFile::Open(path);
  if (file->size() > limit_bytes) {
    throw InputError("fs.too_large", Cat(Quote(path, 4096), " has ", file->size(), " bytes, at most ", limit_bytes, " are read"));
  }
  std::string data(file->size(), '\0');
  file->ReadInto(0, data.size(), data.data());
  return data;
}

uint64_t BytesRead() { return bytes_read.load(std::memory_order_relaxed); }

}  // namespace ck::fs
