#include "tools/ck-meta/meta_tool.h"

#include <string>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/cli/plan_input.h"
#include "tools/ck-meta/args.h"
#include "tools/ck-meta/contents.h"
#include "tools/ck-meta/from_checkpoint.h"
#include "tools/ck-meta/from_plan.h"
#include "tools/ck-meta/globals.h"
#include "tools/ck-meta/options.h"
#include "tools/ck-meta/show.h"

namespace ck::meta {
namespace {

Contents ReadContents(const Options& options, cli::Context& context) {
  if (options.checkpoint) return FromCheckpoint(*options.checkpoint, options.chunk_lists, context.diagnostics);
  return FromPlan(cli::ReadPlan(context.streams, options.plan), options.chunk_lists, context.diagnostics);
}

void FilterContents(const Options& options, Contents& contents, cli::Diagnostics& diagnostics) {
  Filter(options.filter, contents);
  if (options.filter.empty() || !contents.meta.tensors.empty() || !contents.meta.objects.empty()) return;
  diagnostics.Warn("meta.no_match", Cat("no name matches the filter (tensors: ", contents.all_tensors, ", objects: ",
                                        contents.all_objects, ")"));
}

std::string ShowArgs(const Options& options, Contents& contents, cli::Diagnostics& diagnostics) {
  const State args = TakeArgs(contents);
  return options.view == cli::View::kTable ? ArgsTable(args, options.filter)
                                           : ArgsDocument(args, options.filter, diagnostics);
}

std::string ShowGlobals(const Options& options, const Contents& contents, cli::Diagnostics& diagnostics) {
  const std::vector<Global> globals = FindGlobals(contents, diagnostics);
  return options.view == cli::View::kTable ? GlobalsTable(globals) : GlobalsDocument(contents, globals);
}

std::string ShowContents(const Options& options, Contents contents, cli::Diagnostics& diagnostics) {
  if (options.view == cli::View::kTable) return ContentsTable(contents, options);
  if (const std::string wrapper = DescribeWrapper(contents.meta); !wrapper.empty()) diagnostics.Detail(wrapper);
  return ContentsDocument(std::move(contents), diagnostics);
}

}  // namespace

int Run(cli::Context& context) {
  const Options options = ReadOptions(context.args, context.streams);
  Contents contents = ReadContents(options, context);
  if (options.shown == Options::Shown::kArgs) {
    context.streams.Print(ShowArgs(options, contents, context.diagnostics));
    return 0;
  }
  FilterContents(options, contents, context.diagnostics);
  context.streams.Print(options.shown == Options::Shown::kGlobals
                            ? ShowGlobals(options, contents, context.diagnostics)
                            : ShowContents(options, std::move(contents), context.diagnostics));
  return 0;
}

}  // namespace ck::meta
