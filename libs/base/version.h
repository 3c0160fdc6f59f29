// The version of ck: one for all tools, written into every document they produce.
#ifndef CK_BASE_VERSION_H_
#define CK_BASE_VERSION_H_

#include <string_view>

namespace ck {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace ck

#endif  // CK_BASE_VERSION_H_
