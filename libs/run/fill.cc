#include "libs/run/fill.h"

#include <algorithm>
#include <cmath>

#include "libs/base/error.h"
#include "libs/kernels/fill.h"
#include "libs/tensor/dtype.h"

namespace ck::run {
namespace {

using transform::Fill;

// Of one element; `uniform` is its random number.
double ValueOf(const Fill& fill, double uniform) {
  switch (fill.kind) {
    case Fill::Kind::kConstant:
      return fill.low;
    case Fill::Kind::kUniform:
      return std::fma(fill.high - fill.low, uniform, fill.low);
    case Fill::Kind::kLogUniform:
      return std::log(std::fma(fill.high - fill.low, uniform, fill.low));
    case Fill::Kind::kInverseSoftplus: {
      const double low = std::log(fill.low);
      const double dt = std::max(std::exp(std::fma(std::log(fill.high) - low, uniform, low)), fill.floor);
      return dt + std::log(-std::expm1(-dt));
    }
  }
  throw InternalError("internal.check_failed", "a fill is one of four kinds");
}

}  // namespace

void FillElements(const transform::Leaf& leaf, uint64_t first, uint64_t step, uint64_t count, char* out) {
  Check(leaf.arithmetic == transform::Arithmetic::kFill, "only a fill is filled");
  const Fill& fill = leaf.fill;
  if (fill.kind == Fill::Kind::kConstant) return kernels::FillConstant(leaf.dtype, fill.low, out, count);
  const uint64_t stream = kernels::StreamOf(leaf.name);
  if (fill.kind == Fill::Kind::kUniform && (step == 1 || count == 1)) {
    return kernels::FillUniform(leaf.dtype, fill.low, fill.high, fill.seed, stream, first, out, count);
  }
  for (uint64_t i = 0; i < count; ++i) {
    const double value = ValueOf(fill, kernels::UniformAt(fill.seed, stream, first + i * step));
    kernels::FillConstant(leaf.dtype, value, out + i * ElementSize(leaf.dtype), 1);
  }
}

}  // namespace ck::run
