// Text inside pickles: the UTF-8 that Python writes, and the escaped literals of protocol 0.
#ifndef CK_PICKLE_LITERAL_H_
#define CK_PICKLE_LITERAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ck::pickle {

// Well-formed UTF-8, where surrogates may stand alone ('surrogatepass').
bool IsPythonUtf8(std::string_view text);
// Appends one code point, a surrogate included. Precondition: at most 0x10FFFF.
void AppendCodePoint(std::string& out, uint32_t code_point);
// The code point that starts at `position`, which moves behind it. Precondition: IsPythonUtf8(text), position < size.
uint32_t NextCodePoint(std::string_view text, size_t& position);

// "'a\\n'" with its quotes -> the bytes (opcode STRING). nullopt when it is no literal.
std::optional<std::string> UnescapeString(std::string_view literal);
// Latin-1 with \uXXXX and \UXXXXXXXX -> UTF-8 (opcode UNICODE). nullopt for a broken escape.
std::optional<std::string> UnescapeUnicode(std::string_view raw);

}  // namespace ck::pickle

#endif  // CK_PICKLE_LITERAL_H_
