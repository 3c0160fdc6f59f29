// Makes arithmetic independent of the floating-point mode of the calling thread. Private to libs/kernels.
#ifndef CK_KERNELS_FLOAT_MODE_H_
#define CK_KERNELS_FLOAT_MODE_H_

#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ck::kernels {

// While it lives: round to nearest even, denormals kept, no traps. A library linked with -ffast-math switches denormals
// off for the whole process when it is loaded; a weight must not depend on that.
class StandardFloatMode {
 public:
#if defined(__x86_64__)
  StandardFloatMode() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80); }
  ~StandardFloatMode() { _mm_setcsr(saved_); }
#else
  StandardFloatMode() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~StandardFloatMode() { std::fesetenv(&saved_); }
#endif
  StandardFloatMode(const StandardFloatMode&) = delete;
  StandardFloatMode& operator=(const StandardFloatMode&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace ck::kernels

#endif  // CK_KERNELS_FLOAT_MODE_H_
