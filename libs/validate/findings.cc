#include "libs/validate/findings.h"

#include <utility>

#include "libs/base/text.h"

namespace ck::validate {

void Findings::AddError(std::string_view id, std::string message, Details details) {
  Add(id, plan::Severity::kError, std::move(message), std::move(details));
}

void Findings::AddWarning(std::string_view id, std::string message, Details details) {
  Add(id, plan::Severity::kWarning, std::move(message), std::move(details));
}

void Findings::AddCaught(const Error& error, std::optional<std::string> where) {
  if (error.code() != Code::kInput) throw error;
  AddError(error.id(), error.message(), {.where = std::move(where)});
}

void Findings::Add(std::string_view id, plan::Severity severity, std::string message, Details details) {
  if (severity == plan::Severity::kError) ++errors_;
  Count& count = counts_.try_emplace(std::string(id)).first->second;
  count.severity = severity;
  if (++count.findings > kMaxFindingsPerId) return;
  if (message.find(path_) == std::string::npos) message = Cat(path_, ": ", message);
  findings_.push_back({.id = std::string(id), .severity = severity, .message = std::move(message), .where = std::move(details.where),
                       .found = std::move(details.found), .expected = std::move(details.expected), .source = std::move(details.source)});
}

std::vector<plan::Finding> Findings::Take() {
  for (const auto& [id, count] : counts_) {
    if (count.findings <= kMaxFindingsPerId) continue;
    findings_.push_back({.id = id, .severity = count.severity, .message = Cat(path_, ": ", count.findings - kMaxFindingsPerId, " more of the same kind"),
                         .where = {}, .found = {}, .expected = {}, .source = {}});
  }
  return std::exchange(findings_, {});
}

}  // namespace ck::validate
