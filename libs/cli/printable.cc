#include "libs/cli/printable.h"

#include <algorithm>
#include <cstdint>

#include "libs/base/text.h"

namespace ck::cli {

namespace {

struct Range {
  uint32_t begin, end;  // code points, half-open
};

constexpr Range kZeroWidth[] = {{0x300, 0x370}, {0x200B, 0x2010}, {0x20D0, 0x2100}, {0xFE00, 0xFE10}, {0xFE20, 0xFE30}};
constexpr Range kWide[] = {{0x1100, 0x1160},   {0x2E80, 0xA4D0},  {0xAC00, 0xD7A4}, {0xF900, 0xFB00},
                           {0xFE30, 0xFE70},   {0xFF00, 0xFF61},  {0xFFE0, 0xFFE7}, {0x1F300, 0x1F650},
                           {0x1F900, 0x1FA00}, {0x20000, 0x3FFFE}};
// C0, DEL and C1; marks, embeddings, overrides and isolates of bidirectional text; line and paragraph separators.
constexpr Range kUnsafe[] = {{0, 0x20}, {0x7F, 0xA0}, {0x200E, 0x2010}, {0x2028, 0x202F}, {0x2066, 0x206A}};

template <size_t kCount>
bool Contains(const Range (&ranges)[kCount], uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& r) { return r.begin <= code && code < r.end; });
}

// The bytes of the next character, which is well-formed, or 1 for a byte that starts none. `code` is its code point.
size_t NextCharacter(std::string_view text, uint32_t& code, bool& valid) {
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  valid = length <= text.size() && IsUtf8(text.substr(0, length));
  if (!valid) return 1;
  code = length == 1 ? first : first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (static_cast<uint8_t>(text[i]) & 0x3Fu);
  return length;
}

}  // namespace

std::string Printable(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0, length = 0; i < text.size(); i += length) {
    uint32_t code = 0;
    bool valid = false;
    length = NextCharacter(text.substr(i), code, valid);
    if (valid && !Contains(kUnsafe, code)) {
      out.append(text.substr(i, length));
      continue;
    }
    for (const char c : text.substr(i, length)) {
      const auto byte = static_cast<uint8_t>(c);
      out += Cat("\\x", kHex[byte >> 4], kHex[byte & 15]);
    }
  }
  return out;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    uint32_t code = 0;
    bool valid = false;
    i += NextCharacter(text.substr(i), code, valid);
    width += valid && Contains(kZeroWidth, code) ? 0 : valid && Contains(kWide, code) ? 2 : 1;
  }
  return width;
}

}  // namespace ck::cli
