#include "libs/pickle/int_text.h"

#include <algorithm>

namespace ck::pickle {
namespace {

constexpr uint32_t kBillion = 1'000'000'000;
constexpr size_t kBillionDigits = 9;

bool IsNegative(std::string_view little_endian) {
  return !little_endian.empty() && (static_cast<uint8_t>(little_endian.back()) & 0x80) != 0;
}

// -x of the same width; the one value without a negative (the smallest) stays, and reads right as an unsigned number.
void Negate(std::string& little_endian) {
  unsigned carry = 1;
  for (char& byte : little_endian) {
    const unsigned sum = (static_cast<uint8_t>(byte) ^ 0xFFu) + carry;
    byte = static_cast<char>(sum & 0xFF);
    carry = sum >> 8;
  }
}

// Divides an unsigned little-endian number by 10^9 in place; gives the remainder.
uint32_t DivideByBillion(std::string& magnitude) {
  uint64_t remainder = 0;
  for (size_t i = magnitude.size(); i-- > 0;) {
    const uint64_t value = remainder << 8 | static_cast<uint8_t>(magnitude[i]);
    magnitude[i] = static_cast<char>(value / kBillion);
    remainder = value % kBillion;
  }
  while (!magnitude.empty() && magnitude.back() == 0) magnitude.pop_back();
  return static_cast<uint32_t>(remainder);
}

// magnitude = magnitude * factor + addend.
void MultiplyAdd(std::string& magnitude, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (char& byte : magnitude) {
    const uint64_t value = uint64_t{static_cast<uint8_t>(byte)} * factor + carry;
    byte = static_cast<char>(value & 0xFF);
    carry = value >> 8;
  }
  for (; carry != 0; carry >>= 8) magnitude.push_back(static_cast<char>(carry & 0xFF));
}

}  // namespace

std::string DecimalText(std::string_view little_endian) {
  std::string magnitude(little_endian);
  const bool negative = IsNegative(little_endian);
  if (negative) Negate(magnitude);
  std::string reversed;
  do {
    uint32_t digits = DivideByBillion(magnitude);
    for (size_t i = 0; i < kBillionDigits; ++i, digits /= 10) reversed.push_back(static_cast<char>('0' + digits % 10));
  } while (!magnitude.empty());
  while (reversed.size() > 1 && reversed.back() == '0') reversed.pop_back();
  if (negative) reversed.push_back('-');
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

std::optional<std::string> TwosComplement(std::string_view decimal) {
  const bool negative = !decimal.empty() && decimal.front() == '-';
  if (!decimal.empty() && (negative || decimal.front() == '+')) decimal.remove_prefix(1);
  if (decimal.empty()) return std::nullopt;
  std::string out;
  for (const char c : decimal) {
    if (c < '0' || c > '9') return std::nullopt;
    MultiplyAdd(out, 10, static_cast<uint32_t>(c - '0'));
  }
  out.push_back(0);
  if (negative) Negate(out);
  return std::string(Shortest(out));
}

std::string_view Shortest(std::string_view little_endian) {
  while (!little_endian.empty()) {
    const uint8_t high = static_cast<uint8_t>(little_endian.back());
    const std::string_view rest = little_endian.substr(0, little_endian.size() - 1);
    if (high != (IsNegative(rest) ? 0xFF : 0)) break;
    little_endian = rest;
  }
  return little_endian;
}

std::optional<int64_t> ToInt64(std::string_view little_endian) {
  const std::string_view bytes = Shortest(little_endian);
  if (bytes.size() > sizeof(int64_t)) return std::nullopt;
  uint64_t value = IsNegative(bytes) ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return static_cast<int64_t>(value);
}

std::string FromInt64(int64_t value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(value); ++i) {
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF));
  }
  return std::string(Shortest(bytes));
}

}  // namespace ck::pickle
