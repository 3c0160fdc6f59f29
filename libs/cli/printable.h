// Foreign text on a terminal: what may be shown, and how wide it is.
#ifndef CK_CLI_PRINTABLE_H_
#define CK_CLI_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ck::cli {

// `text` as one line that cannot move the cursor or change the direction of writing: control characters (C0, C1, DEL),
// bidirectional controls and bytes that are not UTF-8 become \xNN. Always UTF-8.
std::string Printable(std::string_view text);

// Terminal columns of UTF-8 text: 0 for combining marks, 2 for East Asian wide characters and emoji, else 1.
size_t DisplayWidth(std::string_view text);

}  // namespace ck::cli

#endif  // CK_CLI_PRINTABLE_H_
