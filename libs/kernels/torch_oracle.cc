#include "libs/kernels/torch_oracle.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstdlib>

namespace ck::kernels::oracle {
namespace {

at::Tensor View(DType dtype, const char* data, uint64_t elements) {
  at::ScalarType type = dtype == DType::kF16    ? at::kHalf
                        : dtype == DType::kBF16 ? at::kBFloat16
                        : dtype == DType::kF32  ? at::kFloat
                                                : at::kDouble;
  return at::from_blob(const_cast<char*>(data), {static_cast<int64_t>(elements)}, type);
}

}  // namespace

void Start(bool has_fma) {
  // Read by PyTorch at its first operation.
  setenv("ATEN_CPU_CAPABILITY", has_fma ? "avx2" : "default", 1);
  at::set_num_threads(1);
}

void Add(DType sum_dtype, std::string& sum, DType in, const char* x, double weight) {
  const uint64_t elements = sum.size() / ElementSize(sum_dtype);
  View(sum_dtype, sum.data(), elements).add_(View(in, x, elements), weight);
}

std::string Cast(DType in, DType out, const char* input, uint64_t elements) {
  std::string output(elements * ElementSize(out), '\0');
  View(out, output.data(), elements).copy_(View(in, input, elements));
  return output;
}

}  // namespace ck::kernels::oracle
