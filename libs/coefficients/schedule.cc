#include "libs/coefficients/schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/coefficients/mersenne_twister.h"

namespace ck::coefficients {
namespace {

enum class Base { kLinear, kMinusSqrt };
enum class Order { kForward, kReverse, kScramble };

struct Style {
  std::string_view name;
  Base base;
  Order order;
};

constexpr Style kStyles[] = {
    {"linear", Base::kLinear, Order::kForward},
    {"minus-sqrt", Base::kMinusSqrt, Order::kForward},
    {"linear__reverse", Base::kLinear, Order::kReverse},
    {"minus-sqrt__reverse", Base::kMinusSqrt, Order::kReverse},
    {"linear__scramble", Base::kLinear, Order::kScramble},
    {"minus-sqrt__scramble", Base::kMinusSqrt, Order::kScramble},
};

Style FindStyle(std::string_view name) {
  for (const Style& style : kStyles) {
    if (style.name == name) return style;
  }
  const std::string nearest = NearestWord(name, StyleNames());
  throw InputError("coeffs.unknown_style",
                   Cat("unknown style ", Quote(name), ", expected one of ", Join(StyleNames(), ", "),
                       nearest.empty() ? "" : Cat("; did you mean ", Quote(nearest), "?")));
}

// Plain and from left to right on purpose: compensated summation would change the last bit of the first weight.
double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

double Decay(Base base, uint64_t i, uint64_t count) {
  const double x = static_cast<double>(i) / static_cast<double>(count);
  return 1 - (base == Base::kLinear ? x : std::sqrt(x));
}

std::vector<double> Forward(Base base, uint64_t count) {
  if (count == 1) return {1.0};
  std::vector<double> rest;
  for (uint64_t i = 1; i + 1 < count; ++i) rest.push_back(Decay(base, i, count) - Decay(base, i + 1, count));
  rest.push_back(Decay(base, count - 1, count));
  const double first = 1 - Sum(rest);
  rest.insert(rest.begin(), first);
  return rest;
}

void Scramble(std::vector<double>& weights, std::string_view seed) {
  internal::MersenneTwister random(internal::SeedWords(seed));
  for (size_t i = weights.size() - 1; i > 0; --i) {
    std::swap(weights[i], weights[random.Below(static_cast<uint32_t>(i + 1))]);
  }
}

}  // namespace

std::vector<std::string> StyleNames() {
  std::vector<std::string> names;
  for (const Style& style : kStyles) names.emplace_back(style.name);
  return names;
}

bool IsSeed(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && text.size() <= kMaxSeedDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<double> Schedule(std::string_view style_name, uint64_t count, std::string_view seed) {
  const Style style = FindStyle(style_name);
  if (count < 1 || count > kMaxCount) {
    throw InputError("coeffs.bad_count", Cat("a schedule over ", count, " checkpoints, expected 1 to ", kMaxCount));
  }
  if (!IsSeed(seed)) {
    throw InputError("coeffs.bad_seed",
                     Cat("seed ", Quote(seed), ", expected an integer of at most ", kMaxSeedDigits, " digits"));
  }
  std::vector<double> weights = Forward(style.base, count);
  if (style.order == Order::kReverse) std::reverse(weights.begin(), weights.end());
  if (style.order == Order::kScramble) Scramble(weights, seed);
  return weights;
}

std::vector<double> Normalize(const std::vector<double>& weights) {
  CheckWeights(weights);
  const double sum = Sum(weights);
  if (!std::isfinite(sum) || sum <= 0) {
    throw InputError("coeffs.bad_sum",
                     Cat("the weights sum to ", FormatDouble(sum), ", normalising needs a finite sum over 0"));
  }
  std::vector<double> normalized;
  for (const double weight : weights) normalized.push_back(weight / sum);
  return normalized;
}

void CheckWeights(const std::vector<double>& weights) {
  if (weights.empty()) throw InputError("coeffs.no_weights", "no weights were given");
  for (size_t i = 0; i < weights.size(); ++i) {
    if (std::isfinite(weights[i])) continue;
    throw InputError("coeffs.not_finite",
                     Cat("weight ", i, " is ", FormatDouble(weights[i]), ", expected a finite number"));
  }
}

std::vector<Warning> Warnings(const std::vector<double>& weights, Normalized normalized) {
  std::vector<Warning> warnings;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] < 0)) continue;
    warnings.push_back(
        {"coeffs.negative_weight", Cat("weight ", i, " is ", FormatDouble(weights[i]),
                                       "; with negative weights the result can lie outside the range of its inputs")});
    break;
  }
  if (normalized == Normalized::kYes) return warnings;
  const double sum = Sum(weights);
  const double tolerance = std::max(1e-9 * std::max(std::fabs(sum), 1.0), 1e-12);
  if (!std::isfinite(sum) || std::fabs(sum - 1) > tolerance) {
    warnings.push_back({"coeffs.sum_not_one", Cat("the weights sum to ", FormatDouble(sum),
                                                  ", not 1; they are used as given (--normalize divides by the sum)")});
  }
  return warnings;
}

}  // namespace ck::coefficients
