#include "libs/run/report_file.h"

#include <unistd.h>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/fs/write.h"

namespace ck::run {

void CheckReport(const std::string& path) {
  const std::string absolute = fs::AbsolutePath(path), folder = fs::DirName(absolute);
  const auto refuse = [&](const std::string& why) { throw EnvironmentError("report.not_writable", Cat("report ", Quote(path, 4096), " cannot be written: ", why)); };
  const auto above = fs::Stat(folder), there = fs::Stat(absolute);
  if (!above || above->type != fs::FileType::kDirectory) refuse(Cat(Quote(folder, 4096), " is no directory"));
  if (there && there->type == fs::FileType::kDirectory) refuse("it is a directory");
  if (access(folder.c_str(), W_OK) != 0) refuse(Cat(Quote(folder, 4096), " is not writable"));
}

void WriteReport(const std::string& path, std::string_view document) {
  const std::string absolute = fs::AbsolutePath(path);
  const std::string temporary = fs::JoinPath(fs::DirName(absolute), Cat(".", fs::BaseName(absolute), ".", static_cast<int64_t>(getpid()), ".tmp"));
  fs::WriteSmallFile(temporary, document, fs::Durability::kNoSync);
  fs::RenameReplace(temporary, absolute);
}

}  // namespace ck::run
