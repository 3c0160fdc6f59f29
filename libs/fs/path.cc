// The lexical path functions of read.h.
#include <cerrno>
#include <cstdlib>
#include <memory>

#include <limits.h>
#include <unistd.h>

#include "libs/base/error.h"
#include "libs/base/plain_name.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/fs/system_error.h"

namespace ck::fs {
namespace {

std::string_view WithoutTrailingSlashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

std::string WorkingDirectory() {
  const std::unique_ptr<char, decltype(&std::free)> path(getcwd(nullptr, 0), &std::free);
  if (path == nullptr) throw InputError("fs.not_found", Cat("the working directory: ", ErrnoText(errno)));
  return path.get();
}

}  // namespace

std::string AbsolutePath(const std::string& path) {
  const std::string whole = StartsWith(path, "/") ? path : Cat(WorkingDirectory(), "/", path);
  std::vector<std::string> kept;
  for (std::string& part : Split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(std::move(part));
    } else if (!kept.empty()) {
      kept.pop_back();
    }
  }
  return "/" + Join(kept, "/");
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return directory.back() == '/' ? Cat(directory, name) : Cat(directory, "/", name);
}

std::string BaseName(std::string_view path) {
  path = WithoutTrailingSlashes(path);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || path == "/") return std::string(path);
  return std::string(path.substr(slash + 1));
}

std::string DirName(std::string_view path) {
  path = WithoutTrailingSlashes(path);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(WithoutTrailingSlashes(path.substr(0, slash + 1)));
}

bool IsPlainName(std::string_view name) {
  return ck::IsPlainName(name);
}

}  // namespace ck::fs
