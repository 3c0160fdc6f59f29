#include "tools/ck-ls/show.h"

#include <algorithm>
#include <vector>

#include "libs/base/text.h"
#include "libs/cli/printable.h"
#include "libs/cli/table.h"
#include "libs/json/value.h"
#include "libs/plan/documents.h"

namespace ck::ls {
namespace {

using checkpoint::Found;
using checkpoint::Listing;
using checkpoint::MarkerState;

plan::MarkerState Documented(MarkerState state) {
  switch (state) {
    case MarkerState::kCurrent:
      return plan::MarkerState::kCurrent;
    case MarkerState::kOlder:
      return plan::MarkerState::kOlder;
    case MarkerState::kDangling:
      return plan::MarkerState::kDangling;
    case MarkerState::kMalformed:
      break;
  }
  return plan::MarkerState::kMalformed;
}

plan::CheckpointState Documented(checkpoint::State state) {
  switch (state) {
    case checkpoint::State::kComplete:
      return plan::CheckpointState::kComplete;
    case checkpoint::State::kIncomplete:
      return plan::CheckpointState::kIncomplete;
    case checkpoint::State::kDamaged:
      return plan::CheckpointState::kDamaged;
    case checkpoint::State::kStaging:
      break;
  }
  return plan::CheckpointState::kStaging;
}

plan::ListedCheckpoint Documented(const Found& found) {
  plan::ListedCheckpoint out{.path = found.path,
                             .iteration = {},
                             .format = {},
                             .state = Documented(found.state),
                             .reason = {},
                             .bytes = found.size_bytes};
  if (found.iteration.number) out.iteration = static_cast<int64_t>(*found.iteration.number);
  if (found.format) out.format = std::string(Name(*found.format));
  if (!found.reason.empty()) out.reason = found.reason;
  return out;
}

// Relative to the root: those beside the checkpoints, then those inside them.
std::vector<std::string> AllStrays(const Listing& listing) {
  std::vector<std::string> out = listing.strays;
  for (const Found& found : listing.checkpoints) {
    for (const std::string& stray : found.strays)
      out.push_back(listing.is_checkpoint ? stray : Cat(found.name, "/", stray));
  }
  return out;
}

}  // namespace

std::string Describe(const checkpoint::Marker& marker) {
  switch (marker.state) {
    case MarkerState::kCurrent:
      return Cat(marker.value, " (current)");
    case MarkerState::kOlder:
      return Cat(marker.value, " (older: a newer complete checkpoint exists)");
    case MarkerState::kDangling:
      return Cat(marker.value, " (dangling: names no complete checkpoint)");
    case MarkerState::kMalformed:
      break;
  }
  return Cat("malformed: ", marker.problem);
}

std::string ListingDocument(const Listing& listing) {
  plan::Listing out{.root = listing.root, .marker = {}, .checkpoints = {}, .strays = {}};
  if (listing.marker) out.marker = plan::Marker{listing.marker->value, Documented(listing.marker->state)};
  for (const Found& found : listing.checkpoints) out.checkpoints.push_back(Documented(found));
  for (const std::string& stray : AllStrays(listing)) out.strays.push_back(Cat(listing.root, "/", stray));
  return json::Write(plan::ToJson(out), {.indent = 2});
}

std::string ListingTable(const Listing& listing, const std::vector<Found>& selected) {
  std::string out = Cat(cli::Printable(listing.root), "\n");
  if (!listing.is_checkpoint)
    out += Cat("marker: ", listing.marker ? cli::Printable(Describe(*listing.marker)) : "none", "\n");
  out += "\n";
  cli::Table table({{""},
                    {"ITERATION", cli::Align::kRight},
                    {"STATE"},
                    {"FORMAT"},
                    {"SIZE", cli::Align::kRight},
                    {"NAME"},
                    {"REASON"}});
  for (const Found& found : listing.checkpoints) {
    const bool is_selected =
        std::any_of(selected.begin(), selected.end(), [&](const Found& one) { return one.path == found.path; });
    const std::string iteration = found.iteration.known() ? Text(found.iteration) : "-";
    table.AddRow({is_selected ? "*" : "", iteration, std::string(Name(found.state)),
                  found.format ? std::string(Name(*found.format)) : "-", FormatBytes(found.size_bytes), found.name,
                  found.reason});
  }
  out += table.Text();
  const std::vector<std::string> strays = AllStrays(listing);
  if (!strays.empty()) out += "\n";
  for (const std::string& stray : strays) out += Cat("stray: ", cli::Printable(stray), "\n");
  return out;
}

}  // namespace ck::ls
