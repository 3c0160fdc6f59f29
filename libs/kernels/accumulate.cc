#include "libs/kernels/accumulate.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/kernels/float_mode.h"
#include "libs/kernels/kernel_table.h"
#include "libs/kernels/scalar.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ck::kernels {
namespace {

bool CpuHasAvx2() {
#if defined(__x86_64__)
  // Not every compiler's __builtin_cpu_supports knows f16c, so its bit is read here. "avx2" includes the question
  // whether the operating system saves the wide registers.
  unsigned a, b, c, d;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) &&
         (c & bit_F16C) != 0;
#else
  return false;
#endif
}

const KernelTable& TableOf(KernelSet kernels) {
  Check(IsSupported(kernels), Cat("this machine cannot run the kernels ", Name(kernels)));
#if defined(__x86_64__)
  if (kernels == KernelSet::kAvx2) return kAvx2Kernels;
#endif
  return kScalarKernels;
}

const Kernel& KernelFor(DType in, DType out, KernelSet kernels) {
  Check(IsMergeable(in) && IsMergeable(out), Cat("no arithmetic from ", ck::Name(in), " to ", ck::Name(out)));
  return TableOf(kernels)[TableIndex(in)][TableIndex(out)];
}

// Not inlined: no operation may move in front of the change of the floating-point mode.
template <DType dtype>
[[gnu::noinline]] uint64_t AddConstantTo(double constant, const char* input, char* output, uint64_t elements) {
  const auto c = static_cast<Wide<dtype>>(constant);
  uint64_t not_restored = 0;
  for (uint64_t i = 0; i < elements; ++i) {
    const Wide<dtype> x = LoadElement<dtype>(input, i);
    StoreElement<dtype>(output, i, x + c);
    const auto back = static_cast<Wide<dtype>>(RoundTo<dtype>(LoadElement<dtype>(output, i) - c));
    if (back != x && !(std::isnan(back) && std::isnan(x))) ++not_restored;
  }
  return not_restored;
}

}  // namespace

std::string_view Name(KernelSet kernels) { return kernels == KernelSet::kAvx2 ? "avx2" : "scalar"; }

bool IsSupported(KernelSet kernels) {
  static const bool has_avx2 = CpuHasAvx2();
  return kernels == KernelSet::kScalar || has_avx2;
}

KernelSet ChooseKernels(std::string_view wanted, bool avx2_supported) {
  if (wanted.empty()) return avx2_supported ? KernelSet::kAvx2 : KernelSet::kScalar;
  if (wanted == Name(KernelSet::kScalar)) return KernelSet::kScalar;
  if (wanted != Name(KernelSet::kAvx2)) {
    throw UsageError("kernels.unknown", Cat("CK_KERNELS is ", Quote(wanted), ", expected 'scalar' or 'avx2'"));
  }
  if (!avx2_supported) {
    throw EnvironmentError("kernels.unsupported",
                           "CK_KERNELS is 'avx2', but this machine lacks AVX2, FMA or F16C; unset it or use 'scalar'");
  }
  return KernelSet::kAvx2;
}

KernelSet ChosenKernels() {
  static const KernelSet chosen = [] {
    const char* wanted = std::getenv("CK_KERNELS");
    return ChooseKernels(wanted == nullptr ? "" : wanted, IsSupported(KernelSet::kAvx2));
  }();
  return chosen;
}

bool WeightFits(double weight) {
  // Half-way from the largest float to 2^128, where rounding to nearest starts to give infinity. False for NaN.
  return std::fabs(weight) < 0x1.ffffffp127;
}

void WeightedSum(DType in, DType out, std::span<const char* const> inputs, std::span<const double> weights,
                 char* output, uint64_t elements, KernelSet kernels) {
  Check(!inputs.empty() && inputs.size() == weights.size(),
        Cat("weighted sum of ", inputs.size(), " inputs with ", weights.size(), " weights"));
  for (double weight : weights) Check(WeightFits(weight), Cat("weight ", FormatDouble(weight), " does not fit"));
  const Kernel& kernel = KernelFor(in, out, kernels);
  StandardFloatMode mode;
  kernel.sum(inputs.data(), weights.data(), inputs.size(), output, elements);
}

void Cast(DType in, DType out, const char* input, char* output, uint64_t elements, KernelSet kernels) {
  const Kernel& kernel = KernelFor(in, out, kernels);
  if (in == out) {
    if (elements != 0) std::memcpy(output, input, elements * ElementSize(in));
    return;
  }
  StandardFloatMode mode;
  kernel.cast(input, output, elements);
}

uint64_t AddConstant(DType dtype, double constant, const char* input, char* output, uint64_t elements) {
  Check(WeightFits(constant), Cat("constant ", FormatDouble(constant), " does not fit"));
  StandardFloatMode mode;
  switch (dtype) {
    case DType::kF16: return AddConstantTo<DType::kF16>(constant, input, output, elements);
    case DType::kBF16: return AddConstantTo<DType::kBF16>(constant, input, output, elements);
    case DType::kF32: return AddConstantTo<DType::kF32>(constant, input, output, elements);
    case DType::kF64: return AddConstantTo<DType::kF64>(constant, input, output, elements);
    default: throw InternalError("internal.check_failed", Cat("no arithmetic on ", Name(dtype)));
  }
}

}  // namespace ck::kernels
