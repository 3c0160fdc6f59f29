#include "libs/tensor/dtype.h"

#include <iterator>

namespace ck {
namespace {

struct Row {
  DType dtype;
  uint64_t size;
  std::string_view name, torch_name, storage_name;
};

constexpr Row kRows[] = {
    {DType::kBool, 1, "BOOL", "bool", "BoolStorage"},
    {DType::kU8, 1, "U8", "uint8", "ByteStorage"},
    {DType::kI8, 1, "I8", "int8", "CharStorage"},
    {DType::kU16, 2, "U16", "uint16", ""},
    {DType::kI16, 2, "I16", "int16", "ShortStorage"},
    {DType::kU32, 4, "U32", "uint32", ""},
    {DType::kI32, 4, "I32", "int32", "IntStorage"},
    {DType::kU64, 8, "U64", "uint64", ""},
    {DType::kI64, 8, "I64", "int64", "LongStorage"},
    {DType::kF16, 2, "F16", "float16", "HalfStorage"},
    {DType::kBF16, 2, "BF16", "bfloat16", "BFloat16Storage"},
    {DType::kF32, 4, "F32", "float32", "FloatStorage"},
    {DType::kF64, 8, "F64", "float64", "DoubleStorage"},
    {DType::kF8E4M3, 1, "F8_E4M3", "float8_e4m3fn", ""},
    {DType::kF8E5M2, 1, "F8_E5M2", "float8_e5m2", ""},
    {DType::kF8E4M3FNUZ, 1, "F8_E4M3FNUZ", "float8_e4m3fnuz", ""},
    {DType::kF8E5M2FNUZ, 1, "F8_E5M2FNUZ", "float8_e5m2fnuz", ""},
    {DType::kF8E8M0, 1, "F8_E8M0", "float8_e8m0fnu", ""},
    {DType::kF4, 1, "F4", "float4_e2m1fn_x2", ""},
    {DType::kC32, 4, "C32", "complex32", ""},
    {DType::kC64, 8, "C64", "complex64", "ComplexFloatStorage"},
    {DType::kC128, 16, "C128", "complex128", "ComplexDoubleStorage"},
};

const Row& RowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

std::optional<DType> Find(std::string_view Row::*member, std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (const Row& row : kRows) {
    if (row.*member == text) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace

uint64_t ElementSize(DType dtype) { return RowOf(dtype).size; }
std::string_view Name(DType dtype) { return RowOf(dtype).name; }
std::string_view TorchName(DType dtype) { return RowOf(dtype).torch_name; }
std::string_view TorchStorageName(DType dtype) { return RowOf(dtype).storage_name; }
std::optional<DType> DTypeFromName(std::string_view name) { return Find(&Row::name, name); }
std::optional<DType> DTypeFromTorchName(std::string_view name) { return Find(&Row::torch_name, name); }
std::optional<DType> DTypeFromTorchStorageName(std::string_view name) { return Find(&Row::storage_name, name); }

bool IsMergeable(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 || dtype == DType::kF64;
}

}  // namespace ck
