// PyTorch's CPU arithmetic on plain buffers, for tests.
//
// Alone in including ATen: its headers of version 1.13 do not compile as C++20 with clang, so torch_oracle.cc is C++17.
#ifndef CK_KERNELS_TORCH_ORACLE_H_
#define CK_KERNELS_TORCH_ORACLE_H_

#include <cstdint>
#include <string>

#include "libs/tensor/dtype.h"

namespace ck::kernels::oracle {

// Call before everything else. add_ is a fused multiply-add only in PyTorch's AVX2 and AVX-512 code, so this asks for
// it; `has_fma` false keeps PyTorch off instructions that the CPU lacks.
void Start(bool has_fma);

// sum.add_(x, alpha=weight) in place: `sum` holds F32 or F64, `x` elements of `in`.
void Add(DType sum_dtype, std::string& sum, DType in, const char* x, double weight);

// input.to(out).
std::string Cast(DType in, DType out, const char* input, uint64_t elements);

}  // namespace ck::kernels::oracle

#endif  // CK_KERNELS_TORCH_ORACLE_H_
