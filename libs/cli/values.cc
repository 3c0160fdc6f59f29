#include "libs/cli/values.h"

#include <cmath>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::cli {

namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The bytes of one unit; "" is one byte, an unknown unit none.
std::optional<uint64_t> UnitBytes(std::string_view unit) {
  std::string lower;
  for (const char c : unit) lower.push_back(Lower(c));
  if (lower.empty() || lower == "b") return 1;
  const size_t power = std::string_view("kmgtp").find(lower[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (rest != "b" && rest != "ib") return std::nullopt;
  uint64_t bytes = 1;
  for (size_t i = 0; i <= power; ++i) bytes *= rest == "b" ? 1000 : 1024;
  return bytes;
}

[[noreturn]] void BadValue(std::string_view option, std::string_view text, std::string_view expected) {
  throw UsageError("usage.bad_value", Cat("value of ", option, " is ", Quote(text), ", expected ", expected));
}

}  // namespace

std::optional<uint64_t> ParseBytes(std::string_view text) {
  size_t end = text.find_first_not_of("0123456789");
  const std::string_view whole = text.substr(0, end);
  std::string_view fraction;
  if (end != std::string_view::npos && text[end] == '.') {
    const size_t begin = end + 1;
    end = text.find_first_not_of("0123456789", begin);
    fraction = text.substr(begin, end == std::string_view::npos ? end : end - begin);
    if (fraction.empty()) return std::nullopt;
  }
  const auto unit = UnitBytes(end == std::string_view::npos ? "" : text.substr(end));
  const auto count = ParseUint64(whole);
  if (!unit || !count) return std::nullopt;
  auto bytes = CheckedMul(*count, *unit);
  // Integers only, so that no rounding can hide a fraction of a byte.
  uint64_t scale = 1;
  uint64_t numerator = 0;
  for (const char digit : fraction) {
    const auto next_scale = CheckedMul(scale, 10);
    if (!next_scale) return std::nullopt;
    scale = *next_scale;
    numerator = numerator * 10 + static_cast<uint64_t>(digit - '0');
  }
  const auto part = CheckedMul(numerator, *unit);
  if (!bytes || !part || *part % scale != 0) return std::nullopt;
  return CheckedAdd(*bytes, *part / scale);
}

int64_t ParseIntValue(std::string_view option, std::string_view text) {
  if (const auto value = ParseInt64(text)) return *value;
  BadValue(option, text, "an integer");
}

uint64_t ParseUintValue(std::string_view option, std::string_view text) {
  if (const auto value = ParseUint64(text)) return *value;
  BadValue(option, text, "an integer of 0 or more");
}

double ParseDoubleValue(std::string_view option, std::string_view text) {
  const auto value = ParseDouble(text);
  if (!value) BadValue(option, text, "a number such as 0.25");
  if (!std::isfinite(*value)) BadValue(option, text, "a finite number");
  return *value;
}

uint64_t ParseBytesValue(std::string_view option, std::string_view text) {
  if (const auto value = ParseBytes(text)) return *value;
  BadValue(option, text, "a number of bytes such as 5000000000, 5GB or 4.5GiB");
}

}  // namespace ck::cli
