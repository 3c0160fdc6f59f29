#include "tools/ck-ls/ls_tool.h"

#include <string>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/checkpoint/discover.h"
#include "libs/checkpoint/select.h"
#include "libs/plan/plan.h"
#include "tools/ck-ls/options.h"
#include "tools/ck-ls/show.h"

namespace ck::ls {
namespace {

using checkpoint::Found;
using checkpoint::Listing;
using checkpoint::Selected;

bool NeedsRoot(const checkpoint::Selection& selection) {
  return selection.is_explicit() || selection.min_interval > 0;
}

// A checkpoint that is named itself is an explicit selection of one.
Selected SelectNamed(const Listing& listing, const checkpoint::Selection& selection) {
  const Found& found = listing.checkpoints[0];
  if (NeedsRoot(selection)) {
    throw InputError("ls.not_a_root",
                     Cat(Quote(listing.root, 4096),
                         " is a checkpoint; --start, --end, --latest and --min-interval select from a root"));
  }
  Selected out;
  if (found.complete()) {
    out.checkpoints = {found};
  } else if (selection.incomplete == checkpoint::Incomplete::kSkip) {
    out.left_out = {found};
  } else {
    throw NotUsable(found);
  }
  return out;
}

Selected SelectFrom(const Listing& listing, const checkpoint::Selection& selection) {
  if (listing.is_checkpoint) return SelectNamed(listing, selection);
  checkpoint::Selection uncounted = selection;  // counted over all paths
  uncounted.min_checkpoints = 0;
  Selected out = Select(listing, uncounted);
  if (out.checkpoints.empty()) throw NothingComplete(listing);
  return out;
}

plan::TargetIteration ToTarget(const checkpoint::Iteration& iteration) {
  if (iteration.release) return plan::Release{};
  if (!iteration.number) return std::monostate{};
  return static_cast<int64_t>(*iteration.number);
}

plan::Input ToInput(const Found& found) {
  plan::Input input;
  input.path = found.path;
  if (found.iteration.number) input.iteration = static_cast<int64_t>(*found.iteration.number);
  input.format = ExactFormat(found);
  return input;
}

void ReportLeftOut(const Selected& selected, cli::Diagnostics& diagnostics) {
  for (const Found& found : selected.left_out) {
    diagnostics.Note(Cat("left out ", Quote(found.path, 4096), ", which is ", Name(found.state),
                         found.complete() ? "; " : ": ", found.reason));
  }
  if (!selected.note.empty()) diagnostics.Note(selected.note);
}

// A marker that a selection does not use is only warned about.
void WarnAboutMarker(const Listing& listing, cli::Diagnostics& diagnostics) {
  if (!listing.marker) return;
  const std::string where = Cat("the marker of ", Quote(listing.root, 4096));
  if (listing.marker->state == checkpoint::MarkerState::kDangling) {
    diagnostics.Warn("marker.dangling",
                     Cat(where, " says ", Quote(listing.marker->value), ", which names no complete checkpoint"));
  } else if (listing.marker->state == checkpoint::MarkerState::kMalformed) {
    diagnostics.Warn("marker.malformed", Cat(where, " ", listing.marker->problem));
  }
}

void WarnAboutDuplicates(const Listing& listing, cli::Diagnostics& diagnostics) {
  for (const Found& found : listing.checkpoints) {
    try {
      if (found.state != checkpoint::State::kStaging) CheckUnique(listing, found);
    } catch (const Error& error) {
      diagnostics.Warn(error.id(), error.message());
      return;
    }
  }
}

int PrintPlan(const Options& options, cli::Context& context) {
  plan::Plan plan;
  plan.producer = {"ck-ls", std::string(kVersion)};
  std::vector<Found> inputs;
  for (const std::string& path : options.paths) {
    const Listing listing = checkpoint::ListRoot(path, options.depth());
    const Selected selected = SelectFrom(listing, options.selection);
    WarnAboutMarker(listing, context.diagnostics);
    ReportLeftOut(selected, context.diagnostics);
    if (selected.target && options.paths.size() == 1) plan.target = ToTarget(*selected.target);
    inputs.insert(inputs.end(), selected.checkpoints.begin(), selected.checkpoints.end());
  }
  CheckCount(inputs, options.selection.min_checkpoints);
  if (inputs.empty())
    throw InputError("checkpoint.not_found", "every checkpoint named was left out; a plan needs an input");
  for (const Found& found : inputs) plan.inputs.push_back(ToInput(found));
  context.streams.Print(plan::Encode(plan));
  return 0;
}

// With a selection it must succeed here too, so that a terminal shows what a pipe would get.
std::vector<Found> SelectForListing(const Listing& listing, const Options& options, cli::Diagnostics& diagnostics) {
  if (!NeedsRoot(options.selection) && options.selection.min_checkpoints == 0) return {};
  const Selected selected = SelectFrom(listing, options.selection);
  ReportLeftOut(selected, diagnostics);
  return selected.checkpoints;
}

int PrintListings(const Options& options, cli::Context& context) {
  std::vector<Found> selected;
  for (size_t i = 0; i < options.paths.size(); ++i) {
    const Listing listing = checkpoint::ListRoot(options.paths[i], options.depth());
    if (listing.checkpoints.empty()) throw NothingComplete(listing);
    for (Found& found : SelectForListing(listing, options, context.diagnostics)) selected.push_back(std::move(found));
    WarnAboutDuplicates(listing, context.diagnostics);
    if (options.output == Options::Output::kListing) {
      context.streams.Print(ListingDocument(listing));
    } else {
      context.streams.Print(Cat(i > 0 ? "\n" : "", ListingTable(listing, selected)));
    }
  }
  CheckCount(selected, options.selection.min_checkpoints);
  return 0;
}

}  // namespace

int Run(cli::Context& context) {
  const Options options = ReadOptions(context.args, context.streams);
  return options.output == Options::Output::kPlan ? PrintPlan(options, context) : PrintListings(options, context);
}

}  // namespace ck::ls
