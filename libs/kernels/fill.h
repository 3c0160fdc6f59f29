// Values for elements that no input has: constants, and random numbers that depend on nothing but their place.
//
// Model.   The random number of an element is a pure function of a seed, a stream and the element's index: the
//          counter-based generator Philox4x32-10 of Salmon and others (SC11), as in at::Philox4_32(seed, stream,
//          index / 4). So a tensor can be filled in any pieces, by any threads and ranks, in any order. The stream is
//          derived from the tensor's name.
// Bytes.   As in accumulate.h: little-endian, any alignment, F16, BF16, F32 and F64, each value rounded once.
// Errors.  A dtype or range that breaks a precondition is internal.check_failed, before any byte is written.
#ifndef CK_KERNELS_FILL_H_
#define CK_KERNELS_FILL_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "libs/tensor/dtype.h"

namespace ck::kernels {

// The four 32-bit numbers of one block; blocks are independent.
std::array<uint32_t, 4> Philox(uint64_t seed, uint64_t stream, uint64_t block);

// FNV-1a of the name, 64 bits: equal names give equal streams.
uint64_t StreamOf(std::string_view name);

// Uniform in [0, 1), a multiple of 2^-32, exact.
double UniformAt(uint64_t seed, uint64_t stream, uint64_t index);

// output[i] = low + (high - low) * UniformAt(seed, stream, first + i), computed in double with one fused multiply-add,
// rounded to `dtype`; may round to `high`. Precondition: low <= high, and high - low is finite.
void FillUniform(DType dtype, double low, double high, uint64_t seed, uint64_t stream, uint64_t first, char* output,
                 uint64_t elements);

// output[i] = value, rounded to `dtype`.
void FillConstant(DType dtype, double value, char* output, uint64_t elements);

}  // namespace ck::kernels

#endif  // CK_KERNELS_FILL_H_
