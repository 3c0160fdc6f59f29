// The dtypes that a .safetensors file can hold, and their place in it. Source: docs/formats/safetensors.md.
#ifndef CK_SAFETENSORS_FILE_DTYPE_H_
#define CK_SAFETENSORS_FILE_DTYPE_H_

#include <optional>
#include <string_view>

#include "libs/tensor/dtype.h"

namespace ck::safetensors {

// nullopt for a name that the format lacks (C32, C128) or that ck does not read (F6_E2M3, F6_E3M2).
std::optional<DType> FileDType(std::string_view name);

// The place in the order in which the library writes: higher ranks come first. nullopt where the format has no such dtype.
std::optional<int> FileRank(DType dtype);

}  // namespace ck::safetensors

#endif  // CK_SAFETENSORS_FILE_DTYPE_H_
