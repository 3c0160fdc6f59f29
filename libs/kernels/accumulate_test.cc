#include "libs/kernels/accumulate.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/kernels/integer_reference.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ck::kernels {
namespace {

using reference::AppendBits;
using reference::Decode;
using reference::Encode;
using reference::GetBits;

constexpr DType kDTypes[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

std::vector<KernelSet> Sets() {
  if (IsSupported(KernelSet::kAvx2)) return {KernelSet::kScalar, KernelSet::kAvx2};
  return {KernelSet::kScalar};
}

std::string IdOf(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

std::string PackValues(DType dtype, const std::vector<double>& values) {
  std::string buffer;
  for (double value : values) {
    AppendBits(dtype, Encode(dtype, Decode(DType::kF64, std::bit_cast<uint64_t>(value))), buffer);
  }
  return buffer;
}

std::string RandomBuffer(DType dtype, uint64_t elements, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string buffer;
  for (uint64_t i = 0; i < elements; ++i) AppendBits(dtype, reference::RandomBits(dtype, random), buffer);
  return buffer;
}

std::string SumOf(DType in, DType out, const std::vector<std::string>& inputs, const std::vector<double>& weights,
                  KernelSet kernels) {
  std::vector<const char*> pointers;
  for (const std::string& input : inputs) pointers.push_back(input.data());
  const uint64_t elements = inputs[0].size() / ElementSize(in);
  std::string output(elements * ElementSize(out), '\x5A');
  WeightedSum(in, out, pointers, weights, output.data(), elements, kernels);
  return output;
}

std::string CastOf(DType in, DType out, const std::string& input, KernelSet kernels) {
  const uint64_t elements = input.size() / ElementSize(in);
  std::string output(elements * ElementSize(out), '\x5A');
  Cast(in, out, input.data(), output.data(), elements, kernels);
  return output;
}

// One element as bits.
uint64_t SumBits(DType in, DType out, const std::vector<double>& values, const std::vector<double>& weights,
                 KernelSet kernels) {
  std::vector<std::string> inputs;
  for (double value : values) inputs.push_back(PackValues(in, {value}));
  return GetBits(out, SumOf(in, out, inputs, weights, kernels).data(), 0);
}

uint64_t CastBits(DType in, DType out, double value, KernelSet kernels) {
  return GetBits(out, CastOf(in, out, PackValues(in, {value}), kernels).data(), 0);
}

// Compares with a reference per element and stops at the first difference.
template <typename F>
void ExpectBits(DType in, DType out, const std::string& input, const std::string& output, const F& expected) {
  for (uint64_t i = 0; i < input.size() / ElementSize(in); ++i) {
    const uint64_t bits = GetBits(in, input.data(), i);
    ASSERT_EQ(GetBits(out, output.data(), i), expected(bits))
        << ck::Name(in) << " " << std::hex << bits << " to " << ck::Name(out) << " at " << std::dec << i;
  }
}

// Every pattern of the 16-bit types; random ones and the neighbours of every 16-bit tie for the others.
std::string Patterns(DType dtype) {
  if (ElementSize(dtype) > 2) {
    std::string buffer = RandomBuffer(dtype, 100000, 7);
    for (uint64_t bits = 0; bits < 65536; ++bits) {
      for (DType narrow : {DType::kF16, DType::kBF16}) {
        const uint64_t exact = Encode(dtype, Decode(narrow, bits));
        const uint64_t next = Encode(dtype, Decode(narrow, bits + 1 == 65536 ? 0 : bits + 1));
        const uint64_t tie = exact + (next - exact) / 2;
        for (uint64_t near : {exact, tie - 1, tie, tie + 1}) AppendBits(dtype, near, buffer);
      }
    }
    return buffer;
  }
  std::string buffer;
  for (uint64_t bits = 0; bits < 65536; ++bits) AppendBits(dtype, bits, buffer);
  return buffer;
}

TEST(Cast, EveryPatternIsRoundedOnceToNearestEven) {
  for (DType in : kDTypes) {
    const std::string input = Patterns(in);
    for (DType out : kDTypes) {
      for (KernelSet kernels : Sets()) {
        SCOPED_TRACE(Name(kernels));
        const std::string output = CastOf(in, out, input, kernels);
        if (in == out) {
          EXPECT_EQ(output, input) << "equal dtypes are copied, NaN payloads included";
        } else {
          ExpectBits(in, out, input, output, [&](uint64_t bits) { return Encode(out, Decode(in, bits)); });
        }
      }
    }
  }
}

TEST(WeightedSum, EveryPatternOfOneInputTimesAWeight) {
  for (DType in : kDTypes) {
    if (in == DType::kF64) continue;  // products of doubles do not fit the integer reference; see below
    const std::string input = in == DType::kF32 ? RandomBuffer(in, 50000, 3) : Patterns(in);
    for (DType out : kDTypes) {
      for (double weight : {1.0, -1.0, 0.3, 1e-30, 3e38}) {
        const auto float_weight = Decode(DType::kF32, std::bit_cast<uint32_t>(static_cast<float>(weight)));
        for (KernelSet kernels : Sets()) {
          SCOPED_TRACE(testing::Message() << Name(kernels) << " weight " << weight);
          ExpectBits(in, out, input, SumOf(in, out, {input}, {weight}, kernels), [&](uint64_t bits) {
            const uint64_t sum = Encode(DType::kF32, MultiplyOntoZero(Decode(in, bits), float_weight));
            return Encode(out, Decode(DType::kF32, sum));
          });
        }
      }
    }
  }
}

TEST(WeightedSum, DoublesAreRoundedOnce) {
  const std::string input = Patterns(DType::kF64);
  for (DType out : kDTypes) {
    for (KernelSet kernels : Sets()) {
      SCOPED_TRACE(Name(kernels));
      const std::string output = SumOf(DType::kF64, out, {input}, {1.0}, kernels);
      ExpectBits(DType::kF64, out, input, output, [&](uint64_t bits) {
        reference::Number number = Decode(DType::kF64, bits);
        if (number.mantissa == 0) number.negative &= number.kind == reference::Number::Kind::kInfinite;
        return Encode(out, number);
      });
    }
  }
}

TEST(WeightedSum, IsAFusedMultiplyAddInInputOrder) {
  const uint64_t elements = 3001;
  for (DType in : kDTypes) {
    std::vector<std::string> inputs;
    std::vector<double> weights;
    for (uint64_t n = 1; n <= 9; ++n) {
      inputs.push_back(RandomBuffer(in, elements, n));
      weights.push_back(n % 3 == 0 ? -0.1 * static_cast<double>(n) : 1.0 / static_cast<double>(n + 2));
      for (KernelSet kernels : Sets()) {
        SCOPED_TRACE(testing::Message() << ck::Name(in) << " " << Name(kernels) << " N=" << n);
        const DType wide = in == DType::kF64 ? DType::kF64 : DType::kF32;
        const std::string sums = SumOf(in, wide, inputs, weights, kernels);
        for (uint64_t i = 0; i < elements; ++i) {
          uint64_t expected;
          double wide_sum = 0;
          float sum = 0;
          for (uint64_t k = 0; k < n; ++k) {
            const uint64_t bits = Encode(wide, Decode(in, GetBits(in, inputs[k].data(), i)));
            if (in == DType::kF64) {
              wide_sum = std::fma(std::bit_cast<double>(bits), weights[k], wide_sum);
            } else {
              sum = std::fma(std::bit_cast<float>(static_cast<uint32_t>(bits)), static_cast<float>(weights[k]), sum);
            }
          }
          expected = in == DType::kF64 ? std::bit_cast<uint64_t>(wide_sum) : std::bit_cast<uint32_t>(sum);
          ASSERT_EQ(GetBits(wide, sums.data(), i), Encode(wide, Decode(wide, expected))) << "element " << i;
        }
        // Narrower outputs are one rounding of that sum.
        for (DType out : kDTypes) {
          ExpectBits(wide, out, sums, SumOf(in, out, inputs, weights, kernels),
                     [&](uint64_t bits) { return Encode(out, Decode(wide, bits)); });
        }
      }
    }
  }
}

// Buffers end where their elements end, so that a sanitizer sees one byte too many; bytes around the output must stay.
TEST(WeightedSum, EveryLengthAndAlignment) {
  for (DType in : kDTypes) {
    for (DType out : kDTypes) {
      const uint64_t in_size = ElementSize(in), out_size = ElementSize(out), longest = 140;
      const std::vector<std::string> whole = {RandomBuffer(in, longest, 1), RandomBuffer(in, longest, 2),
                                              RandomBuffer(in, longest, 3)};
      const std::vector<double> weights = {0.5, -0.25, 0.7};
      const std::string sums = SumOf(in, out, whole, weights, KernelSet::kScalar);
      const std::string casts = CastOf(in, out, whole[0], KernelSet::kScalar);
      for (KernelSet kernels : Sets()) {
        for (uint64_t elements = 0; elements <= longest; ++elements) {
          for (uint64_t shift : {uint64_t{0}, in_size, 2 * in_size, 3 * in_size, uint64_t{1}}) {
            std::vector<std::vector<char>> inputs;
            std::vector<const char*> pointers;
            for (const std::string& buffer : whole) {
              inputs.emplace_back(shift + elements * in_size);
              std::copy_n(buffer.data(), elements * in_size, inputs.back().data() + shift);
              pointers.push_back(inputs.back().data() + shift);
            }
            const std::string before(shift + 3, '\x5A'), after(70, '\x5A');
            std::string output = before + std::string(elements * out_size, '\x33') + after;
            WeightedSum(in, out, pointers, weights, output.data() + before.size(), elements, kernels);
            ASSERT_EQ(output, before + sums.substr(0, elements * out_size) + after) << elements << " " << shift;
            Cast(in, out, pointers[0], output.data() + before.size(), elements, kernels);
            ASSERT_EQ(output, before + casts.substr(0, elements * out_size) + after) << elements << " " << shift;
          }
        }
      }
    }
  }
}

TEST(WeightedSum, EqualInputsGiveTheSameValueWhateverTheirNumber) {
  for (KernelSet kernels : Sets()) {
    SCOPED_TRACE(Name(kernels));
    for (int n = 1; n <= 128; ++n) {
      const std::vector<double> ones(static_cast<size_t>(n), 1.0), weights(static_cast<size_t>(n), 1.0 / n);
      EXPECT_EQ(SumBits(DType::kBF16, DType::kBF16, ones, weights, kernels), 0x3F80u) << n;
      EXPECT_EQ(SumBits(DType::kF16, DType::kF16, ones, weights, kernels), 0x3C00u) << n;
    }
    // 40000 + 40000 would be infinite in half precision.
    EXPECT_EQ(SumBits(DType::kF16, DType::kF16, {40000, 40000}, {0.5, 0.5}, kernels), 0x78E2u);
    EXPECT_EQ(SumBits(DType::kF16, DType::kF16, {40000, 40000}, {1, -0.5}, kernels), 0x74E2u) << "20000";
  }
}

TEST(WeightedSum, RoundsOnceToEven) {
  for (KernelSet kernels : Sets()) {
    SCOPED_TRACE(Name(kernels));
    EXPECT_EQ(SumBits(DType::kBF16, DType::kBF16, {1.0, 1.0078125}, {0.5, 0.5}, kernels), 0x3F80u) << "1.0";
    EXPECT_EQ(SumBits(DType::kBF16, DType::kBF16, {1.0078125, 1.015625}, {0.5, 0.5}, kernels), 0x3F82u) << "1.015625";
    // By way of float the last bit would be lost and the tie would go to 1.0.
    const double above_tie = 1 + 0x1p-8 + 0x1p-40;
    EXPECT_EQ(SumBits(DType::kF64, DType::kBF16, {above_tie}, {1}, kernels), 0x3F81u) << "1.0078125";
    EXPECT_EQ(CastBits(DType::kF64, DType::kBF16, above_tie, kernels), 0x3F81u);
    EXPECT_EQ(CastBits(DType::kF64, DType::kBF16, -above_tie, kernels), 0xBF81u);
    EXPECT_EQ(CastBits(DType::kF64, DType::kBF16, 1 + 0x1p-8 - 0x1p-40, kernels), 0x3F80u);
    EXPECT_EQ(CastBits(DType::kF64, DType::kF16, 1 + 0x1p-11 + 0x1p-50, kernels), 0x3C01u);
    EXPECT_EQ(CastBits(DType::kF64, DType::kF16, 0x1p-25 + 0x1p-70, kernels), 0x0001u) << "above half a denormal";
    EXPECT_EQ(CastBits(DType::kF64, DType::kF16, 0x1p-25, kernels), 0x0000u) << "a tie, to even";
  }
}

TEST(WeightedSum, WeightsAreUsedAsGiven) {
  for (KernelSet kernels : Sets()) {
    SCOPED_TRACE(Name(kernels));
    EXPECT_EQ(SumBits(DType::kBF16, DType::kBF16, {1, 3}, {0.1, 1.0}, kernels), 0x4046u) << "3.09375";
    EXPECT_EQ(SumBits(DType::kBF16, DType::kBF16, {1, 3}, {0.1 / 1.1, 1 / 1.1}, kernels), 0x4034u) << "2.8125";
    EXPECT_EQ(SumBits(DType::kF32, DType::kF32, {1, 3}, {0.1, 1.0}, kernels), std::bit_cast<uint32_t>(3.1f));
    EXPECT_EQ(SumBits(DType::kF64, DType::kF64, {1, 3}, {0.1, 1.0}, kernels), std::bit_cast<uint64_t>(3.1));
  }
}

TEST(WeightedSum, SpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (KernelSet kernels : Sets()) {
    SCOPED_TRACE(Name(kernels));
    EXPECT_EQ(SumBits(DType::kF16, DType::kF16, {60000, 60000}, {0.5, 0.6}, kernels), 0x7C00u) << "66000 overflows";
    EXPECT_EQ(SumBits(DType::kF16, DType::kF32, {60000, 60000}, {0.5, 0.5}, kernels), 0x476A6000u) << "60000";
    EXPECT_EQ(SumBits(DType::kF32, DType::kF32, {-0.0, -0.0}, {1, 1}, kernels), 0u) << "the sum starts at +0.0";
    EXPECT_EQ(SumBits(DType::kBF16, DType::kBF16, {0x1p-133}, {1}, kernels), 1u) << "the smallest denormal";
    EXPECT_EQ(SumBits(DType::kF32, DType::kF32, {0x1p-149, 0x1p-149}, {1, 2}, kernels), 3u);
    EXPECT_EQ(SumBits(DType::kF32, DType::kF32, {inf}, {0}, kernels), 0x7FC00000u) << "a weight of 0 is not skipped";
    for (const auto& [dtype, expected] : {std::pair{DType::kF16, uint64_t{0x7E00}}, {DType::kBF16, 0x7FC0},
                                          {DType::kF32, 0x7FC00000}, {DType::kF64, 0x7FF8000000000000}}) {
      EXPECT_EQ(SumBits(dtype, dtype, {inf, inf}, {1, -1}, kernels), expected);
      EXPECT_EQ(SumBits(dtype, dtype, {1, nan}, {1, -1}, kernels), expected);
    }
  }
}

#if defined(__x86_64__)
TEST(WeightedSum, DoesNotDependOnTheFloatModeOfTheThread) {
  for (KernelSet kernels : Sets()) {
    const std::string input = RandomBuffer(DType::kF32, 5000, 11);
    const std::string sum = SumOf(DType::kF32, DType::kF16, {input, input}, {0.3, 1e-30}, kernels);
    const std::string cast = CastOf(DType::kF32, DType::kBF16, input, kernels);
    const unsigned saved = _mm_getcsr(), odd_mode = 0x1F80 | 0x8040 | 0x4000;  // flush, denormals are zero, upwards
    _mm_setcsr(odd_mode);
    const std::string same_sum = SumOf(DType::kF32, DType::kF16, {input, input}, {0.3, 1e-30}, kernels);
    const std::string same_cast = CastOf(DType::kF32, DType::kBF16, input, kernels);
    const unsigned after = _mm_getcsr() & ~0x3Fu;  // without the sticky flags
    _mm_setcsr(saved);
    EXPECT_EQ(sum, same_sum);
    EXPECT_EQ(cast, same_cast);
    EXPECT_EQ(after, odd_mode);
  }
}
#endif

TEST(WeightedSum, BrokenPreconditionsAreOurBugAndWriteNothing) {
  std::string buffer(8, 'x');
  const char* input = buffer.data();
  const auto run = [&](DType in, DType out, std::span<const char* const> inputs, std::vector<double> weights) {
    return IdOf([&] { WeightedSum(in, out, inputs, weights, buffer.data(), 1); });
  };
  const std::string id = "internal.check_failed";
  EXPECT_EQ(run(DType::kI32, DType::kF32, {&input, 1}, {1}), id);
  EXPECT_EQ(run(DType::kF32, DType::kF8E4M3, {&input, 1}, {1}), id);
  EXPECT_EQ(run(DType::kF32, DType::kF32, {}, {}), id);
  EXPECT_EQ(run(DType::kF32, DType::kF32, {&input, 1}, {0.5, 0.5}), id);
  EXPECT_EQ(run(DType::kF32, DType::kF32, {&input, 1}, {1e39}), id);
  EXPECT_EQ(IdOf([&] { Cast(DType::kF32, DType::kBool, input, buffer.data(), 1); }), id);
  EXPECT_EQ(IdOf([&] { AddConstant(DType::kU8, 1, input, buffer.data(), 1); }), id);
  EXPECT_EQ(IdOf([&] { AddConstant(DType::kF32, 1e39, input, buffer.data(), 1); }), id);
  EXPECT_EQ(buffer, "xxxxxxxx");
}

TEST(WeightFits, IsFiniteAsAFloat) {
  const double max = std::numeric_limits<float>::max();
  for (double weight : {0.0, -1.5, max, -max, 0x1.fffffefp127, 1e-300}) EXPECT_TRUE(WeightFits(weight)) << weight;
  for (double weight : {0x1.ffffffp127, -0x1.ffffffp127, 1e39, std::numeric_limits<double>::infinity(),
                        std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(WeightFits(weight)) << weight;
    EXPECT_FALSE(std::isfinite(static_cast<float>(weight)));
  }
}

TEST(AddConstant, RoundsOnceAndCountsWhatCannotBeUndone) {
  // 1 + 2^-9 is a tie in BF16 and goes to 1: subtracting 1 gives 0. -0.0 counts as restored, and so does NaN.
  const std::string input = PackValues(DType::kBF16, {0.5, 0x1p-9, 0x1p-7, -0.0, -1, 0x1p-100,
                                                      std::numeric_limits<double>::quiet_NaN()});
  std::string output(input.size(), 0);
  EXPECT_EQ(AddConstant(DType::kBF16, 1, input.data(), output.data(), 7), 2u);
  EXPECT_EQ(output, PackValues(DType::kBF16, {1.5, 1, 1.0078125, 1, 0, 1, std::numeric_limits<double>::quiet_NaN()}));
  const std::string doubles = PackValues(DType::kF64, {0x1p-52, 0x1p-54});
  std::string sums(doubles.size(), 0);
  EXPECT_EQ(AddConstant(DType::kF64, 1, doubles.data(), sums.data(), 2), 1u);
  EXPECT_EQ(sums, PackValues(DType::kF64, {1 + 0x1p-52, 1}));
  const std::string halves = PackValues(DType::kF16, {65504, 2});
  EXPECT_EQ(AddConstant(DType::kF16, 16, halves.data(), output.data(), 2), 1u) << "65520 is infinite";
  EXPECT_EQ(output.substr(0, 4), PackValues(DType::kF16, {65520, 18}));
}

TEST(ChooseKernels, FollowsTheEnvironmentElseTheCpu) {
  EXPECT_EQ(ChooseKernels("", true), KernelSet::kAvx2);
  EXPECT_EQ(ChooseKernels("", false), KernelSet::kScalar);
  EXPECT_EQ(ChooseKernels("scalar", true), KernelSet::kScalar);
  EXPECT_EQ(ChooseKernels("avx2", true), KernelSet::kAvx2);
  EXPECT_EQ(IdOf([] { ChooseKernels("avx2", false); }), "kernels.unsupported");
  EXPECT_EQ(IdOf([] { ChooseKernels("fast", true); }), "kernels.unknown");
  EXPECT_TRUE(IsSupported(ChosenKernels()));
}

// In a fresh process, because the choice is made once.
TEST(ChosenKernels, ReadsTheEnvironment) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto choose = [](const char* wanted) {
    setenv("CK_KERNELS", wanted, 1);
    const std::string id = IdOf([] { ChosenKernels(); });
    std::_Exit(id == "kernels.unknown" ? 9 : ChosenKernels() == KernelSet::kScalar ? 7 : 8);
  };
  EXPECT_EXIT(choose("scalar"), testing::ExitedWithCode(7), "");
  EXPECT_EXIT(choose(""), testing::ExitedWithCode(IsSupported(KernelSet::kAvx2) ? 8 : 7), "");
  EXPECT_EXIT(choose("fast"), testing::ExitedWithCode(9), "");
}

}  // namespace
}  // namespace ck::kernels
