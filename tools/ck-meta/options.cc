#include "tools/ck-meta/options.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/common_options.h"
#include "libs/compress/stream.h"

namespace ck::meta {
namespace {

// What a name on the command line is: a plan by its ending, else a checkpoint or a root.
bool NamesPlan(const std::string& operand) { return operand == "-" || EndsWith(operand, ".json"); }

}  // namespace

cli::Command CommandLine() {
  using cli::Arity;
  return {
      .tool = "ck-meta",
      .summary = "Shows what a checkpoint holds, or what the result of a plan would hold.",
      .usage = {"ck-meta [--include GLOB]... [--exclude GLOB]... [--chunks] [PATH]", "ck-meta --args [PATH]",
                "ck-meta --show-globals [PATH]"},
      .description =
          "PATH is a checkpoint, a root (its marker or its newest complete checkpoint is used), or a plan: a file "
          "whose name ends in .json, or - for stdin. Without PATH a plan is read from stdin.\n\n"
          "No tensor data is read and nothing of a checkpoint is run. On a terminal it shows a table, in a pipe JSON.",
      .operands = {.name = "PATH", .min_count = 0, .max_count = 1},
      .options = cli::Concat(
          {{
               {.name = "--include",
                .aliases = {"-i"},
                .arity = Arity::kRepeated,
                .value = "GLOB",
                .help = "List only tensors and objects (with --args: arguments) whose name matches one of these: * is "
                        "any text, also with dots, ? one character, [a-c] a class.",
                .group = "Selection"},
               {.name = "--exclude",
                .aliases = {"-x"},
                .arity = Arity::kRepeated,
                .value = "GLOB",
                .help = "Leave out names that match one of these.",
                .group = "Selection"},
               {.name = "--chunks", .help = "Also list each stored chunk of a tensor.", .group = "Output"},
               {.name = "--objects",
                .help = "In a table, list every byte object, also extra states and those of the optimizer, which are "
                        "else only counted.",
                .group = "Output"},
               {.name = "--args", .help = "Only the training arguments.", .group = "Output"},
               {.name = "--show-globals",
                .help = "Only the Python classes and functions that the pickles of the common state and of the byte "
                        "objects name, for a review. Reads every byte object.",
                .group = "Output"},
           },
           cli::ViewOptions()}),
      .examples = {"ck-meta RUN --include '*.linear_fc1.weight'", "ck-meta RUN --args --json | jq .hidden_size",
                   "ck-ls RUN --latest | ck-retarget --to hybrid --pattern '*-*-' | ck-meta"},
      .exit_codes = {{1, ""}},
      .libraries = {compress::LibraryVersion()},
  };
}

Options ReadOptions(const cli::Args& args, const cli::Streams& streams) {
  cli::RefuseTogether(args, {"--args", "--show-globals", "--chunks"});
  cli::RefuseTogether(args, {"--args", "--show-globals", "--objects"});
  Options out;
  if (!args.operands().empty()) {
    const std::string& operand = args.operands()[0];
    (NamesPlan(operand) ? out.plan : out.checkpoint) = operand;
  }
  if (args.Has("--args")) out.shown = Options::Shown::kArgs;
  if (args.Has("--show-globals")) out.shown = Options::Shown::kGlobals;
  out.filter = {.include = args.All("--include"), .exclude = args.All("--exclude")};
  if (args.Has("--chunks")) out.chunk_lists = ChunkLists::kYes;
  out.every_object = args.Has("--objects");
  out.view = cli::ReadView(args, streams);
  return out;
}

}  // namespace ck::meta
