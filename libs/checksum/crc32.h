// CRC-32 (the zip polynomial), and how to join the sums of two neighbours without their bytes.
#ifndef CK_CHECKSUM_CRC32_H_
#define CK_CHECKSUM_CRC32_H_

#include <cstdint>
#include <string_view>

namespace ck {

// The CRC of the bytes that `crc` stands for followed by `data`. Start with 0.
uint32_t Crc32(std::string_view data, uint32_t crc = 0);

// The CRC of A followed by B, where B has `b_bytes` bytes. O(log b_bytes).
uint32_t CombineCrc32(uint32_t crc_a, uint32_t crc_b, uint64_t b_bytes);

}  // namespace ck

#endif  // CK_CHECKSUM_CRC32_H_
