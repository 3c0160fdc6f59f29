#include "libs/safetensors/file_dtype.h"

#include <iterator>

namespace ck::safetensors {
namespace {

// The library's own order of dtypes, lowest first.
constexpr DType kOrder[] = {
    DType::kBool,   DType::kF4,   DType::kU8,         DType::kI8,         DType::kF8E5M2, DType::kF8E4M3,
    DType::kF8E8M0, DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ, DType::kI16,  DType::kU16,    DType::kF16,
    DType::kBF16,   DType::kI32,  DType::kU32,        DType::kF32,        DType::kC64,    DType::kF64,
    DType::kI64,    DType::kU64,
};

}  // namespace

std::optional<int> FileRank(DType dtype) {
  for (size_t rank = 0; rank < std::size(kOrder); ++rank) {
    if (kOrder[rank] == dtype) return static_cast<int>(rank);
  }
  return std::nullopt;
}

std::optional<DType> FileDType(std::string_view name) {
  const std::optional<DType> dtype = DTypeFromName(name);
  return dtype && FileRank(*dtype) ? dtype : std::nullopt;
}

}  // namespace ck::safetensors
