// The reference kernels. std::fma is exact on every CPU, with or without an instruction for it.
#include <cmath>

#include "libs/kernels/kernel_table.h"
#include "libs/kernels/scalar.h"

namespace ck::kernels {
namespace {

template <DType in, DType out>
struct Scalar {
  static void Sum(const char* const* inputs, const double* weights, size_t count, char* output, uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i) {
      Wide<in> sum = 0;
      for (size_t k = 0; k < count; ++k) {
        sum = std::fma(LoadElement<in>(inputs[k], i), static_cast<Wide<in>>(weights[k]), sum);
      }
      StoreElement<out>(output, i, sum);
    }
  }

  static void Cast(const char* input, char* output, uint64_t elements) {
    for (uint64_t i = 0; i < elements; ++i) StoreElement<out>(output, i, LoadElement<in>(input, i));
  }
};

}  // namespace

constinit const KernelTable kScalarKernels = MakeKernelTable<Scalar>();

}  // namespace ck::kernels
