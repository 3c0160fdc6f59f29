#include "libs/coefficients/mersenne_twister.h"

#include <algorithm>
#include <bit>

namespace ck::coefficients::internal {

std::vector<uint32_t> SeedWords(std::string_view decimal) {
  if (!decimal.empty() && decimal.front() == '-') decimal.remove_prefix(1);
  std::vector<uint32_t> words;
  for (const char digit : decimal) {
    uint64_t carry = static_cast<uint64_t>(digit - '0');
    for (uint32_t& word : words) {
      const uint64_t value = uint64_t{word} * 10 + carry;
      word = static_cast<uint32_t>(value);
      carry = value >> 32;
    }
    if (carry != 0) words.push_back(static_cast<uint32_t>(carry));
  }
  if (words.empty()) words.push_back(0);
  return words;
}

MersenneTwister::MersenneTwister(const std::vector<uint32_t>& key) {
  state_[0] = 19650218;
  for (size_t i = 1; i < kSize; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<uint32_t>(i);
  }
  size_t i = 1, j = 0;
  const auto advance = [&] {
    if (++i < kSize) return;
    state_[0] = state_[kSize - 1];
    i = 1;
  };
  for (size_t k = std::max(kSize, key.size()); k > 0; --k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525u)) + key[j] + static_cast<uint32_t>(j);
    advance();
    j = (j + 1) % key.size();
  }
  for (size_t k = kSize - 1; k > 0; --k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941u)) - static_cast<uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
}

void MersenneTwister::Refill() {
  constexpr size_t kShift = 397;
  for (size_t i = 0; i < kSize; ++i) {
    const uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kSize] & 0x7fffffffu);
    state_[i] = state_[(i + kShift) % kSize] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0u);
  }
  next_ = 0;
}

uint32_t MersenneTwister::Next() {
  if (next_ == kSize) Refill();
  uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint32_t MersenneTwister::Below(uint32_t bound) {
  const int bits = static_cast<int>(std::bit_width(bound));
  uint32_t value = Next() >> (32 - bits);
  while (value >= bound) value = Next() >> (32 - bits);
  return value;
}

}  // namespace ck::coefficients::internal
