#include "tools/ck-validate/validate_tool.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/discover.h"
#include "libs/cli/common_options.h"
#include "libs/cli/plan_input.h"
#include "libs/cli/progress.h"
#include "libs/cli/table.h"
#include "libs/compare/compare.h"
#include "libs/json/value.h"
#include "libs/plan/documents.h"
#include "libs/run/report_file.h"
#include "libs/validate/validate.h"
#include "tools/ck-validate/options.h"

namespace ck::validate {
namespace {

std::string Counted(uint64_t count, std::string_view noun) { return Cat(count, " ", noun, count == 1 ? "" : "s"); }

uint64_t Count(const plan::Report& report, Severity severity) {
  return static_cast<uint64_t>(
      std::count_if(report.findings.begin(), report.findings.end(), [&](const Finding& finding) { return finding.severity == severity; }));
}

// "2 errors, 1 warning in 3 checkpoints".
std::string Summary(const plan::Report& report, size_t checkpoints) {
  return Cat(Counted(Count(report, Severity::kError), "error"), ", ", Counted(Count(report, Severity::kWarning), "warning"), " in ",
             Counted(checkpoints, "checkpoint"));
}

std::string Document(const plan::Report& report) { return json::Write(plan::ToJson(report), {.indent = 2}); }

// What was not looked at, or not everywhere: a line for each reason.
std::string Limits(const plan::Report& report) {
  std::map<std::pair<bool, std::string>, std::vector<std::string>> parts;
  for (const plan::Checked& checked : report.checked) {
    if (!checked.looked_at || checked.note) parts[{checked.looked_at, checked.note.value_or("")}].push_back(checked.what);
  }
  std::string out;
  for (const auto& [limit, what] : parts) {
    out += Cat(limit.first ? "looked at in part" : "not looked at", limit.second.empty() ? "" : Cat(" (", limit.second, ")"), ": ", Join(what, "; "), "\n");
  }
  return out;
}

std::string FindingsTable(const plan::Report& report, size_t checkpoints) {
  std::string out;
  if (!report.findings.empty()) {
    cli::Table table({{"SEVERITY"}, {"ID"}, {"FINDING"}});
    for (const Finding& finding : report.findings) table.AddRow({std::string(NameOf(finding.severity)), finding.id, finding.message});
    out = Cat(table.Text(), "\n");
  }
  out += Cat(Summary(report, checkpoints), "\n");
  return out + Limits(report);
}

void WriteReportFile(const CommandOptions& options, const plan::Report& report) {
  if (options.report) run::WriteReport(*options.report, Document(report));
}

int AnswerNo(const plan::Report& report, size_t checkpoints, cli::Context& context) {
  context.diagnostics.PrintAnswerNo("validate.findings", Summary(report, checkpoints));
  return 1;
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
  context.streams.Print(view == cli::View::kTable ? FindingsTable(report, directories.size()) : Document(report));
  return plan::IsClean(report) ? 0 : AnswerNo(report, directories.size(), context);
}

plan::Report ReportOf(const CommandOptions& options, compare::Comparison comparison) {
  const bool exact = options.atol == 0 && options.rtol == 0;
  const std::string how = exact ? "equal bits" : Cat("atol ", FormatDouble(options.atol), ", rtol ", FormatDouble(options.rtol));
  plan::Report out;
  out.checked = {{.what = "names, shapes and dtypes of tensors", .looked_at = true, .note = {}},
                 {.what = Cat("values: ", Counted(comparison.tensors, "tensor"), ", ", Counted(comparison.elements, "element"), ", ", how), .looked_at = true, .note = {}},
                 {.what = "byte objects and common state", .looked_at = false, .note = "a comparison is of tensors"}};
  out.findings = std::move(comparison.findings);
  return out;
}

int ComparePaths(const CommandOptions& options, cli::Context& context) {
  const cli::View view = cli::ReadView(context.args, context.streams);
  const auto checked = checkpoint::Checkpoint::Open(ResolveNoted(options.paths[0], context));
  const auto reference = checkpoint::Checkpoint::Open(ResolveNoted(*options.against, context));
  cli::Progress progress(context.streams, cli::ProgressMode::kAuto, "comparing", compare::BytesToCompare(*checked, *reference));
  compare::Comparison comparison = compare::Compare(checked, reference, {.atol = options.atol,
                                                                         .rtol = options.rtol,
                                                                         .nan = options.nan_equal ? compare::NanPolicy::kAnyEqual : compare::NanPolicy::kByBits,
                                                                         .threads = options.threads,
                                                                         .progress = [&](uint64_t bytes) { progress.Add(bytes); }});
  const plan::Report report = ReportOf(options, std::move(comparison));
  WriteReportFile(options, report);
  context.streams.Print(view == cli::View::kTable ? FindingsTable(report, 2) : Document(report));
  return plan::IsClean(report) ? 0 : AnswerNo(report, 2, context);
}

int ValidatePlan(const CommandOptions& options, cli::Context& context) {
  const cli::PlanText plan = cli::ReadPlanText(context.streams, options.plan);
  const plan::Report report = CheckPlan(plan.plan, {.threads = options.threads});
  WriteReportFile(options, report);
  for (const Finding& finding : report.findings) {
    const auto severity = finding.severity == Severity::kError ? cli::Diagnostics::Finding::kError : cli::Diagnostics::Finding::kWarning;
    context.diagnostics.PrintFinding(severity, finding.id, finding.message);
  }
  if (!plan::IsClean(report)) return AnswerNo(report, plan.plan.inputs.size(), context);
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
