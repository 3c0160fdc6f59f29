// Arithmetic on untrusted numbers: an overflow is an empty optional, never a wrapped value.
#ifndef CK_BASE_CHECKED_H_
#define CK_BASE_CHECKED_H_

#include <cstdint>
#include <optional>

namespace ck {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// True when [offset, offset + length) lies inside [0, size). Never overflows.
inline bool RangeFits(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace ck

#endif  // CK_BASE_CHECKED_H_
