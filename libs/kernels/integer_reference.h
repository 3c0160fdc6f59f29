// An independent reference for tests: element bits decoded, multiplied and rounded with integers only.
#ifndef CK_KERNELS_INTEGER_REFERENCE_H_
#define CK_KERNELS_INTEGER_REFERENCE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "libs/tensor/dtype.h"

namespace ck::kernels::reference {

// (-1)^negative * mantissa * 2^exponent.
struct Number {
  enum class Kind { kFinite, kInfinite, kNan } kind = Kind::kFinite;
  bool negative = false;
  uint64_t mantissa = 0;
  int exponent = 0;
};

struct Format {
  int exponent_bits, mantissa_bits;
  int Bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int MaxField() const { return (1 << exponent_bits) - 1; }
};

inline Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF16: return {5, 10};
    case DType::kBF16: return {8, 7};
    case DType::kF32: return {8, 23};
    default: return {11, 52};
  }
}

inline Number Decode(DType dtype, uint64_t bits) {
  const Format format = FormatOf(dtype);
  const uint64_t fraction = bits & ((uint64_t{1} << format.mantissa_bits) - 1);
  const int field = static_cast<int>(bits >> format.mantissa_bits) & format.MaxField();
  Number number;
  number.negative = (bits >> (format.mantissa_bits + format.exponent_bits)) != 0;
  if (field == format.MaxField()) {
    number.kind = fraction == 0 ? Number::Kind::kInfinite : Number::Kind::kNan;
    return number;
  }
  number.mantissa = field == 0 ? fraction : fraction | (uint64_t{1} << format.mantissa_bits);
  number.exponent = std::max(field, 1) - format.Bias() - format.mantissa_bits;
  return number;
}

// To nearest, ties to even, denormals kept, one NaN.
inline uint64_t Encode(DType dtype, Number number) {
  using Wide = unsigned __int128;
  const Format format = FormatOf(dtype);
  const uint64_t infinity = static_cast<uint64_t>(format.MaxField()) << format.mantissa_bits;
  const uint64_t sign = uint64_t{number.negative} << (format.mantissa_bits + format.exponent_bits);
  if (number.kind == Number::Kind::kNan) return infinity | (uint64_t{1} << (format.mantissa_bits - 1));
  if (number.kind == Number::Kind::kInfinite) return sign | infinity;
  if (number.mantissa == 0) return sign;
  const int top = 63 - std::countl_zero(number.mantissa);
  // 2^quantum is the weight of the last bit kept.
  int quantum = std::max(number.exponent + top, 1 - format.Bias()) - format.mantissa_bits;
  const int shift = quantum - number.exponent;
  if (shift > 100) return sign;
  uint64_t kept;
  if (shift <= 0) {
    kept = number.mantissa << -shift;
  } else {
    const Wide unit = Wide{1} << shift, rest = number.mantissa & (unit - 1);
    kept = static_cast<uint64_t>(number.mantissa >> shift);
    if (shift >= 64) kept = 0;
    if (2 * rest > unit || (2 * rest == unit && (kept & 1) != 0)) ++kept;
  }
  const uint64_t implicit = uint64_t{1} << format.mantissa_bits;
  if (kept == 2 * implicit) kept = implicit, ++quantum;
  if (kept < implicit) return sign | kept;
  const int field = quantum + format.mantissa_bits + format.Bias();
  if (field >= format.MaxField()) return sign | infinity;
  return sign | (static_cast<uint64_t>(field) << format.mantissa_bits) | (kept - implicit);
}

// a * b added to +0.0, exact; the mantissas must be of 32 bits at most.
inline Number MultiplyOntoZero(Number a, Number b) {
  using Kind = Number::Kind;
  const auto is_zero = [](const Number& n) { return n.kind == Kind::kFinite && n.mantissa == 0; };
  Number product;
  product.negative = a.negative != b.negative;
  if (a.kind == Kind::kNan || b.kind == Kind::kNan) {
    product.kind = Kind::kNan;
  } else if (a.kind == Kind::kInfinite || b.kind == Kind::kInfinite) {
    product.kind = is_zero(a) || is_zero(b) ? Kind::kNan : Kind::kInfinite;
  } else {
    product.mantissa = a.mantissa * b.mantissa;
    product.exponent = a.exponent + b.exponent;
    if (product.mantissa == 0) product.negative = false;
  }
  return product;
}

inline uint64_t GetBits(DType dtype, const char* buffer, uint64_t index) {
  uint64_t bits = 0;
  std::memcpy(&bits, buffer + index * ElementSize(dtype), ElementSize(dtype));
  return bits;
}

inline void AppendBits(DType dtype, uint64_t bits, std::string& buffer) {
  buffer.append(reinterpret_cast<const char*>(&bits), ElementSize(dtype));
}

// Random patterns of which a good part is NaN, infinite, denormal, zero, or of similar size so that sums cancel.
template <typename Random>
uint64_t RandomBits(DType dtype, Random& random) {
  const Format format = FormatOf(dtype);
  const uint64_t sign_bit = uint64_t{1} << (format.mantissa_bits + format.exponent_bits);
  const uint64_t fraction_mask = (uint64_t{1} << format.mantissa_bits) - 1;
  const uint64_t all = random();
  const uint64_t sign = all & sign_bit, fraction = all & fraction_mask;
  const auto field = [&](int value) { return static_cast<uint64_t>(value) << format.mantissa_bits; };
  switch (random() % 64) {
    case 0: return sign | field(format.MaxField()) | fraction;  // a NaN, or infinite for fraction 0
    case 1: return sign | field(format.MaxField());
    case 2: return sign | fraction;
    case 3: return sign;
    case 4: return sign | field(format.MaxField() - 1) | fraction;
    case 5: case 6: case 7: case 8: return all & (2 * sign_bit - 1);
    default: return sign | field(format.Bias() - static_cast<int>(random() % 4)) | fraction;
  }
}

}  // namespace ck::kernels::reference

#endif  // CK_KERNELS_INTEGER_REFERENCE_H_
