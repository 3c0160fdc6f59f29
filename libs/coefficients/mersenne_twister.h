// CPython's random.Random of an integer seed, as far as shuffle needs it.
//
// Source. docs/formats/coefficients.md (MT19937 of Matsumoto and Nishimura, seeded by array).
#ifndef CK_COEFFICIENTS_MERSENNE_TWISTER_H_
#define CK_COEFFICIENTS_MERSENNE_TWISTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ck::coefficients::internal {

// The absolute value of a decimal integer (optional '-', then digits only) as 32-bit words, least significant first;
// one word for 0.
std::vector<uint32_t> SeedWords(std::string_view decimal);

class MersenneTwister {
 public:
  // `key` must not be empty.
  explicit MersenneTwister(const std::vector<uint32_t>& key);

  uint32_t Next();
  // Uniform in [0, bound). Precondition: 0 < bound < 2^32.
  uint32_t Below(uint32_t bound);

 private:
  static constexpr size_t kSize = 624;
  void Refill();

  std::array<uint32_t, kSize> state_;
  size_t next_ = kSize;
};

}  // namespace ck::coefficients::internal

#endif  // CK_COEFFICIENTS_MERSENNE_TWISTER_H_
