#include "libs/kernels/fill.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ATen/core/PhiloxRNGEngine.h"
#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/kernels/integer_reference.h"

namespace ck::kernels {
namespace {

using reference::Decode;
using reference::Encode;
using reference::GetBits;

std::string Uniform(DType dtype, double low, double high, uint64_t stream, uint64_t first, uint64_t elements) {
  std::string output(elements * ElementSize(dtype), '\x5A');
  FillUniform(dtype, low, high, 42, stream, first, output.data(), elements);
  return output;
}

// The known answers that the authors of Philox publish with their library (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  using Block = std::array<uint32_t, 4>;
  EXPECT_EQ(Philox(0, 0, 0), (Block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  const uint64_t ones = ~uint64_t{0};
  EXPECT_EQ(Philox(ones, ones, ones), (Block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(Philox(0x299F31D0A4093822, 0x0370734413198A2E, 0x85A308D3243F6A88),
            (Block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST(Philox, IsTheGeneratorOfPyTorch) {
  for (uint64_t seed : {uint64_t{0}, uint64_t{1234}, uint64_t{0xFEDCBA9876543210}}) {
    for (uint64_t stream : {uint64_t{0}, uint64_t{7}, uint64_t{0x0123456789ABCDEF}}) {
      for (uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{0xFFFFFFFF}, uint64_t{0x1122334455}}) {
        at::Philox4_32 engine(seed, stream, block);
        for (uint32_t expected : Philox(seed, stream, block)) EXPECT_EQ(expected, engine());
      }
    }
  }
}

TEST(StreamOf, IsFnv1a) {
  EXPECT_EQ(StreamOf(""), 0xCBF29CE484222325u);
  EXPECT_EQ(StreamOf("a"), 0xAF63DC4C8601EC8Cu);
  EXPECT_EQ(StreamOf("foobar"), 0x85944171F73967E8u);
}

TEST(FillUniform, IsAFunctionOfThePlaceOnly) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const uint64_t size = ElementSize(dtype), elements = 41;
    const std::string whole = Uniform(dtype, -0.25, 0.5, 9, 0, elements);
    for (uint64_t begin = 0; begin <= elements; ++begin) {
      for (uint64_t end = begin; end <= elements; ++end) {
        ASSERT_EQ(Uniform(dtype, -0.25, 0.5, 9, begin, end - begin), whole.substr(begin * size, (end - begin) * size));
      }
    }
    EXPECT_NE(Uniform(dtype, -0.25, 0.5, 10, 0, elements), whole) << "another stream";
  }
}

TEST(FillUniform, RoundsTheSameNumbersToEveryDType) {
  const uint64_t stream = StreamOf("decoder.layers.3.mixer.in_proj.weight"), first = (uint64_t{1} << 34) + 3;
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const std::string output = Uniform(dtype, -3, 5, stream, first, 1000);
    for (uint64_t i = 0; i < 1000; ++i) {
      const double value = std::fma(8.0, UniformAt(42, stream, first + i), -3.0);
      ASSERT_EQ(GetBits(dtype, output.data(), i), Encode(dtype, Decode(DType::kF64, std::bit_cast<uint64_t>(value))));
    }
  }
}

TEST(FillUniform, CoversTheRangeEvenly) {
  const uint64_t elements = 100000;
  std::vector<int> counts(10);
  for (uint64_t i = 0; i < elements; ++i) ++counts[static_cast<size_t>(UniformAt(1, 2, i) * 10)];
  // Four standard deviations of a binomial count are 380.
  for (int count : counts) EXPECT_NEAR(count, 10000, 380);
}

TEST(FillConstant, RoundsOnceAndFillsExactly) {
  std::string output(8, 'x');
  FillConstant(DType::kBF16, 1 + 0x1p-8 + 0x1p-40, output.data() + 1, 3);
  EXPECT_EQ(output, std::string("x\x81\x3F\x81\x3F\x81\x3Fx"));
  FillConstant(DType::kF64, -0.0, output.data(), 1);
  EXPECT_EQ(output, std::string("\0\0\0\0\0\0\0\x80", 8));
}

TEST(Fill, BrokenPreconditionsAreOurBug) {
  std::string output(8, 'x');
  const auto id_of = [&](DType dtype, double low, double high) -> std::string {
    try {
      FillUniform(dtype, low, high, 0, 0, 0, output.data(), 1);
    } catch (const Error& error) {
      return error.id();
    }
    return "";
  };
  EXPECT_EQ(id_of(DType::kI64, 0, 1), "internal.check_failed");
  EXPECT_EQ(id_of(DType::kF32, 1, 0), "internal.check_failed");
  EXPECT_EQ(id_of(DType::kF32, -1.7e308, 1.7e308), "internal.check_failed");
  EXPECT_EQ(id_of(DType::kF32, 0, std::numeric_limits<double>::quiet_NaN()), "internal.check_failed");
  EXPECT_EQ(output, "xxxxxxxx");
}

}  // namespace
}  // namespace ck::kernels
