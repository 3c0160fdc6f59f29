// One place for what a failed write says. Private to libs/fs.
#ifndef CK_FS_WRITE_ERROR_H_
#define CK_FS_WRITE_ERROR_H_

#include <cerrno>
#include <string>
#include <string_view>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/system_error.h"

namespace ck::fs {

// Throws `id`, or fs.no_space / fs.exists when the errno says so, whatever operation met it: a full disk may show at write, at fsync
// or at close. `action` is what failed ("cannot write"), `detail` follows the reason.
[[noreturn]] inline void ThrowWrite(const char* id, std::string_view action, const std::string& path, int error_number,
                                    std::string_view detail = "") {
  const std::string text = Cat(action, " ", Quote(path, 4096), ": ", ErrnoText(error_number), detail);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      throw EnvironmentError("fs.no_space", Cat(text, "; the free space that df shows may not be the limit: see quotas, ulimit -f and, "
                                                      "on striped file systems, the single targets"));
    case EEXIST:
      throw PreconditionError("fs.exists", text);
    default:
      throw EnvironmentError(id, text);
  }
}

}  // namespace ck::fs

#endif  // CK_FS_WRITE_ERROR_H_
