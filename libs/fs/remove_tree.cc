// RemoveTree: depth first over an explicit stack of open directories. Every step is relative to the descriptor of its parent and refuses
// links, so an attacker who exchanges a directory for a link while this runs gains nothing outside the tree.
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/fault.h"
#include "libs/fs/write.h"
#include "libs/fs/write_error.h"

namespace ck::fs {
namespace {

// One descriptor is open per level. Checkpoints are two or three levels deep; this leaves room for copied assets.
constexpr size_t kMaxDepth = 64;

struct CloseDirectory {
  void operator()(DIR* stream) const { closedir(stream); }
};

struct Level {
  std::string path;  // for messages
  std::string name;  // relative to the level below it on the stack
  std::unique_ptr<DIR, CloseDirectory> stream;
  std::vector<std::string> names;  // still to remove; read before the first removal, which may disturb a listing
};

[[noreturn]] void Throw(const std::string& path, int error_number) {
  ThrowWrite("fs.remove_failed", "cannot remove", path, error_number == EEXIST ? ENOTEMPTY : error_number);
}

int Unlink(int parent, const std::string& name, int flags) {
  const int fault = InjectedFault(Operation::kUnlink);
  if (fault != 0) return fault;
  return unlinkat(parent, name.c_str(), flags) == 0 || errno == ENOENT ? 0 : errno;
}

Level OpenLevel(int parent, const std::string& name, const std::string& path) {
  int error_number = InjectedFault(Operation::kOpen);
  const int fd = error_number == 0 ? openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
  if (fd < 0) Throw(path, error_number != 0 ? error_number : errno);
  Level level{path, name, std::unique_ptr<DIR, CloseDirectory>(fdopendir(fd)), {}};
  if (level.stream == nullptr) {
    error_number = errno;
    close(fd);
    Throw(path, error_number);
  }
  for (;;) {
    errno = InjectedFault(Operation::kList);
    const dirent* entry = errno == 0 ? readdir(level.stream.get()) : nullptr;
    if (entry == nullptr && errno != 0) Throw(path, errno);
    if (entry == nullptr) return level;
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) level.names.emplace_back(entry->d_name);
  }
}

}  // namespace

void RemoveTree(const std::string& path) {
  std::vector<Level> stack;
  // Removes what is no directory, and puts a directory on the stack.
  const auto remove = [&stack](int parent, const std::string& name, const std::string& at) {
    struct stat status;
    int error_number = InjectedFault(Operation::kStat);
    if (error_number == 0 && fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) error_number = errno;
    if (error_number == ENOENT || error_number == ENOTDIR) return;
    if (error_number != 0) Throw(at, error_number);
    if (!S_ISDIR(status.st_mode)) {
      error_number = Unlink(parent, name, 0);
      if (error_number != 0) Throw(at, error_number);
    } else if (stack.size() == kMaxDepth) {
      throw EnvironmentError("fs.remove_failed", Cat("cannot remove ", Quote(at, 4096), ": nested deeper than ", kMaxDepth, " levels"));
    } else {
      stack.push_back(OpenLevel(parent, name, at));
    }
  };
  remove(AT_FDCWD, path, path);
  while (!stack.empty()) {
    if (!stack.back().names.empty()) {
      const std::string name = std::move(stack.back().names.back());
      stack.back().names.pop_back();
      remove(dirfd(stack.back().stream.get()), name, Cat(stack.back().path, "/", name));
      continue;
    }
    const Level empty = std::move(stack.back());
    stack.pop_back();
    const int parent = stack.empty() ? AT_FDCWD : dirfd(stack.back().stream.get());
    const int error_number = Unlink(parent, empty.name, AT_REMOVEDIR);
    if (error_number != 0) Throw(empty.path, error_number);
  }
}

}  // namespace ck::fs
