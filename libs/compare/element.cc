#include "libs/compare/element.h"

#include <cstdint>
#include <cstring>

#include "libs/base/text.h"
#include "libs/kernels/accumulate.h"

namespace ck::compare {
namespace {

template <typename T>
T Load(const char* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

std::string Hexadecimal(const char* element, uint64_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "0x";
  for (uint64_t i = size; i-- > 0;) {
    const auto byte = static_cast<unsigned char>(element[i]);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace

std::optional<double> ElementValue(DType dtype, const char* element) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return Load<uint8_t>(element);
    case DType::kI8:
      return Load<int8_t>(element);
    case DType::kU16:
      return Load<uint16_t>(element);
    case DType::kI16:
      return Load<int16_t>(element);
    case DType::kU32:
      return Load<uint32_t>(element);
    case DType::kI32:
      return Load<int32_t>(element);
    case DType::kU64:
      return static_cast<double>(Load<uint64_t>(element));
    case DType::kI64:
      return static_cast<double>(Load<int64_t>(element));
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64: {
      char wide[sizeof(double)];
      kernels::Cast(dtype, DType::kF64, element, wide, 1);
      return Load<double>(wide);
    }
    default:
      return std::nullopt;
  }
}

std::string ElementText(DType dtype, const char* element) {
  if (dtype == DType::kU64) return Cat(Load<uint64_t>(element));
  if (dtype == DType::kI64) return Cat(Load<int64_t>(element));
  const auto value = ElementValue(dtype, element);
  if (!value) return Hexadecimal(element, ElementSize(dtype));
  return IsMergeable(dtype) ? FormatDouble(*value) : Cat(static_cast<int64_t>(*value));  // the other numbers are integers of at most 32 bits
}

}  // namespace ck::compare
