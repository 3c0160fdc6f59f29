// Elements as numbers: the reading and the one rounding of every kernel, in plain C++. Private to libs/kernels.
#ifndef CK_KERNELS_SCALAR_H_
#define CK_KERNELS_SCALAR_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "c10/util/BFloat16.h"
#include "c10/util/Half.h"
#include "libs/tensor/dtype.h"

namespace ck::kernels {

static_assert(std::endian::native == std::endian::little, "elements are little-endian in every format ck reads");

// The type arithmetic on elements of `dtype` is done in.
template <DType dtype>
using Wide = std::conditional_t<dtype == DType::kF64, double, float>;

// The type that holds the bits of one element in memory.
template <DType dtype>
using Stored = std::conditional_t<
    dtype == DType::kF16, c10::Half,
    std::conditional_t<dtype == DType::kBF16, c10::BFloat16,
                       std::conditional_t<dtype == DType::kF32, float, double>>>;

// Exact.
template <DType dtype>
Wide<dtype> LoadElement(const char* buffer, uint64_t index) {
  Stored<dtype> element;
  std::memcpy(&element, buffer + index * sizeof(element), sizeof(element));
  return static_cast<Wide<dtype>>(element);
}

// The float next to `value` towards zero, its last bit set when that is inexact. Rounding this to 22 or fewer bits of
// precision gives what rounding `value` itself would: the last bit remembers on which side of a tie it was.
inline float RoundToOdd(double value) {
  float nearest = static_cast<float>(value);
  double back = nearest;
  if (back == value || std::isnan(value)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::fabs(back) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

// `value` rounded once to `dtype`, nearest even; a NaN becomes the one quiet NaN.
template <DType dtype, typename T>
Stored<dtype> RoundTo(T value) {
  if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
  if constexpr (sizeof(Stored<dtype>) > 2) {
    return static_cast<Stored<dtype>>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return Stored<dtype>(RoundToOdd(value));
  } else {
    return Stored<dtype>(value);
  }
}

template <DType dtype, typename T>
void StoreElement(char* buffer, uint64_t index, T value) {
  Stored<dtype> element = RoundTo<dtype>(value);
  std::memcpy(buffer + index * sizeof(element), &element, sizeof(element));
}

}  // namespace ck::kernels

#endif  // CK_KERNELS_SCALAR_H_
