#include "libs/run/report_file.h"

#include <unistd.h>

#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/fs/write.h"

namespace ck::run {

void WriteReport(const std::string& path, std::string_view document) {
  const std::string absolute = fs::AbsolutePath(path);
  const std::string temporary = fs::JoinPath(fs::DirName(absolute), Cat(".", fs::BaseName(absolute), ".", static_cast<int64_t>(getpid()), ".tmp"));
  fs::WriteSmallFile(temporary, document, fs::Durability::kNoSync);
  fs::RenameReplace(temporary, absolute);
}

}  // namespace ck::run
