// SHA-256 (FIPS 180-4): fingerprints of metadata files, and of data files in Megatron's integrity.json.
#ifndef CK_CHECKSUM_SHA256_H_
#define CK_CHECKSUM_SHA256_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ck {

// The hash of bytes that come piece by piece; how they are cut makes no difference.
class Sha256 {
 public:
  void Update(std::string_view bytes);
  // 64 lower-case hex digits. At most once; no Update after it.
  std::string Finish();

 private:
  static constexpr size_t kBlockBytes = 64;
  void Compress(const char* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<char, kBlockBytes> pending_ = {};
  size_t pending_bytes_ = 0;  // below kBlockBytes between calls
  uint64_t total_bytes_ = 0;
};

// The hash of `bytes`, as 64 lower-case hex digits.
std::string Sha256Of(std::string_view bytes);

}  // namespace ck

#endif  // CK_CHECKSUM_SHA256_H_
