#include "tools/ck-validate/validate_tool.h"

#include <string>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/discover.h"
#include "libs/cli/common_options.h"
#include "libs/cli/findings_view.h"
#include "libs/cli/plan_input.h"
#include "libs/cli/progress.h"
#include "libs/compare/compare.h"
#include "libs/json/value.h"
#include "libs/plan/documents.h"
#include "libs/run/report_file.h"
#include "libs/validate/validate.h"
#include "tools/ck-validate/options.h"

namespace ck::validate {
namespace {

std::string Document(const plan::Report& report) { return json::Write(plan::ToJson(report), {.indent = 2}); }

void WriteReportFile(const CommandOptions& options, const plan::Report& report) {
  if (options.report) run::WriteReport(*options.report, Document(report));
}

std::string ResolveNoted(const std::string& path, cli::Context& context) {
  const checkpoint::Resolved resolved = checkpoint::Resolve(path, checkpoint::Require::kAny);
  if (!resolved.note.empty()) context.diagnostics.Note(resolved.note);
  return resolved.path;
}

int ValidatePaths(const CommandOptions& options, cli::Context& context) {
  const cli::View view = cli::ReadView(context.args, context.streams);
  std::vector<std::string> directories;
  for (const std::string& path : options.paths) directories.push_back(ResolveNoted(path, context));
  const plan::Report report = CheckCheckpoints(directories, {.threads = options.threads});
  WriteReportFile(options, report);
  context.streams.Print(view == cli::View::kTable ? cli::FindingsTable(report, directories.size()) : Document(report));
  return plan::IsClean(report) ? 0 : cli::AnswerNo(report, directories.size(), context);
}

int ComparePaths(const CommandOptions& options, cli::Context& context) {
  const cli::View view = cli::ReadView(context.args, context.streams);
  const auto checked = checkpoint::Checkpoint::Open(ResolveNoted(options.paths[0], context));
  const auto reference = checkpoint::Checkpoint::Open(ResolveNoted(*options.against, context));
  cli::Progress progress(context.streams, cli::ProgressMode::kAuto, "comparing", compare::BytesToCompare(*checked, *reference));
  const compare::Options how{.atol = options.atol,
                             .rtol = options.rtol,
                             .nan = options.nan_equal ? compare::NanPolicy::kAnyEqual : compare::NanPolicy::kByBits,
                             .threads = options.threads,
                             .progress = [&](uint64_t bytes) { progress.Add(bytes); }};
  const plan::Report report = compare::ReportOf(compare::Compare(checked, reference, how), how);
  WriteReportFile(options, report);
  context.streams.Print(view == cli::View::kTable ? cli::FindingsTable(report, 2) : Document(report));
  return plan::IsClean(report) ? 0 : cli::AnswerNo(report, 2, context);
}

int ValidatePlan(const CommandOptions& options, cli::Context& context) {
  const cli::PlanText plan = cli::ReadPlanText(context.streams, options.plan);
  const plan::Report report = CheckPlan(plan.plan, {.threads = options.threads});
  WriteReportFile(options, report);
  for (const Finding& finding : report.findings) {
    const auto severity = finding.severity == Severity::kError ? cli::Diagnostics::Finding::kError : cli::Diagnostics::Finding::kWarning;
    context.diagnostics.PrintFinding(severity, finding.id, finding.message);
  }
  if (!plan::IsClean(report)) return cli::AnswerNo(report, plan.plan.inputs.size(), context);
  context.streams.Print(plan.text);
  return 0;
}

}  // namespace

int Run(cli::Context& context) {
  const CommandOptions options = ReadOptions(context.args);
  if (options.report) run::CheckReport(*options.report);
  if (options.against) return ComparePaths(options, context);
  return options.paths.empty() ? ValidatePlan(options, context) : ValidatePaths(options, context);
}

}  // namespace ck::validate
