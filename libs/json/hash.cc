#include "libs/json/hash.h"

#include <sys/auxv.h>

#include <array>
#include <cstring>

namespace ck::json {
namespace {

uint64_t RotateLeft(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v1 = RotateLeft(v1, 13) ^ v0;
    v0 = RotateLeft(v0, 32);
    v2 += v3;
    v3 = RotateLeft(v3, 16) ^ v2;
    v0 += v3;
    v3 = RotateLeft(v3, 21) ^ v0;
    v2 += v1;
    v1 = RotateLeft(v1, 17) ^ v2;
    v2 = RotateLeft(v2, 32);
  }
  void Absorb(uint64_t word) {
    v3 ^= word;
    Round();
    v0 ^= word;
  }
};

// The 16 random bytes that the kernel gives every process; no system call, nothing that can fail at run time.
std::array<uint64_t, 2> Secret() {
  std::array<uint64_t, 2> secret = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9};
  const unsigned long address = getauxval(AT_RANDOM);
  if (address != 0) std::memcpy(secret.data(), reinterpret_cast<const void*>(address), sizeof secret);
  return secret;
}

}  // namespace

uint64_t HashKey(std::string_view key) {
  static const std::array<uint64_t, 2> kSecret = Secret();
  SipState state = {kSecret[0] ^ 0x736f6d6570736575, kSecret[1] ^ 0x646f72616e646f6d, kSecret[0] ^ 0x6c7967656e657261,
                    kSecret[1] ^ 0x7465646279746573};
  uint64_t last = static_cast<uint64_t>(key.size()) << 56;
  while (key.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, key.data(), 8);
    state.Absorb(word);
    key.remove_prefix(8);
  }
  for (size_t i = 0; i < key.size(); ++i) last |= static_cast<uint64_t>(static_cast<uint8_t>(key[i])) << (8 * i);
  state.Absorb(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 3; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace ck::json
