// Element types, named as safetensors names them (BF16, F32, F8_E4M3, ...). Source: docs/formats/dtypes.md.
#ifndef CK_TENSOR_DTYPE_H_
#define CK_TENSOR_DTYPE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace ck {

enum class DType : uint8_t {
  kBool, kU8, kI8, kU16, kI16, kU32, kI32, kU64, kI64,
  kF16, kBF16, kF32, kF64,
  kF8E4M3, kF8E5M2, kF8E4M3FNUZ, kF8E5M2FNUZ, kF8E8M0,
  kF4,  // two values in a byte; a torch shape counts bytes (float4_e2m1fn_x2), so ck does too
  kC32, kC64, kC128,
};

// Bytes of one element.
uint64_t ElementSize(DType dtype);
// "BF16"; C32 and C128, which safetensors lacks, are "C32" and "C128".
std::string_view Name(DType dtype);
std::optional<DType> DTypeFromName(std::string_view name);
// "bfloat16", "float8_e4m3fn": the attribute of module torch.
std::string_view TorchName(DType dtype);
std::optional<DType> DTypeFromTorchName(std::string_view name);
// "BFloat16Storage"; "" where torch writes an UntypedStorage with _rebuild_tensor_v3.
std::string_view TorchStorageName(DType dtype);
std::optional<DType> DTypeFromTorchStorageName(std::string_view name);

// F16, BF16, F32, F64: the types that can be averaged.
bool IsMergeable(DType dtype);

}  // namespace ck

#endif  // CK_TENSOR_DTYPE_H_
