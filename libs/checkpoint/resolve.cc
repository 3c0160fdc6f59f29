// Which checkpoint a root means: the marker's, or without a marker the newest complete one.
#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/discover.h"
#include "libs/fs/read.h"

namespace ck::checkpoint {
namespace {

// "complete iterations: 1000, 2000": what the user could ask for instead.
std::string CompleteOnes(const Listing& listing) {
  constexpr size_t kShown = 20;  // the newest ones; a long run has thousands
  std::vector<std::string> names;
  for (const Found& found : listing.checkpoints) {
    if (found.complete()) names.push_back(Text(found.iteration));
  }
  if (names.empty()) return "there is no complete one";
  const size_t total = names.size();
  const bool all = total <= kShown;
  if (!all) names.erase(names.begin(), names.end() - kShown);
  return Cat("complete iterations: ", all ? "" : "..., ", Join(names, ", "));
}

std::vector<const Found*> WithIteration(const Listing& listing, const Iteration& iteration) {
  std::vector<const Found*> out;
  for (const Found& found : listing.checkpoints) {
    if (found.state != State::kStaging && found.iteration == iteration) out.push_back(&found);
  }
  return out;
}

const Found& MarkersTarget(const Listing& listing, const Marker& marker) {
  const std::string where = Quote(fs::JoinPath(listing.root, kMarkerFile), 4096);
  if (!marker.iteration) throw InputError("marker.malformed", Cat(where, ": ", marker.problem));
  const std::vector<const Found*> named = WithIteration(listing, *marker.iteration);
  if (named.empty()) {
    throw InputError("marker.dangling", Cat(where, " points to ", DirectoryName(*marker.iteration),
                                            ", which does not exist; ", CompleteOnes(listing)));
  }
  CheckUnique(listing, *named[0]);
  if (!named[0]->complete()) {
    throw InputError("marker.dangling", Cat(where, " points to ", named[0]->name, ", which is ", Name(named[0]->state),
                                            ": ", named[0]->reason, "; ", CompleteOnes(listing)));
  }
  return *named[0];
}

const Found& NewestComplete(const Listing& listing) {
  const Found* newest = nullptr;
  for (const Found& found : listing.checkpoints) {  // release first, then ascending
    if (found.complete()) newest = &found;
  }
  if (!newest) throw NothingComplete(listing);
  CheckUnique(listing, *newest);
  return *newest;
}

}  // namespace

Error NothingComplete(const Listing& listing) {
  std::vector<std::string> others;
  for (const Found& found : listing.checkpoints) {
    if (found.state != State::kStaging) others.push_back(Cat(found.name, ": ", found.reason));
  }
  const std::string root = Quote(listing.root, 4096);
  if (!others.empty())
    return InputError("checkpoint.incomplete", Cat("no complete checkpoint under ", root, "; ", Join(others, "; ")));
  return InputError("checkpoint.not_found",
                    Cat("no checkpoint found under ", root, "; looked for metadata.json, .metadata, ", kMarkerFile,
                        ", iter_*, release, *.safetensors"));
}

Error NotUsable(const Found& found) {
  const std::string path = Quote(found.path, 4096);
  if (found.unsupported) return InputError("checkpoint.unsupported_format", Cat(path, ": ", found.reason));
  const char* id = found.state == State::kIncomplete ? "checkpoint.incomplete" : "checkpoint.unusable";
  return InputError(id, Cat(path, " is ", Name(found.state), ": ", found.reason));
}

void CheckUnique(const Listing& listing, const Found& found) {
  if (!found.iteration.known()) return;
  const std::vector<const Found*> same = WithIteration(listing, found.iteration);
  if (same.size() < 2) return;
  std::vector<std::string> names;
  for (const Found* one : same) names.push_back(one->name);
  throw InputError("checkpoint.duplicate_iteration",
                   Cat(names.size(), " directories of ", Quote(listing.root, 4096), " are iteration ",
                       Text(found.iteration), ": ", Join(names, ", "), "; name the one you mean"));
}

const Found& Latest(const Listing& listing, std::string& note) {
  Check(!listing.is_checkpoint, "Latest wants a root");
  if (listing.marker) return MarkersTarget(listing, *listing.marker);
  const Found& newest = NewestComplete(listing);
  note = Cat("no ", kMarkerFile, " in ", Quote(listing.root, 4096), "; using the newest complete checkpoint, ",
             newest.name);
  return newest;
}

Resolved Resolve(const std::string& path, Require require) {
  const Listing listing = ListRoot(path, Depth::kNames);
  Resolved out;
  const Found* found = nullptr;
  if (listing.is_checkpoint) {
    found = &listing.checkpoints[0];
    if (require == Require::kComplete && !found->complete()) throw NotUsable(*found);
  } else {
    out.through_root = true;
    found = &Latest(listing, out.note);
  }
  out.path = found->path;
  out.iteration = found->iteration;
  return out;
}

}  // namespace ck::checkpoint
