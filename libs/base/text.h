// Small text helpers. Nothing here depends on the locale.
#ifndef CK_BASE_TEXT_H_
#define CK_BASE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace ck {

namespace text_internal {
void Append(std::string& out, std::string_view piece);
void AppendSigned(std::string& out, int64_t value);
void AppendUnsigned(std::string& out, uint64_t value);

template <typename T>
void AppendAny(std::string& out, const T& piece) {
  if constexpr (std::is_same_v<T, char>) {
    out.push_back(piece);
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    AppendSigned(out, piece);
  } else if constexpr (std::is_integral_v<T>) {
    AppendUnsigned(out, piece);
  } else {
    Append(out, piece);
  }
}
}  // namespace text_internal

// Concatenates strings, characters and integers (decimal).
template <typename... Pieces>
std::string Cat(const Pieces&... pieces) {
  std::string out;
  (text_internal::AppendAny(out, pieces), ...);
  return out;
}

// Text from a file or a user, made safe for one line of a message: in single quotes, control bytes and bytes that are
// not UTF-8 as \xNN, cut to `limit` bytes with "...".
std::string Quote(std::string_view text, size_t limit = 200);

// Shortest decimal text that reads back as the same double; "inf", "nan" for those. Example: 0.1, 1e+22, 3.0 -> "3.0".
std::string FormatDouble(double value);
// Decimal or exponent form, the whole text, no leading '+' or blanks. nullopt when it is not a number. Accepts inf/nan
// spellings, so a caller can say "not finite" instead of "not a number".
std::optional<double> ParseDouble(std::string_view text);
// Decimal digits with an optional '-'. nullopt on anything else and on overflow.
std::optional<int64_t> ParseInt64(std::string_view text);
std::optional<uint64_t> ParseUint64(std::string_view text);

// "1.5 GiB", "12 B": for people; three significant digits.
std::string FormatBytes(uint64_t bytes);
// "[2, 3]"; "[]" for no dimensions.
std::string FormatDims(const std::vector<uint64_t>& dims);

std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> Split(std::string_view text, char separator);
bool StartsWith(std::string_view text, std::string_view prefix);
bool EndsWith(std::string_view text, std::string_view suffix);
// The text without ASCII white space at both ends.
std::string_view Trim(std::string_view text);

// True when the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool IsUtf8(std::string_view text);
// Length in bytes of the longest well-formed beginning: the offset of the first bad byte, or the size.
size_t Utf8PrefixLength(std::string_view text);

// Levenshtein distance with a cut-off: the candidate nearest to `word` when it is near enough to suggest, else "".
std::string NearestWord(std::string_view word, const std::vector<std::string>& candidates);

// Shell-style glob: '*' any run of characters, '?' one character, '[a-c]' a class ('[!..]' negated). The whole text must match.
bool GlobMatch(std::string_view pattern, std::string_view text);

}  // namespace ck

#endif  // CK_BASE_TEXT_H_
