// One element as a number and as text.
#ifndef CK_COMPARE_ELEMENT_H_
#define CK_COMPARE_ELEMENT_H_

#include <optional>
#include <string>

#include "libs/tensor/dtype.h"

namespace ck::compare {

// Exact but for 64-bit integers past 2^53, which are rounded. nullopt for complex, 8-bit and 4-bit floats.
std::optional<double> ElementValue(DType dtype, const char* element);

// The shortest decimal that reads back as the same number; the bytes as a hexadecimal number where ElementValue has none.
std::string ElementText(DType dtype, const char* element);

}  // namespace ck::compare

#endif  // CK_COMPARE_ELEMENT_H_
