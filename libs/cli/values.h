// Values of options as numbers. Nothing here depends on the locale.
//
// Errors. usage.bad_value (kUsage), naming the option, the text found and what was expected.
#ifndef CK_CLI_VALUES_H_
#define CK_CLI_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ck::cli {

// A number of bytes: "5000000000", "5GB" (decimal), "1.5GiB" (binary); units B, kB, MB, GB, TB, PB and KiB to PiB in
// any case. nullopt for anything else, for a fraction of a byte, and on overflow.
std::optional<uint64_t> ParseBytes(std::string_view text);

// `option` is the name for the message.
int64_t ParseIntValue(std::string_view option, std::string_view text);
uint64_t ParseUintValue(std::string_view option, std::string_view text);
// Finite numbers only.
double ParseDoubleValue(std::string_view option, std::string_view text);
uint64_t ParseBytesValue(std::string_view option, std::string_view text);

}  // namespace ck::cli

#endif  // CK_CLI_VALUES_H_
