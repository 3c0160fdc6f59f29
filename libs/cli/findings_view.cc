#include "libs/cli/findings_view.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/cli/diagnostics.h"
#include "libs/cli/table.h"

namespace ck::cli {
namespace {

std::string Counted(uint64_t count, std::string_view noun) { return Cat(count, " ", noun, count == 1 ? "" : "s"); }

uint64_t Count(const plan::Report& report, plan::Severity severity) {
  return static_cast<uint64_t>(
      std::count_if(report.findings.begin(), report.findings.end(), [&](const plan::Finding& finding) { return finding.severity == severity; }));
}

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

}  // namespace

std::string FindingsSummary(const plan::Report& report, size_t checkpoints) {
  return Cat(Counted(Count(report, plan::Severity::kError), "error"), ", ", Counted(Count(report, plan::Severity::kWarning), "warning"), " in ",
             Counted(checkpoints, "checkpoint"));
}

std::string FindingsTable(const plan::Report& report, size_t checkpoints) {
  std::string out;
  if (!report.findings.empty()) {
    Table table({{"SEVERITY"}, {"ID"}, {"FINDING"}});
    for (const plan::Finding& finding : report.findings) table.AddRow({std::string(plan::NameOf(finding.severity)), finding.id, finding.message});
    out = Cat(table.Text(), "\n");
  }
  out += Cat(FindingsSummary(report, checkpoints), "\n");
  return out + Limits(report);
}

int AnswerNo(const plan::Report& report, size_t checkpoints, Context& context) {
  context.diagnostics.PrintAnswerNo("validate.findings", FindingsSummary(report, checkpoints));
  return 1;
}

}  // namespace ck::cli
