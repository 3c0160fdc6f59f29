#include "libs/pickle/literal.h"

#include <cstring>

namespace ck::pickle {
namespace {

constexpr uint32_t kMaxCodePoint = 0x10FFFF;
constexpr uint32_t kBadCodePoint = 0xFFFFFFFF;

// The code point at `position`, which moves behind it; kBadCodePoint, without moving, when the bytes are not UTF-8.
uint32_t Decode(std::string_view text, size_t& position) {
  const uint8_t lead = static_cast<uint8_t>(text[position]);
  if (lead < 0x80) {
    ++position;
    return lead;
  }
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() - position < length) return kBadCodePoint;
  uint32_t code_point = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const uint8_t next = static_cast<uint8_t>(text[position + i]);
    if ((next & 0xC0) != 0x80) return kBadCodePoint;
    code_point = code_point << 6 | (next & 0x3F);
  }
  const uint32_t smallest = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (code_point < smallest || code_point > kMaxCodePoint) return kBadCodePoint;
  position += length;
  return code_point;
}

// The value of a digit in a base up to 16; -1 when it is none.
int DigitValue(char c, int base) {
  const int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
  return value < base ? value : -1;
}

// Reads exactly `count` hexadecimal digits at `position`, which moves behind them.
std::optional<uint32_t> TakeHex(std::string_view text, size_t& position, size_t count) {
  if (text.size() - position < count) return std::nullopt;
  uint32_t value = 0;
  for (const size_t end = position + count; position < end; ++position) {
    const int digit = DigitValue(text[position], 16);
    if (digit < 0) return std::nullopt;
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

// The byte of an escape of one letter; nullopt when there is no such escape.
std::optional<char> SimpleEscape(char letter) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kBytes = "\\'\"\a\b\f\n\r\t\v";
  const size_t index = kLetters.find(letter);
  if (index == std::string_view::npos) return std::nullopt;
  return kBytes[index];
}

}  // namespace

bool IsPythonUtf8(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    uint64_t word = 0;
    if (text.size() - position >= sizeof(word)) {
      std::memcpy(&word, text.data() + position, sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {
        position += sizeof(word);
        continue;
      }
    }
    if (Decode(text, position) == kBadCodePoint) return false;
  }
  return true;
}

uint32_t NextCodePoint(std::string_view text, size_t& position) {
  return Decode(text, position);
}

void AppendCodePoint(std::string& out, uint32_t code_point) {
  const auto put = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) return put(code_point);
  if (code_point < 0x800) {
    put(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    put(0xE0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3F));
  } else {
    put(0xF0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3F));
    put(0x80 | (code_point >> 6 & 0x3F));
  }
  put(0x80 | (code_point & 0x3F));
}

std::optional<std::string> UnescapeString(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back()) return std::nullopt;
  if (literal.front() != '\'' && literal.front() != '"') return std::nullopt;
  const std::string_view text = literal.substr(1, literal.size() - 2);
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    const char c = text[i++];
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    if (i == text.size()) return std::nullopt;
    const char letter = text[i++];
    if (const std::optional<char> byte = SimpleEscape(letter)) {
      out.push_back(*byte);
    } else if (letter == 'x') {
      const std::optional<uint32_t> value = TakeHex(text, i, 2);
      if (!value) return std::nullopt;
      out.push_back(static_cast<char>(*value));
    } else if (DigitValue(letter, 8) >= 0) {
      int value = DigitValue(letter, 8);
      for (int digits = 1; digits < 3 && i < text.size() && DigitValue(text[i], 8) >= 0; ++digits) {
        value = value * 8 + DigitValue(text[i++], 8);
      }
      out.push_back(static_cast<char>(value & 0xFF));
    } else {  // Python keeps an unknown escape as it stands
      out.push_back('\\');
      out.push_back(letter);
    }
  }
  return out;
}

std::optional<std::string> UnescapeUnicode(std::string_view raw) {
  std::string out;
  size_t i = 0;
  while (i < raw.size()) {
    const char c = raw[i++];
    const bool escape = c == '\\' && i < raw.size() && (raw[i] == 'u' || raw[i] == 'U');
    if (!escape) {
      AppendCodePoint(out, static_cast<uint8_t>(c));
      continue;
    }
    const size_t digits = raw[i++] == 'u' ? 4 : 8;
    const std::optional<uint32_t> code_point = TakeHex(raw, i, digits);
    if (!code_point || *code_point > kMaxCodePoint) return std::nullopt;
    AppendCodePoint(out, *code_point);
  }
  return out;
}

}  // namespace ck::pickle
