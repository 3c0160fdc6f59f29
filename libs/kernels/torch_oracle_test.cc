// The kernels against PyTorch's own CPU arithmetic: add_(x, alpha=weight) per input, then a cast.
//
// On a CPU without FMA the oracle of the sum is std::fma, and the test says so; casts are PyTorch's everywhere.
#include "libs/kernels/torch_oracle.h"

#include <bit>
#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/kernels/accumulate.h"
#include "libs/kernels/integer_reference.h"

namespace ck::kernels {
namespace {

using reference::AppendBits;
using reference::Decode;
using reference::Encode;
using reference::GetBits;

constexpr DType kDTypes[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

class TorchOracle : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    oracle::Start(IsSupported(KernelSet::kAvx2));
    if (!IsSupported(KernelSet::kAvx2)) std::cerr << "no FMA on this CPU: sums are compared with std::fma\n";
  }

  static std::vector<KernelSet> Sets() {
    if (IsSupported(KernelSet::kAvx2)) return {KernelSet::kScalar, KernelSet::kAvx2};
    return {KernelSet::kScalar};
  }

  template <typename T>
  static void FmaInto(std::string& sum, const std::string& wide_x, T weight) {
    T* s = reinterpret_cast<T*>(sum.data());
    const T* x = reinterpret_cast<const T*>(wide_x.data());
    for (uint64_t i = 0; i < sum.size() / sizeof(T); ++i) s[i] = std::fma(x[i], weight, s[i]);
  }

  static void AddInto(DType wide, std::string& sum, DType in, const char* x, double weight) {
    if (IsSupported(KernelSet::kAvx2)) {
      oracle::Add(wide, sum, in, x, weight);
    } else if (wide == DType::kF64) {
      FmaInto(sum, oracle::Cast(in, wide, x, sum.size() / 8), weight);
    } else {
      FmaInto(sum, oracle::Cast(in, wide, x, sum.size() / 4), static_cast<float>(weight));
    }
  }

  // Element `index`, with every NaN made the one of `dtype`.
  static uint64_t CanonicalBits(DType dtype, const char* buffer, uint64_t index) {
    const uint64_t bits = GetBits(dtype, buffer, index);
    const reference::Number number = Decode(dtype, bits);
    return number.kind == reference::Number::Kind::kNan ? Encode(dtype, number) : bits;
  }

  // `output` must be what PyTorch makes of `input`. It takes doubles through float to the 16-bit types, which rounds
  // twice: there the integers of the reference are the judge.
  static void ExpectCast(DType in, DType out, const char* input, const std::string& output) {
    const uint64_t elements = output.size() / ElementSize(out);
    const std::string cast = oracle::Cast(in, out, input, elements);
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t expected = in == DType::kF64 && ElementSize(out) == 2
                                    ? Encode(out, Decode(in, GetBits(in, input, i)))
                                    : CanonicalBits(out, cast.data(), i);
      ASSERT_EQ(GetBits(out, output.data(), i), expected)
          << std::hex << GetBits(in, input, i) << std::dec << " to " << ck::Name(out) << " at " << i;
    }
  }
};

TEST_F(TorchOracle, FusesMultiplyAndAdd) {
  // (1 + 2^-23)^2 minus its rounded value is 2^-46 when fused, else 0.
  std::string sum, x;
  for (int i = 0; i < 67; ++i) {
    AppendBits(DType::kF32, std::bit_cast<uint32_t>(-(1 + 0x1p-22f)), sum);
    AppendBits(DType::kF32, std::bit_cast<uint32_t>(1 + 0x1p-23f), x);
  }
  AddInto(DType::kF32, sum, DType::kF32, x.data(), 1 + 0x1p-23);
  for (uint64_t i = 0; i < 67; ++i) {
    ASSERT_EQ(GetBits(DType::kF32, sum.data(), i), std::bit_cast<uint32_t>(0x1p-46f)) << "not the oracle we need";
  }
}

TEST_F(TorchOracle, SumsOfRandomBitsAreEqual) {
  std::mt19937_64 random(20240229);
  for (DType in : kDTypes) {
    const DType wide = in == DType::kF64 ? DType::kF64 : DType::kF32;
    for (uint64_t n = 1; n <= 9; ++n) {
      const uint64_t elements = 1997 + 2 * n, offset = n % 5;
      std::vector<std::string> inputs(n);
      std::vector<const char*> pointers;
      std::vector<double> weights;
      std::string sum(elements * ElementSize(wide), '\0');
      for (std::string& input : inputs) {
        for (uint64_t i = 0; i < offset + elements; ++i) AppendBits(in, reference::RandomBits(in, random), input);
        pointers.push_back(input.data() + offset * ElementSize(in));
        weights.push_back(std::uniform_real_distribution<double>(-0.5, 1)(random));
        AddInto(wide, sum, in, pointers.back(), weights.back());
      }
      for (DType out : kDTypes) {
        for (KernelSet kernels : Sets()) {
          SCOPED_TRACE(testing::Message() << ck::Name(in) << ", " << Name(kernels) << ", N=" << n);
          std::string output(elements * ElementSize(out), 0);
          WeightedSum(in, out, pointers, weights, output.data(), elements, kernels);
          ExpectCast(wide, out, sum.data(), output);
        }
      }
    }
  }
}

TEST_F(TorchOracle, CastsOfRandomBitsAreEqual) {
  std::mt19937_64 random(17);
  const uint64_t elements = 20011;
  for (DType in : kDTypes) {
    std::string input;
    for (uint64_t i = 0; i < elements; ++i) AppendBits(in, reference::RandomBits(in, random), input);
    for (DType out : kDTypes) {
      if (in == out) continue;  // a copy, which keeps NaN payloads
      for (KernelSet kernels : Sets()) {
        SCOPED_TRACE(testing::Message() << ck::Name(in) << ", " << Name(kernels));
        std::string output(elements * ElementSize(out), 0);
        Cast(in, out, input.data(), output.data(), elements, kernels);
        ExpectCast(in, out, input.data(), output);
      }
    }
  }
}

}  // namespace
}  // namespace ck::kernels
