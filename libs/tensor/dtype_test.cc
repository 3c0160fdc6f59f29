#include "libs/tensor/dtype.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace ck {
namespace {

constexpr size_t kCount = static_cast<size_t>(DType::kC128) + 1;

TEST(DType, EveryNameReadsBackAsItsType) {
  std::set<std::string_view> names, torch_names;
  for (size_t i = 0; i < kCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype);
    EXPECT_EQ(DTypeFromTorchName(TorchName(dtype)), dtype);
    if (!TorchStorageName(dtype).empty()) {
      EXPECT_EQ(DTypeFromTorchStorageName(TorchStorageName(dtype)), dtype);
    }
    names.insert(Name(dtype));
    torch_names.insert(TorchName(dtype));
  }
  EXPECT_EQ(names.size(), kCount);
  EXPECT_EQ(torch_names.size(), kCount);
}

TEST(DType, SizesAndNames) {
  const struct {
    DType dtype;
    uint64_t size;
    std::string_view name, torch_name, storage_name;
  } kCases[] = {
      {DType::kBF16, 2, "BF16", "bfloat16", "BFloat16Storage"},
      {DType::kF32, 4, "F32", "float32", "FloatStorage"},
      {DType::kF64, 8, "F64", "float64", "DoubleStorage"},
      {DType::kI8, 1, "I8", "int8", "CharStorage"},
      {DType::kU8, 1, "U8", "uint8", "ByteStorage"},
      {DType::kF8E4M3, 1, "F8_E4M3", "float8_e4m3fn", ""},
      {DType::kF4, 1, "F4", "float4_e2m1fn_x2", ""},
      {DType::kU64, 8, "U64", "uint64", ""},
      {DType::kC32, 4, "C32", "complex32", ""},
      {DType::kC128, 16, "C128", "complex128", "ComplexDoubleStorage"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ElementSize(c.dtype), c.size) << c.name;
    EXPECT_EQ(Name(c.dtype), c.name);
    EXPECT_EQ(TorchName(c.dtype), c.torch_name);
    EXPECT_EQ(TorchStorageName(c.dtype), c.storage_name);
  }
}

TEST(DType, UnknownNamesHaveNoType) {
  for (const char* name : {"", "bf16", "BF16 ", "float", "UntypedStorage"}) {
    EXPECT_FALSE(DTypeFromName(name)) << name;
    EXPECT_FALSE(DTypeFromTorchName(name)) << name;
    EXPECT_FALSE(DTypeFromTorchStorageName(name)) << name;
  }
}

TEST(DType, FloatsOfTwoBytesAndMoreCanBeAveraged) {
  for (size_t i = 0; i < kCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool expected = Name(dtype) == "F16" || Name(dtype) == "BF16" || Name(dtype) == "F32" || Name(dtype) == "F64";
    EXPECT_EQ(IsMergeable(dtype), expected) << Name(dtype);
  }
}

}  // namespace
}  // namespace ck
