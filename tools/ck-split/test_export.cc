#include "tools/ck-split/test_export.h"

#include <memory>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/cli/common_options.h"
#include "libs/cli/findings_view.h"
#include "libs/cli/progress.h"
#include "libs/compare/compare.h"
#include "libs/json/value.h"
#include "libs/pipeline/pipeline.h"
#include "libs/pipeline/source_checks.h"

namespace ck::split {
namespace {

void ThrowFirst(const std::vector<plan::Finding>& findings) {
  if (!findings.empty()) throw InputError(findings[0].id, findings[0].message);
}

transform::View ViewOf(const plan::Plan& plan, cli::Context& context) {
  plan::CheckRunnable(plan);
  const transform::MergeInputs inputs = pipeline::OpenInputs(plan);
  ThrowFirst(pipeline::CheckSteps(plan, inputs));
  transform::View view = pipeline::BuildView(plan, inputs, Cat("ck-split ", kVersion));
  ThrowFirst(pipeline::CheckSourceFiles(view));
  for (const plan::Finding& warning : view.warnings) context.diagnostics.Warn(warning.id, warning.message);
  return view;
}

}  // namespace

int TestExport(cli::Context& context, const plan::Plan& plan, const std::string& reference) {
  constexpr size_t kCheckpoints = 2;
  const auto theirs = checkpoint::Checkpoint::Open(reference);
  transform::View view = ViewOf(plan, context);
  cli::Progress progress(context.streams, cli::ProgressMode::kAuto, "comparing", compare::BytesToCompare(view, *theirs));
  const compare::Options how{.threads = cli::ReadThreads(context.args), .progress = [&](uint64_t bytes) { progress.Add(bytes); }};
  const plan::Report report = compare::ReportOf(compare::Compare(std::move(view), Cat("the export of ", plan.inputs[0].path), theirs, how), how);
  const bool table = cli::ReadView(context.args, context.streams) == cli::View::kTable;
  context.streams.Print(table ? cli::FindingsTable(report, kCheckpoints) : json::Write(plan::ToJson(report), {.indent = 2}));
  return plan::IsClean(report) ? 0 : cli::AnswerNo(report, kCheckpoints, context);
}

}  // namespace ck::split
