#include "libs/checksum/crc32.h"

#include <isa-l/crc.h>

namespace ck {
namespace {

// Polynomials over GF(2) modulo the CRC's, in its bit order: the highest bit is x^0, the lowest x^31.
constexpr uint32_t kModulus = 0xEDB88320;  // without x^32
constexpr uint32_t kOne = uint32_t{1} << 31;
constexpr uint32_t kX8 = uint32_t{1} << 23;  // one byte of zeros multiplies by x^8

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b & 1) ? (b >> 1) ^ kModulus : b >> 1;
  }
  return product;
}

}  // namespace

uint32_t Crc32(std::string_view data, uint32_t crc) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(data.data()), data.size());
}

uint32_t CombineCrc32(uint32_t crc_a, uint32_t crc_b, uint64_t b_bytes) {
  // A's sum moves b_bytes bytes to the left; the initial and final inversions of both sums cancel.
  uint32_t shift = kOne;
  for (uint32_t power = kX8; b_bytes != 0; b_bytes >>= 1, power = Multiply(power, power)) {
    if (b_bytes & 1) shift = Multiply(shift, power);
  }
  return Multiply(shift, crc_a) ^ crc_b;
}

}  // namespace ck
