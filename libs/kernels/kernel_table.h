// One implementation of the contract in accumulate.h: a function per pair of dtypes. Private to libs/kernels.
//
// A set is a template K<in, out> with static functions Sum and Cast. To add one (AVX-512 is the next candidate: F and BW
// do; its BF16 conversion instructions flush denormals and keep NaN payloads, so they cannot be used), write
// accumulate_<set>.cc like accumulate_avx2.cc, give it a KernelSet and a row in TableOf, and every test runs it too.
#ifndef CK_KERNELS_KERNEL_TABLE_H_
#define CK_KERNELS_KERNEL_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "libs/tensor/dtype.h"

namespace ck::kernels {

struct Kernel {
  // `count` inputs and weights; preconditions checked, floating-point mode set by the caller.
  void (*sum)(const char* const* inputs, const double* weights, size_t count, char* output, uint64_t elements);
  // Also for equal dtypes, where it makes NaNs canonical and the public Cast does not use it.
  void (*cast)(const char* input, char* output, uint64_t elements);
};

// kernels[in][out], F16, BF16, F32, F64 in both.
using KernelTable = std::array<std::array<Kernel, 4>, 4>;

template <template <DType, DType> typename K, DType in>
constexpr std::array<Kernel, 4> KernelRow() {
  return {{{&K<in, DType::kF16>::Sum, &K<in, DType::kF16>::Cast},
           {&K<in, DType::kBF16>::Sum, &K<in, DType::kBF16>::Cast},
           {&K<in, DType::kF32>::Sum, &K<in, DType::kF32>::Cast},
           {&K<in, DType::kF64>::Sum, &K<in, DType::kF64>::Cast}}};
}

template <template <DType, DType> typename K>
constexpr KernelTable MakeKernelTable() {
  return {{KernelRow<K, DType::kF16>(), KernelRow<K, DType::kBF16>(), KernelRow<K, DType::kF32>(),
           KernelRow<K, DType::kF64>()}};
}

// Place of a mergeable dtype in a KernelTable.
constexpr size_t TableIndex(DType dtype) { return static_cast<size_t>(dtype) - static_cast<size_t>(DType::kF16); }
static_assert(TableIndex(DType::kBF16) == 1 && TableIndex(DType::kF32) == 2 && TableIndex(DType::kF64) == 3);

extern const KernelTable kScalarKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
#endif

}  // namespace ck::kernels

#endif  // CK_KERNELS_KERNEL_TABLE_H_
