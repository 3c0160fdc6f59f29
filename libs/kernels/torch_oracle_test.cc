// The kernels against PyTorch's own CPU arithmetic: acc.add_(x, alpha=weight) per input, then a cast.
//
// add_ is a fused multiply-add only where PyTorch uses its AVX2 or AVX-512 code, so the test asks for that. On a CPU
// without FMA the oracle of the sum is std::fma; casts are always PyTorch's.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/kernels/accumulate.h"
#include "libs/kernels/integer_reference.h"

namespace ck::kernels {
namespace {

using reference::Decode;
using reference::Encode;
using reference::GetBits;

constexpr DType kDTypes[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

at::ScalarType TorchType(DType dtype) {
  switch (dtype) {
    case DType::kF16: return at::kHalf;
    case DType::kBF16: return at::kBFloat16;
    case DType::kF32: return at::kFloat;
    default: return at::kDouble;
  }
}

class TorchOracle : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Read by PyTorch at its first operation.
    setenv("ATEN_CPU_CAPABILITY", IsSupported(KernelSet::kAvx2) ? "avx2" : "default", 1);
    at::set_num_threads(1);
    if (!IsSupported(KernelSet::kAvx2)) std::cerr << "no FMA on this CPU: sums are compared with std::fma\n";
  }

  static std::vector<KernelSet> Sets() {
    if (IsSupported(KernelSet::kAvx2)) return {KernelSet::kScalar, KernelSet::kAvx2};
    return {KernelSet::kScalar};
  }

  static at::Tensor View(DType dtype, const char* data, uint64_t elements) {
    return at::from_blob(const_cast<char*>(data), {static_cast<int64_t>(elements)}, TorchType(dtype));
  }

  template <typename T>
  static void FmaInto(at::Tensor& sum, const at::Tensor& x, T weight) {
    const at::Tensor wide = x.to(sum.scalar_type());
    for (int64_t i = 0; i < sum.numel(); ++i) {
      sum.data_ptr<T>()[i] = std::fma(wide.data_ptr<T>()[i], weight, sum.data_ptr<T>()[i]);
    }
  }

  static void AddInto(at::Tensor& sum, const at::Tensor& x, double weight) {
    if (IsSupported(KernelSet::kAvx2)) {
      sum.add_(x, weight);
    } else if (sum.scalar_type() == at::kDouble) {
      FmaInto<double>(sum, x, weight);
    } else {
      FmaInto<float>(sum, x, static_cast<float>(weight));
    }
  }

  // Bits of a torch tensor, with every NaN made the one of `dtype`.
  static uint64_t CanonicalBits(DType dtype, const at::Tensor& tensor, uint64_t index) {
    const uint64_t bits = GetBits(dtype, static_cast<const char*>(tensor.data_ptr()), index);
    const reference::Number number = Decode(dtype, bits);
    return number.kind == reference::Number::Kind::kNan ? Encode(dtype, number) : bits;
  }

  // What `wide` is in `out`. PyTorch takes doubles through float to the 16-bit types, which rounds twice; the integers
  // of the reference take it from there.
  static uint64_t Rounded(DType wide_dtype, DType out, const at::Tensor& wide, const at::Tensor& cast, uint64_t index) {
    if (wide_dtype == DType::kF64 && ElementSize(out) == 2) {
      return Encode(out, Decode(DType::kF64, CanonicalBits(DType::kF64, wide, index)));
    }
    return CanonicalBits(out, cast, index);
  }
};

TEST_F(TorchOracle, FusesMultiplyAndAdd) {
  // 1 + 2^-23 times itself minus its rounded square: 2^-46 when fused, else 0.
  const float x = 1 + 0x1p-23f, square = 1 + 0x1p-22f;
  at::Tensor sum = at::full({64}, -square, at::kFloat);
  AddInto(sum, at::full({64}, x, at::kFloat), x);
  EXPECT_EQ(sum[0].item<float>(), 0x1p-46f) << "the oracle itself is not what the contract names";
}

TEST_F(TorchOracle, SumsOfRandomBitsAreEqual) {
  std::mt19937_64 random(20240229);
  for (DType in : kDTypes) {
    const DType wide = in == DType::kF64 ? DType::kF64 : DType::kF32;
    for (uint64_t n = 1; n <= 9; ++n) {
      const uint64_t elements = 997 + 2 * n, offset = n % 5;
      std::vector<std::string> inputs(n);
      std::vector<const char*> pointers;
      std::vector<double> weights;
      at::Tensor sum = at::zeros({static_cast<int64_t>(elements)}, TorchType(wide));
      for (std::string& input : inputs) {
        for (uint64_t i = 0; i < offset + elements; ++i) {
          reference::AppendBits(in, reference::RandomBits(in, random), input);
        }
        pointers.push_back(input.data() + offset * ElementSize(in));
        weights.push_back(std::uniform_real_distribution<double>(-0.5, 1)(random));
        AddInto(sum, View(in, pointers.back(), elements), weights.back());
      }
      for (DType out : kDTypes) {
        const at::Tensor cast = sum.to(TorchType(out));
        for (KernelSet kernels : Sets()) {
          std::string output(elements * ElementSize(out), 0);
          WeightedSum(in, out, pointers, weights, output.data(), elements, kernels);
          for (uint64_t i = 0; i < elements; ++i) {
            ASSERT_EQ(GetBits(out, output.data(), i), Rounded(wide, out, sum, cast, i))
                << ck::Name(in) << " to " << ck::Name(out) << ", " << Name(kernels) << ", N=" << n << " at " << i;
          }
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
    for (uint64_t i = 0; i < elements; ++i) reference::AppendBits(in, reference::RandomBits(in, random), input);
    const at::Tensor tensor = View(in, input.data(), elements);
    for (DType out : kDTypes) {
      if (in == out) continue;  // a copy, which keeps NaN payloads
      const at::Tensor cast = tensor.to(TorchType(out));
      for (KernelSet kernels : Sets()) {
        std::string output(elements * ElementSize(out), 0);
        Cast(in, out, input.data(), output.data(), elements, kernels);
        for (uint64_t i = 0; i < elements; ++i) {
          ASSERT_EQ(GetBits(out, output.data(), i), Rounded(in, out, tensor, cast, i))
              << ck::Name(in) << " to " << ck::Name(out) << ", " << Name(kernels) << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ck::kernels
