// Weights of a merge: schedules over checkpoints, and the checks of weights given by hand. Bit-exact with the program
// replaced.
//
// Styles   linear, minus-sqrt, and each with __reverse or __scramble. A schedule over n checkpoints, oldest first, is
//          the discrete difference of a decay s at i/n: s = 1 - x (linear) or 1 - sqrt(x) (minus-sqrt). The first
//          weight is 1 minus the others.
// Scramble shuffles as CPython's random.Random(seed).shuffle does; the seed is an integer of any size, its sign does
//          not count.
// Numbers  are IEEE doubles, each operation rounded once, sums from left to right starting at 0.
// Errors.  kInput: coeffs.unknown_style, coeffs.bad_count, coeffs.bad_seed, coeffs.not_finite, coeffs.bad_sum,
//          coeffs.no_weights.
// Source.  docs/formats/coefficients.md.
#ifndef CK_COEFFICIENTS_SCHEDULE_H_
#define CK_COEFFICIENTS_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ck::coefficients {

inline constexpr uint64_t kMaxCount = 1000000;  // a run has thousands of checkpoints; bounds what --count can allocate
inline constexpr size_t kMaxSeedDigits = 4096;  // far over any seed; bounds the conversion, which is quadratic

// The six styles, in the order of messages.
std::vector<std::string> StyleNames();

// The weights of `count` checkpoints, oldest first. `seed` is a decimal integer; it matters for scramble only but is
// always checked. coeffs.bad_count unless 1 <= count <= kMaxCount.
std::vector<double> Schedule(std::string_view style, uint64_t count, std::string_view seed = "0");

// True for an optional '-' and 1 to kMaxSeedDigits decimal digits.
bool IsSeed(std::string_view text);

// Each weight divided by the sum. coeffs.bad_sum unless the sum is finite and over 0.
std::vector<double> Normalize(const std::vector<double>& weights);

// coeffs.no_weights when there are none, coeffs.not_finite for a weight that is infinite or not a number.
void CheckWeights(const std::vector<double>& weights);

struct Warning {
  std::string id;  // coeffs.negative_weight, coeffs.sum_not_one
  std::string message;
};

// One line each: negative weights; a sum that is not 1 within 1e-9 relative (1e-12 absolute). For weights given by hand
// and used as they are; a schedule never warns. `normalized` weights are not asked for their sum.
enum class Normalized { kNo, kYes };
std::vector<Warning> Warnings(const std::vector<double>& weights, Normalized normalized);

}  // namespace ck::coefficients

#endif  // CK_COEFFICIENTS_SCHEDULE_H_
