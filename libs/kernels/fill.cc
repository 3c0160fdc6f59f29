#include "libs/kernels/fill.h"

#include <cmath>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/kernels/float_mode.h"
#include "libs/kernels/scalar.h"

namespace ck::kernels {
namespace {

constexpr int kRounds = 10;

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t High(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

// Calls Fill<dtype>::Run. These are not inlined: no operation may move in front of the change of the float mode.
template <template <DType> typename Fill, typename... Arguments>
void Dispatch(DType dtype, const Arguments&... arguments) {
  StandardFloatMode mode;
  switch (dtype) {
    case DType::kF16: return Fill<DType::kF16>::Run(arguments...);
    case DType::kBF16: return Fill<DType::kBF16>::Run(arguments...);
    case DType::kF32: return Fill<DType::kF32>::Run(arguments...);
    case DType::kF64: return Fill<DType::kF64>::Run(arguments...);
    default: throw InternalError("internal.check_failed", Cat("no arithmetic on ", Name(dtype)));
  }
}

template <DType dtype>
struct Uniform {
  [[gnu::noinline]] static void Run(double low, double high, uint64_t seed, uint64_t stream, uint64_t first,
                                    char* output, uint64_t elements) {
    const double span = high - low;
    std::array<uint32_t, 4> block = Philox(seed, stream, first / 4);
    for (uint64_t i = 0; i < elements; ++i) {
      const uint64_t index = first + i;
      if (index % 4 == 0) block = Philox(seed, stream, index / 4);
      StoreElement<dtype>(output, i, std::fma(span, block[index % 4] * 0x1p-32, low));
    }
  }
};

template <DType dtype>
struct Constant {
  [[gnu::noinline]] static void Run(double value, char* output, uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i) StoreElement<dtype>(output, i, value);
  }
};

}  // namespace

std::array<uint32_t, 4> Philox(uint64_t seed, uint64_t stream, uint64_t block) {
  std::array<uint32_t, 4> counter = {Low(block), High(block), Low(stream), High(stream)};
  uint32_t key0 = Low(seed), key1 = High(seed);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {High(b) ^ counter[1] ^ key0, Low(b), High(a) ^ counter[3] ^ key1, Low(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

uint64_t StreamOf(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

double UniformAt(uint64_t seed, uint64_t stream, uint64_t index) {
  return Philox(seed, stream, index / 4)[index % 4] * 0x1p-32;
}

void FillUniform(DType dtype, double low, double high, uint64_t seed, uint64_t stream, uint64_t first, char* output,
                 uint64_t elements) {
  Check(low <= high && std::isfinite(high - low), Cat("range from ", FormatDouble(low), " to ", FormatDouble(high)));
  Dispatch<Uniform>(dtype, low, high, seed, stream, first, output, elements);
}

void FillConstant(DType dtype, double value, char* output, uint64_t elements) {
  Dispatch<Constant>(dtype, value, output, elements);
}

}  // namespace ck::kernels
