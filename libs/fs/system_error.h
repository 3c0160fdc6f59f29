// Text of errno values. Private to libs/fs.
#ifndef CK_FS_SYSTEM_ERROR_H_
#define CK_FS_SYSTEM_ERROR_H_

#include <string>
#include <system_error>

namespace ck::fs {

inline std::string ErrnoText(int error_number) { return std::generic_category().message(error_number); }

}  // namespace ck::fs

#endif  // CK_FS_SYSTEM_ERROR_H_
