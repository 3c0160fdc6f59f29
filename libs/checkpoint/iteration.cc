#include "libs/checkpoint/iteration.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::checkpoint {
namespace {

constexpr std::string_view kPrefix = "iter_";
constexpr std::string_view kRelease = "release";

std::optional<uint64_t> Digits(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  const auto number = ParseInt64(text);
  if (!number) return std::nullopt;
  return static_cast<uint64_t>(*number);
}

}  // namespace

Iteration IterationFromName(std::string_view directory_name) {
  if (directory_name == kRelease) return {.number = {}, .release = true};
  if (!StartsWith(directory_name, kPrefix)) return {};
  return {.number = Digits(directory_name.substr(kPrefix.size())), .release = false};
}

std::string DirectoryName(const Iteration& iteration) {
  Check(iteration.known(), "a directory name needs an iteration");
  if (iteration.release) return std::string(kRelease);
  std::string digits = Cat(*iteration.number);
  if (digits.size() < 7) digits.insert(0, 7 - digits.size(), '0');
  return Cat(kPrefix, digits);
}

std::string Text(const Iteration& iteration) {
  if (iteration.release) return std::string(kRelease);
  return iteration.number ? Cat(*iteration.number) : "none";
}

std::optional<Iteration> ParseMarker(std::string_view content) {
  const std::string_view word = Trim(content);
  if (word == kRelease) return Iteration{.number = {}, .release = true};
  const auto number = word.empty() ? std::nullopt : Digits(word);
  if (!number) return std::nullopt;
  return Iteration{.number = number, .release = false};
}

}  // namespace ck::checkpoint
