// Picks checkpoints of a root by iteration, as a weighted merge over a range does.
//
// Walk.    Backwards from the target, which is always kept: a checkpoint is kept when it is at least `min_interval`
//          below the last one kept.
// Errors.  select.start_without_end, select.start_after_end, select.conflict (kUsage); select.no_target,
//          select.too_few, select.start_after_latest, and those of discover.h (kInput).
#ifndef CK_CHECKPOINT_SELECT_H_
#define CK_CHECKPOINT_SELECT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/discover.h"

namespace ck::checkpoint {

enum class Incomplete {
  kRefuse,  // one that would be selected is an error
  kSkip,
};

struct Selection {
  std::optional<uint64_t> start = {};  // inclusive; needs `end` or `latest`
  std::optional<uint64_t> end = {};    // inclusive; the target, which must exist
  bool latest = false;                 // the target is what the marker names; without `start` it alone is selected
  int64_t min_interval = 0;            // iterations; 0 or less: no filter
  uint64_t min_checkpoints = 0;
  Incomplete incomplete = Incomplete::kRefuse;

  // Was the selection asked for? Without start, end and latest it is everything complete, and what is not complete is
  // left out.
  bool is_explicit() const { return start || end || latest; }
};

struct Selected {
  std::vector<Found> checkpoints;   // ascending
  std::vector<Found> left_out;      // `reason` says why
  std::optional<Iteration> target;  // of an explicit selection
  std::string note;                 // of Latest
};

// The part of the errors above that needs no listing.
void CheckSelection(const Selection& selection);

// Throws select.too_few.
void CheckCount(const std::vector<Found>& selected, uint64_t min_checkpoints);

// Precondition: not listing.is_checkpoint.
Selected Select(const Listing& listing, const Selection& selection);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_SELECT_H_
