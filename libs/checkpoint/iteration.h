// The iteration that a directory's name or a marker states: a number, `release`, or none.
#ifndef CK_CHECKPOINT_ITERATION_H_
#define CK_CHECKPOINT_ITERATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ck::checkpoint {

struct Iteration {
  std::optional<uint64_t> number;
  bool release = false;

  bool known() const { return release || number.has_value(); }
  friend bool operator==(const Iteration&, const Iteration&) = default;
};

// "iter_0001000", "iter_12" (decimal digits, any number of them, that fit 63 bits) or "release"; anything else is none.
Iteration IterationFromName(std::string_view directory_name);
// "iter_0001000" (at least seven digits) or "release". Precondition: known().
std::string DirectoryName(const Iteration& iteration);
// "1000", "release", "none": for messages.
std::string Text(const Iteration& iteration);

// What a marker file says: digits or `release`, white space around them allowed. nullopt for anything else.
std::optional<Iteration> ParseMarker(std::string_view content);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_ITERATION_H_
