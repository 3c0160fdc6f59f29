#include "libs/checksum/crc32.h"

#include <string>

#include "gtest/gtest.h"

namespace ck {
namespace {

TEST(Crc32, KnownValues) {
  EXPECT_EQ(Crc32(""), 0u);
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926u);
  EXPECT_EQ(Crc32("little"), 0x19E33D85u);  // the byteorder record of a torch file
  EXPECT_EQ(Crc32(std::string(32, '\0')), 0x190A55ADu);
}

std::string Sample(size_t size) {
  std::string out;
  uint32_t x = 1;
  for (size_t i = 0; i < size; ++i) out.push_back(static_cast<char>((x = x * 1664525 + 1013904223) >> 24));
  return out;
}

TEST(Crc32, ContinuesOverPieces) {
  const std::string data = Sample(1000);
  for (size_t cut = 0; cut <= data.size(); cut += 37) {
    EXPECT_EQ(Crc32(data.substr(cut), Crc32(data.substr(0, cut))), Crc32(data)) << cut;
  }
}

TEST(Crc32, CombineEqualsTheSumOfTheWhole) {
  const std::string data = Sample(70'001);
  for (const size_t cut : {size_t{0}, size_t{1}, size_t{7}, size_t{65'535}, size_t{70'000}, data.size()}) {
    const std::string a = data.substr(0, cut), b = data.substr(cut);
    EXPECT_EQ(CombineCrc32(Crc32(a), Crc32(b), b.size()), Crc32(data)) << cut;
  }
}

TEST(Crc32, CombineOfLengthsBeyondMemory) {
  // (A B) C == A (B C) for lengths whose bytes nobody could hold.
  const uint32_t a = 0x12345678, b = 0x9ABCDEF0, c = 0x0F1E2D3C;
  const uint64_t b_bytes = (uint64_t{5} << 40) + 3, c_bytes = (uint64_t{1} << 41) + 12345;
  EXPECT_EQ(CombineCrc32(CombineCrc32(a, b, b_bytes), c, c_bytes),
            CombineCrc32(a, CombineCrc32(b, c, c_bytes), b_bytes + c_bytes));
  // The polynomial's period is 2^32 - 1 bits: that many bytes of shift are none.
  EXPECT_EQ(CombineCrc32(a, 0, 0xFFFFFFFF), a);
  EXPECT_NE(CombineCrc32(a, 0, 0xFFFFFFFE), a);
}

}  // namespace
}  // namespace ck
