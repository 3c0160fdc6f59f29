#include "libs/run/count_files.h"

#include <vector>

#include "libs/fs/read.h"

namespace ck::run {

uint64_t CountFiles(const std::string& directory) {
  uint64_t count = 0;
  std::vector<std::string> open = {directory};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    for (const fs::Name& entry : fs::ListNames(path)) {
      if (entry.is_directory) {
        open.push_back(fs::JoinPath(path, entry.name));
      } else {
        ++count;
      }
    }
  }
  return count;
}

}  // namespace ck::run
