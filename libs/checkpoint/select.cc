#include "libs/checkpoint/select.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::checkpoint {
namespace {

uint64_t Number(const Found& found) {
  return *found.iteration.number;
}

// The numbered checkpoints up to the target, ascending, in whatever state. Refuses two names of one iteration.
std::vector<Found> InRange(const Listing& listing, uint64_t start, uint64_t end) {
  std::vector<Found> out;
  for (const Found& found : listing.checkpoints) {
    if (found.state == State::kStaging || !found.iteration.number || Number(found) < start || Number(found) > end)
      continue;
    if (!out.empty() && Number(out.back()) == Number(found)) CheckUnique(listing, found);
    out.push_back(found);
  }
  return out;
}

// Takes what is not complete out of `found`.
std::vector<Found> TakeUnusable(std::vector<Found>& found) {
  std::vector<Found> unusable;
  const auto middle =
      std::stable_partition(found.begin(), found.end(), [](const Found& one) { return one.complete(); });
  std::move(middle, found.end(), std::back_inserter(unusable));
  found.erase(middle, found.end());
  return unusable;
}

// Backwards from the last, which is kept.
std::vector<Found> Thin(const std::vector<Found>& ascending, int64_t min_interval) {
  std::vector<Found> kept;
  for (auto at = ascending.rbegin(); at != ascending.rend(); ++at) {
    const bool far_enough =
        kept.empty() || min_interval <= 0 || Number(kept.back()) - Number(*at) >= static_cast<uint64_t>(min_interval);
    if (far_enough) kept.push_back(*at);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

void RefuseUnusable(const std::vector<Found>& selected) {
  std::vector<Found> copy = selected;
  const std::vector<Found> unusable = TakeUnusable(copy);
  if (unusable.empty()) return;
  if (unusable.size() == 1) throw NotUsable(unusable[0]);
  std::vector<std::string> each;
  for (const Found& found : unusable)
    each.push_back(Cat(Quote(found.path, 4096), " is ", Name(found.state), ": ", found.reason));
  throw InputError("checkpoint.incomplete", Cat(unusable.size(), " of ", selected.size(),
                                                " selected checkpoints cannot be used: ", Join(each, "; ")));
}

std::string Numbers(const std::vector<Found>& found) {
  std::vector<std::string> out;
  for (const Found& one : found) out.push_back(Text(one.iteration));
  return out.empty() ? "none" : Join(out, ", ");
}

// The number of the iteration that the walk starts from.
uint64_t Target(const Listing& listing, const Selection& selection, Selected& out) {
  if (selection.end) {
    out.target = Iteration{.number = selection.end, .release = false};
    return *selection.end;
  }
  const Found& latest = Latest(listing, out.note);
  out.target = latest.iteration;
  if (!latest.iteration.number) {
    throw InputError("select.no_target", Cat("the latest checkpoint of ", Quote(listing.root, 4096),
                                             " is 'release', which is no iteration to end a range at"));
  }
  return *latest.iteration.number;
}

void CheckTarget(const Listing& listing, const std::vector<Found>& range, uint64_t target) {
  if (!range.empty() && Number(range.back()) == target) {
    if (!range.back().complete()) throw NotUsable(range.back());
    return;
  }
  throw InputError("select.no_target",
                   Cat("no checkpoint of iteration ", target, " under ", Quote(listing.root, 4096),
                       "; the target of a range must exist; found: ", Numbers(InRange(listing, 0, UINT64_MAX))));
}

void SelectRange(const Listing& listing, const Selection& selection, Selected& out) {
  const uint64_t target = Target(listing, selection, out);
  const uint64_t start = selection.start.value_or(0);
  if (start > target) {
    throw InputError("select.start_after_latest",
                     Cat("--start ", start, " is after the latest checkpoint, iteration ", target));
  }
  std::vector<Found> range = InRange(listing, start, target);
  CheckTarget(listing, range, target);
  if (selection.incomplete == Incomplete::kSkip) out.left_out = TakeUnusable(range);
  out.checkpoints = Thin(range, selection.min_interval);
  RefuseUnusable(out.checkpoints);
}

// Every complete checkpoint. `release` is one only where it stands alone: among iterations it has no place.
void SelectComplete(const Listing& listing, const Selection& selection, Selected& out) {
  std::vector<Found> range = InRange(listing, 0, UINT64_MAX);
  out.left_out = TakeUnusable(range);
  out.checkpoints = Thin(range, selection.min_interval);
  for (const Found& found : listing.checkpoints) {
    if (!found.iteration.release || found.state == State::kStaging) continue;
    if (out.checkpoints.empty() && found.complete()) {
      out.checkpoints.push_back(found);
      continue;
    }
    out.left_out.push_back(found);
    if (found.complete()) out.left_out.back().reason = "it has no place in a series of iterations; name it itself";
  }
}

}  // namespace

void CheckSelection(const Selection& selection) {
  if (selection.end && selection.latest)
    throw UsageError("select.conflict", "--end and --latest both name the target; give one");
  if (!selection.start) return;
  if (!selection.end && !selection.latest)
    throw UsageError("select.start_without_end",
                     Cat("--start ", *selection.start, " needs --end (or --latest), where the range ends"));
  if (selection.end && *selection.start > *selection.end) {
    throw UsageError("select.start_after_end", Cat("--start ", *selection.start, " is after --end ", *selection.end));
  }
}

void CheckCount(const std::vector<Found>& selected, uint64_t min_checkpoints) {
  if (selected.size() >= min_checkpoints) return;
  throw InputError("select.too_few",
                   Cat(selected.size(), selected.size() == 1 ? " checkpoint" : " checkpoints", " selected (",
                       Numbers(selected), "), --min-checkpoints wants ", min_checkpoints));
}

Selected Select(const Listing& listing, const Selection& selection) {
  Check(!listing.is_checkpoint, "Select wants a root");
  CheckSelection(selection);
  Selected out;
  if (selection.latest && !selection.start) {
    const Found& latest = Latest(listing, out.note);
    out.checkpoints = {latest};
    out.target = latest.iteration;
  } else if (selection.is_explicit()) {
    SelectRange(listing, selection, out);
  } else {
    SelectComplete(listing, selection, out);
  }
  CheckCount(out.checkpoints, selection.min_checkpoints);
  return out;
}

}  // namespace ck::checkpoint
