#include "libs/cli/plot.h"

#include <algorithm>
#include <cmath>

namespace ck::cli {

namespace {

constexpr const char* kFull = "\u2588";
constexpr const char* kLeftHalf = "\u258C";
constexpr const char* kRightHalf = "\u2590";

size_t HalfColumns(double magnitude, double per_half) {
  if (magnitude == 0) return 0;
  return std::max<size_t>(1, static_cast<size_t>(std::lround(magnitude / per_half)));
}

std::string Repeat(const char* text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

}  // namespace

std::vector<std::string> Bars(const std::vector<double>& values, size_t columns) {
  double lowest = 0, highest = 0;
  for (const double value : values) {
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
  // Halves first, so that the range of two huge values does not overflow.
  const double range = highest / 2 - lowest / 2;
  if (range == 0) return std::vector<std::string>(values.size());
  // The negative side gets whole columns in proportion, at least one when it is not empty; so does the positive one.
  auto left = static_cast<size_t>(std::lround(-lowest / 2 / range * static_cast<double>(columns)));
  left = std::clamp<size_t>(left, lowest < 0 ? 1 : 0, highest > 0 ? columns - 1 : columns);
  const size_t right = columns - left;
  double per_half = 0;
  if (left > 0) per_half = -lowest / static_cast<double>(2 * left);
  if (right > 0) per_half = std::max(per_half, highest / static_cast<double>(2 * right));

  std::vector<std::string> bars;
  for (const double value : values) {
    const size_t halves = per_half > 0 ? HalfColumns(std::fabs(value), per_half) : (value != 0 ? 1 : 0);
    const size_t width = (halves + 1) / 2;
    std::string bar;
    if (value < 0) {
      bar = std::string(left - std::min(left, width), ' ') + (halves % 2 != 0 ? kRightHalf : "") +
            Repeat(kFull, halves / 2);
    } else if (value > 0) {
      bar = std::string(left, ' ') + Repeat(kFull, halves / 2) + (halves % 2 != 0 ? kLeftHalf : "");
    }
    bars.push_back(bar);
  }
  return bars;
}

}  // namespace ck::cli
