#include "tools/ck-ls/options.h"

#include <limits>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/common_options.h"
#include "libs/compress/stream.h"

namespace ck::ls {
namespace {

constexpr char kPlan[] = "plan";
constexpr char kListing[] = "listing";

Options::Output ReadOutput(const cli::Args& args, const cli::Streams& streams) {
  const cli::View view = cli::ReadView(args, streams);
  const auto format = args.Get("--format");
  if (format == kPlan && args.Has("--table"))
    throw UsageError("usage.conflict", "--format plan is JSON; --table shows a listing");
  if (format == kPlan) return Options::Output::kPlan;
  if (view == cli::View::kTable) return Options::Output::kTable;
  return format == kListing ? Options::Output::kListing : Options::Output::kPlan;
}

// A range is a part of one run: over several roots its target would be ambiguous.
void RefuseRangeOverSeveral(const Options& options) {
  if (options.paths.size() == 1 || (!options.selection.start && !options.selection.end)) return;
  throw UsageError("usage.conflict", Cat(options.selection.start ? "--start" : "--end", " selects from one root, but ",
                                         options.paths.size(), " paths are given"));
}

}  // namespace

checkpoint::Depth Options::depth() const {
  if (look_closely) return checkpoint::Depth::kLong;
  return output == Output::kPlan ? checkpoint::Depth::kNames : checkpoint::Depth::kSizes;
}

cli::Command CommandLine() {
  using cli::Arity;
  return {
      .tool = "ck-ls",
      .summary = "Lists checkpoints and selects the inputs of a plan.",
      .usage = {"ck-ls [--start N] [--end N | --latest] [--min-interval N] [--min-checkpoints N] PATH...",
                "ck-ls --format listing [--long] PATH..."},
      .description =
          "PATH is a checkpoint, or a root: a directory with iter_* or release directories and the marker "
          "latest_checkpointed_iteration.txt.\n\n"
          "On a terminal it shows every checkpoint with its state. In a pipe it prints a plan whose inputs are the "
          "selected checkpoints; without a "
          "selection these are all complete ones, and the others are named on stderr.",
      .operands = {.name = "PATH", .min_count = 1, .max_count = std::numeric_limits<size_t>::max()},
      .options = cli::Concat(
          {{
               {.name = "--start",
                .aliases = {"--start-checkpoint"},
                .arity = Arity::kOne,
                .value = "N",
                .help = "First iteration of a range, inclusive; needs --end or --latest.",
                .group = "Selection"},
               {.name = "--end",
                .aliases = {"--end-checkpoint"},
                .arity = Arity::kOne,
                .value = "N",
                .help = "Last iteration, inclusive: the target, which must exist and is always kept.",
                .group = "Selection"},
               {.name = "--latest",
                .help = "The checkpoint that the marker names; with --start the range up to it.",
                .group = "Selection"},
               {.name = "--min-interval",
                .aliases = {"--min-iteration-interval"},
                .arity = Arity::kOne,
                .value = "N",
                .help = "Walking back from the target, keep a checkpoint only N or more iterations before the last one "
                        "kept.",
                .group = "Selection"},
               {.name = "--min-checkpoints",
                .arity = Arity::kOne,
                .value = "N",
                .help = "Fail when fewer are selected.",
                .group = "Selection"},
               {.name = "--skip-incomplete",
                .help = "Leave out what is not complete; without it such a checkpoint in a selection is an error.",
                .group = "Selection"},
               {.name = "--long",
                .aliases = {"-l"},
                .help = "Also parse the metadata and find data files that are missing or short.",
                .group = "Output"},
               {.name = "--format",
                .arity = Arity::kOne,
                .value = "FORMAT",
                .help = "What to print: a plan with the selected inputs, or a listing of everything.",
                .choices = {kPlan, kListing}},
           },
           cli::ViewOptions()}),
      .examples = {"ck-ls RUN",
                   "ck-ls RUN --start 1000 --end 5000 --min-interval 1000 | ck-coeffs --style minus-sqrt | ck-merge "
                   "--output OUT",
                   "ck-ls RUN --latest | ck-split --to hf --config HFDIR --output MODEL"},
      .exit_codes = {{1, ""}, {5, ""}},
      .libraries = {compress::LibraryVersion()},
  };
}

Options ReadOptions(const cli::Args& args, const cli::Streams& streams) {
  Options options;
  options.paths = args.operands();
  options.selection.start = args.GetUint("--start");
  options.selection.end = args.GetUint("--end");
  options.selection.latest = args.Has("--latest");
  options.selection.min_interval = args.GetInt("--min-interval").value_or(0);
  if (const auto count = args.GetUint("--min-checkpoints")) {
    if (*count == 0) throw UsageError("usage.bad_value", "value of --min-checkpoints is 0, expected 1 or more");
    options.selection.min_checkpoints = *count;
  }
  if (args.Has("--skip-incomplete")) options.selection.incomplete = checkpoint::Incomplete::kSkip;
  options.look_closely = args.Has("--long");
  options.output = ReadOutput(args, streams);
  checkpoint::CheckSelection(options.selection);
  RefuseRangeOverSeveral(options);
  return options;
}

}  // namespace ck::ls
