// Arithmetic on tensor elements: the weighted sum of a merge, casts, and a constant added.
//
// Contract. docs/arithmetic.md. F16, BF16, F32 and F64 only; the result of every function is a function of its
//           arguments, to the bit, for every KernelSet, CPU, floating-point mode of the calling thread, and division of
//           a buffer into calls.
// Bytes.    Buffers hold little-endian elements at any alignment. An output overlaps no input. Lengths are the
//           caller's duty: `elements` elements are readable in each input and writable in the output.
// Threads.  All functions may be called at the same time; nothing is shared but the choice of kernels.
// Errors.   kernels.unknown, kernels.unsupported (the environment variable CK_KERNELS); a dtype or weight that breaks
//           a precondition is internal.check_failed, before any byte is written.
#ifndef CK_KERNELS_ACCUMULATE_H_
#define CK_KERNELS_ACCUMULATE_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "libs/tensor/dtype.h"

namespace ck::kernels {

// Implementations of the same contract; equal bits. kScalar exists everywhere, kAvx2 needs AVX2, FMA and F16C.
enum class KernelSet : uint8_t { kScalar, kAvx2 };

// "scalar", "avx2": the values of CK_KERNELS.
std::string_view Name(KernelSet kernels);
// True when this CPU, its operating system and this build can run `kernels`.
bool IsSupported(KernelSet kernels);
// What CK_KERNELS names, else the fastest supported set. Decided by the first call, for the life of the process.
KernelSet ChosenKernels();
// The decision itself: `wanted` is the value of CK_KERNELS (empty: not set), `avx2_supported` what the CPU can do.
KernelSet ChooseKernels(std::string_view wanted, bool avx2_supported);

// True for a weight that is finite, also after it is rounded to float. Callers refuse every other weight.
bool WeightFits(double weight);

// output[i] = sum over k of weights[k] * inputs[k][i], rounded once to `out`.
//   in F16, BF16, F32: acc starts at +0.0f; in input order acc = fma(x, (float)weight, acc) in single precision.
//   in F64: the same in double precision with the weight as it is.
// `out` is any of F16, BF16, F32, F64. The sum is rounded to nearest, ties to even; denormals are kept; too large
// values become infinite; a NaN becomes the one NaN of `out` (BF16 0x7FC0, F16 0x7E00, F32 0x7FC00000,
// F64 0x7FF8000000000000). A weight of 0 still reads its input (0 x NaN is NaN): leave such inputs out.
// Precondition: one or more inputs, as many weights, each WeightFits.
void WeightedSum(DType in, DType out, std::span<const char* const> inputs, std::span<const double> weights,
                 char* output, uint64_t elements, KernelSet kernels = ChosenKernels());

// output[i] = input[i], rounded once to `out` by the rules above; -0.0 stays -0.0. When `in` equals `out` the bytes are
// copied, NaN payloads included.
void Cast(DType in, DType out, const char* input, char* output, uint64_t elements,
          KernelSet kernels = ChosenKernels());

// output[i] = input[i] + constant, rounded once to `dtype` by the rules above; computed in single precision (constant
// rounded to float) for F16, BF16 and F32, in double for F64. Returns the number of elements that
// AddConstant(dtype, -constant, output, ...) would not restore to an equal value (-0.0 equals 0.0, NaN equals NaN).
// Precondition: WeightFits(constant).
uint64_t AddConstant(DType dtype, double constant, const char* input, char* output, uint64_t elements);

}  // namespace ck::kernels

#endif  // CK_KERNELS_ACCUMULATE_H_
