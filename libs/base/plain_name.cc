#include "libs/base/plain_name.h"

namespace ck {

bool IsPlainName(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || c == '/') return false;
  }
  return true;
}

}  // namespace ck
