// Names of files that come out of files: an index of shards, the items of a checkpoint.
#ifndef CK_BASE_PLAIN_NAME_H_
#define CK_BASE_PLAIN_NAME_H_

#include <string_view>

namespace ck {

// True when `name` is one path component that stays in its directory: not empty, not "." or "..", no '/', no NUL or other control
// byte.
bool IsPlainName(std::string_view name);

}  // namespace ck

#endif  // CK_BASE_PLAIN_NAME_H_
