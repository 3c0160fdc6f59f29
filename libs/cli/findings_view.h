// The findings of a report as people read them.
#ifndef CK_CLI_FINDINGS_VIEW_H_
#define CK_CLI_FINDINGS_VIEW_H_

#include <cstddef>
#include <string>

#include "libs/cli/run_main.h"
#include "libs/plan/documents.h"

namespace ck::cli {

// "2 errors, 1 warning in 3 checkpoints".
std::string FindingsSummary(const plan::Report& report, size_t checkpoints);

// One row per finding, the summary, and what was not looked at.
std::string FindingsTable(const plan::Report& report, size_t checkpoints);

// Says on stderr that the answer is no, and returns exit code 1.
int AnswerNo(const plan::Report& report, size_t checkpoints, Context& context);

}  // namespace ck::cli

#endif  // CK_CLI_FINDINGS_VIEW_H_
