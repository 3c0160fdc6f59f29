// Integers of any size between the little-endian two's complement form of pickle and decimal text. Time is quadratic in
// the length, so callers bound it.
#ifndef CK_PICKLE_INT_TEXT_H_
#define CK_PICKLE_INT_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ck::pickle {

// "-129" of "\x7f\xff"; "0" of "".
std::string DecimalText(std::string_view little_endian);
// The inverse, in as few bytes as possible; nullopt when `decimal` is not an optional sign and digits.
std::optional<std::string> TwosComplement(std::string_view decimal);
// Without the high bytes that only repeat the sign.
std::string_view Shortest(std::string_view little_endian);
// The value when it fits.
std::optional<int64_t> ToInt64(std::string_view little_endian);
// The shortest form of a value; "" for 0.
std::string FromInt64(int64_t value);

}  // namespace ck::pickle

#endif  // CK_PICKLE_INT_TEXT_H_
