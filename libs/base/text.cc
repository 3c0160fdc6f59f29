#include "libs/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace ck {

namespace text_internal {
void Append(std::string& out, std::string_view piece) { out.append(piece); }

void AppendSigned(std::string& out, int64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void AppendUnsigned(std::string& out, uint64_t value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
}  // namespace text_internal

namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, or 0.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto follows = [&](size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return 4;
  }
  return 0;
}

// Most names are ASCII, and checking them byte by byte would dominate the reading of large headers.
bool StartsWithEightAscii(std::string_view text) {
  uint64_t word;
  if (text.size() < sizeof word) return false;
  std::memcpy(&word, text.data(), sizeof word);
  return (word & 0x8080808080808080) == 0;
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

template <typename T>
std::optional<T> ParseInteger(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

// Whether a well-formed decimal number that is out of range is too small (not too large): where its first digit other than 0 stands.
bool IsBelowOne(std::string_view text) {
  const size_t mantissa_end = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, mantissa_end);
  const auto first = static_cast<int64_t>(mantissa.find_first_of("123456789"));
  const auto point = static_cast<int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  if (mantissa_end == text.size()) return point < first;
  std::string_view digits = text.substr(mantissa_end + 1);
  const bool negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && (negative || digits.front() == '+')) digits.remove_prefix(1);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  const auto exponent = ParseInteger<int64_t>(digits);
  if (!exponent) return negative;  // longer than any mantissa that fits in memory could make up for
  return point - first + (negative ? -*exponent : *exponent) < 0;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Matches one "[...]" class at the start of `pattern` against `c`; sets `length` to the length of the class, 0 if it is not closed.
bool MatchClass(std::string_view pattern, char c, size_t& length) {
  size_t i = 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  bool matched = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      matched = matched || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 3;
    } else {
      matched = matched || pattern[i] == c;
      ++i;
    }
  }
  length = i < pattern.size() ? i + 1 : 0;
  return matched != negated;
}

}  // namespace

std::string Quote(std::string_view text, size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  size_t i = 0;
  while (i < text.size() && i < limit) {
    const size_t length = Utf8Length(text.substr(i));
    const auto byte = static_cast<uint8_t>(text[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  if (i < text.size()) out += "...";
  out += '\'';
  return out;
}

std::string FormatDouble(double value) {
  char buffer[40];
  std::string out(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  if (std::isfinite(value) && out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ptr != end) return std::nullopt;
  if (result.ec == std::errc::result_out_of_range) {
    // Too large is infinity, too small is zero, as strtod has it.
    const double magnitude = IsBelowOne(text) ? 0.0 : HUGE_VAL;
    return text.front() == '-' ? -magnitude : magnitude;
  }
  if (result.ec != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> ParseInt64(std::string_view text) { return ParseInteger<int64_t>(text); }
std::optional<uint64_t> ParseUint64(std::string_view text) { return ParseInteger<uint64_t>(text); }

std::string FormatBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char buffer[32];
  const int digits = unit == 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  std::snprintf(buffer, sizeof buffer, "%.*f %s", digits, value, kUnits[unit]);
  return buffer;
}

std::string FormatDims(const std::vector<uint64_t>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    text_internal::AppendUnsigned(out, dims[i]);
  }
  out += ']';
  return out;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == separator) {
      parts.emplace_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return parts;
}

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

size_t Utf8PrefixLength(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    if (StartsWithEightAscii(text.substr(i))) {
      i += 8;
      continue;
    }
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0) break;
    i += length;
  }
  return i;
}

bool IsUtf8(std::string_view text) { return Utf8PrefixLength(text) == text.size(); }

std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

bool GlobMatch(std::string_view pattern, std::string_view text) {
  // The position to return to when a later part fails: just after the last '*', with the text it has swallowed so far.
  size_t star = std::string_view::npos, star_text = 0;
  size_t p = 0, t = 0;
  while (t < text.size()) {
    size_t step = 1;
    bool matched = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = ++p;
        star_text = t;
        continue;
      }
      if (pattern[p] == '?') {
        matched = true;
      } else if (pattern[p] == '[') {
        matched = MatchClass(pattern.substr(p), text[t], step);
        if (step == 0) {
          step = 1;
          matched = text[t] == '[';
        }
      } else {
        matched = pattern[p] == text[t];
      }
    }
    if (matched) {
      p += step;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ck
