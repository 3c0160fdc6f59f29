// The kernels for x86-64 with AVX2, FMA and F16C.
//
// Shape.   A block of 64 elements (16 in double) lives in registers while the inputs are added to it, so every input is
//          streamed once. The last, shorter block of a buffer goes through a padded copy of the same code.
// Order.   Single precision works on groups of 16 elements in two registers. A group of BF16 is split into its even and
//          its odd elements (a shift and a mask, no shuffle); where BF16 goes out again it is joined the same way.
// Target.  Only functions marked CK_AVX2 use these instructions, so the file is compiled for the baseline like all
//          others and nothing it instantiates can leak them into other code.
#include "libs/kernels/kernel_table.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>

#define CK_AVX2 __attribute__((target("avx2,fma,f16c")))
#define CK_AVX2_INLINE CK_AVX2 inline __attribute__((always_inline))

namespace ck::kernels {
namespace {

constexpr uint64_t SizeOf(DType dtype) { return dtype == DType::kF64 ? 8 : dtype == DType::kF32 ? 4 : 2; }

CK_AVX2_INLINE __m256i LoadBytes(const char* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }
CK_AVX2_INLINE void StoreBytes(char* at, __m256i value) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), value); }
CK_AVX2_INLINE __m256i Bits(__m256 value) { return _mm256_castps_si256(value); }
CK_AVX2_INLINE __m256 Floats(__m256i bits) { return _mm256_castsi256_ps(bits); }

// 16 elements in single precision: 0 to 7 and 8 to 15, or the even and the odd ones (of a "split" group).
struct Group {
  __m256 a, b;
};

CK_AVX2_INLINE Group Join(Group split) {
  __m256 low = _mm256_unpacklo_ps(split.a, split.b), high = _mm256_unpackhi_ps(split.a, split.b);
  return {_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31)};
}

// Exact. The group is split when `in` is BF16.
template <DType in>
CK_AVX2_INLINE Group LoadGroup(const char* at) {
  if constexpr (in == DType::kF32) {
    return {Floats(LoadBytes(at)), Floats(LoadBytes(at + 32))};
  } else if constexpr (in == DType::kF16) {
    __m256i halves = LoadBytes(at);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(halves)), _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1))};
  } else {
    __m256i pairs = LoadBytes(at);
    return {Floats(_mm256_slli_epi32(pairs, 16)), Floats(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)))};
  }
}

CK_AVX2_INLINE __m256 WithOneNan(__m256 value) {
  const __m256 nan = Floats(_mm256_set1_epi32(0x7FC00000));
  return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

// The nearest BF16, ties to even, in the upper half of each lane; the lower half is what the carry left.
CK_AVX2_INLINE __m256i RoundToBfloat16(__m256 value) {
  __m256i bits = Bits(value);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
}

// Rounds once and stores. `split`: how `group` is ordered.
template <DType out, bool split>
CK_AVX2_INLINE void StoreGroup(char* at, Group group) {
  if constexpr (split && out != DType::kBF16) group = Join(group);
  group = {WithOneNan(group.a), WithOneNan(group.b)};
  if constexpr (out == DType::kF64) {
    _mm256_storeu_pd(reinterpret_cast<double*>(at), _mm256_cvtps_pd(_mm256_castps256_ps128(group.a)));
    _mm256_storeu_pd(reinterpret_cast<double*>(at + 32), _mm256_cvtps_pd(_mm256_extractf128_ps(group.a, 1)));
    _mm256_storeu_pd(reinterpret_cast<double*>(at + 64), _mm256_cvtps_pd(_mm256_castps256_ps128(group.b)));
    _mm256_storeu_pd(reinterpret_cast<double*>(at + 96), _mm256_cvtps_pd(_mm256_extractf128_ps(group.b, 1)));
  } else if constexpr (out == DType::kF32) {
    StoreBytes(at, Bits(group.a));
    StoreBytes(at + 32, Bits(group.b));
  } else if constexpr (out == DType::kF16) {
    StoreBytes(at, _mm256_set_m128i(_mm256_cvtps_ph(group.b, _MM_FROUND_TO_NEAREST_INT),
                                    _mm256_cvtps_ph(group.a, _MM_FROUND_TO_NEAREST_INT)));
  } else {
    __m256i a = _mm256_srli_epi32(RoundToBfloat16(group.a), 16), b = RoundToBfloat16(group.b);
    if constexpr (split) {
      StoreBytes(at, _mm256_blend_epi16(a, b, 0xAA));
    } else {
      __m256i packed = _mm256_packus_epi32(a, _mm256_srli_epi32(b, 16));
      StoreBytes(at, _mm256_permute4x64_epi64(packed, 0xD8));
    }
  }
}

// F16, BF16, F32: accumulates in single precision.
template <DType in>
struct Single {
  static constexpr uint64_t kElements = 64;
  static constexpr bool kSplit = in == DType::kBF16;
  using Weight = __m256;
  Group groups[4];

  CK_AVX2_INLINE static Weight Broadcast(double weight) { return _mm256_set1_ps(static_cast<float>(weight)); }
  CK_AVX2_INLINE void Clear() {
    for (Group& group : groups) group = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  }
  CK_AVX2_INLINE void Load(const char* at) {
    for (uint64_t g = 0; g < 4; ++g) groups[g] = LoadGroup<in>(at + g * 16 * SizeOf(in));
  }
  CK_AVX2_INLINE void Add(const char* at, Weight weight) {
    for (uint64_t g = 0; g < 4; ++g) {
      Group x = LoadGroup<in>(at + g * 16 * SizeOf(in));
      groups[g].a = _mm256_fmadd_ps(x.a, weight, groups[g].a);
      groups[g].b = _mm256_fmadd_ps(x.b, weight, groups[g].b);
    }
  }
  template <DType out>
  CK_AVX2_INLINE void Store(char* at) const {
    for (uint64_t g = 0; g < 4; ++g) StoreGroup<out, kSplit>(at + g * 16 * SizeOf(out), groups[g]);
  }
};

// RoundToOdd of scalar.h for four values.
CK_AVX2_INLINE __m128 RoundToOdd(__m256d value) {
  const __m256d sign = _mm256_set1_pd(-0.0);
  const __m256i even_lanes = _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0);
  __m128 nearest = _mm256_cvtpd_ps(value);
  __m256d back = _mm256_cvtps_pd(nearest);
  __m256d inexact = _mm256_cmp_pd(back, value, _CMP_NEQ_OQ);
  __m256d away = _mm256_cmp_pd(_mm256_andnot_pd(sign, back), _mm256_andnot_pd(sign, value), _CMP_GT_OQ);
  // Masks of 64 bits become masks of 32: all ones is -1, so adding `away` steps back towards zero.
  __m256i away32 = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(away), even_lanes);
  __m256i inexact32 = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(inexact), even_lanes);
  __m128i bits = _mm_add_epi32(_mm_castps_si128(nearest), _mm256_castsi256_si128(away32));
  bits = _mm_or_si128(bits, _mm_and_si128(_mm256_castsi256_si128(inexact32), _mm_set1_epi32(1)));
  return _mm_castsi128_ps(bits);
}

// F64: accumulates in double precision.
struct Double {
  static constexpr uint64_t kElements = 16;
  using Weight = __m256d;
  __m256d quads[4];

  CK_AVX2_INLINE static Weight Broadcast(double weight) { return _mm256_set1_pd(weight); }
  CK_AVX2_INLINE void Clear() {
    for (__m256d& quad : quads) quad = _mm256_setzero_pd();
  }
  CK_AVX2_INLINE void Load(const char* at) {
    for (uint64_t q = 0; q < 4; ++q) quads[q] = _mm256_loadu_pd(reinterpret_cast<const double*>(at + q * 32));
  }
  CK_AVX2_INLINE void Add(const char* at, Weight weight) {
    for (uint64_t q = 0; q < 4; ++q) {
      quads[q] = _mm256_fmadd_pd(_mm256_loadu_pd(reinterpret_cast<const double*>(at + q * 32)), weight, quads[q]);
    }
  }
  template <DType out>
  CK_AVX2_INLINE void Store(char* at) const {
    if constexpr (out == DType::kF64) {
      const __m256d nan = _mm256_castsi256_pd(_mm256_set1_epi64x(0x7FF8000000000000));
      for (uint64_t q = 0; q < 4; ++q) {
        __m256d is_nan = _mm256_cmp_pd(quads[q], quads[q], _CMP_UNORD_Q);
        _mm256_storeu_pd(reinterpret_cast<double*>(at + q * 32), _mm256_blendv_pd(quads[q], nan, is_nan));
      }
    } else {
      __m128 floats[4];
      for (uint64_t q = 0; q < 4; ++q) {
        floats[q] = out == DType::kF32 ? _mm256_cvtpd_ps(quads[q]) : RoundToOdd(quads[q]);
      }
      StoreGroup<out, false>(at, {_mm256_set_m128(floats[1], floats[0]), _mm256_set_m128(floats[3], floats[2])});
    }
  }
};

template <DType in>
struct BlockOf {
  using Type = Single<in>;
};
template <>
struct BlockOf<DType::kF64> {
  using Type = Double;
};

template <DType in, DType out>
struct Avx2 {
  using Block = typename BlockOf<in>::Type;
  static constexpr uint64_t kElements = Block::kElements;

  CK_AVX2 static void Sum(const char* const* inputs, const double* weights, size_t count, char* output,
                          uint64_t elements) {
    uint64_t begin = 0;
    for (; elements - begin >= kElements; begin += kElements) {
      Block block;
      block.Clear();
      for (size_t k = 0; k < count; ++k) block.Add(inputs[k] + begin * SizeOf(in), Block::Broadcast(weights[k]));
      block.template Store<out>(output + begin * SizeOf(out));
    }
    const uint64_t rest = elements - begin;
    if (rest == 0) return;
    char padded[kElements * 8] = {};
    Block block;
    block.Clear();
    for (size_t k = 0; k < count; ++k) {
      std::memcpy(padded, inputs[k] + begin * SizeOf(in), rest * SizeOf(in));
      block.Add(padded, Block::Broadcast(weights[k]));
    }
    block.template Store<out>(padded);
    std::memcpy(output + begin * SizeOf(out), padded, rest * SizeOf(out));
  }

  CK_AVX2 static void Cast(const char* input, char* output, uint64_t elements) {
    Block block;
    uint64_t begin = 0;
    for (; elements - begin >= kElements; begin += kElements) {
      block.Load(input + begin * SizeOf(in));
      block.template Store<out>(output + begin * SizeOf(out));
    }
    const uint64_t rest = elements - begin;
    if (rest == 0) return;
    char padded[kElements * 8] = {};
    std::memcpy(padded, input + begin * SizeOf(in), rest * SizeOf(in));
    block.Load(padded);
    block.template Store<out>(padded);
    std::memcpy(output + begin * SizeOf(out), padded, rest * SizeOf(out));
  }
};

}  // namespace

constinit const KernelTable kAvx2Kernels = MakeKernelTable<Avx2>();

}  // namespace ck::kernels

#endif  // defined(__x86_64__)
