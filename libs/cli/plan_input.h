// Where a tool's plan comes from: the same rule for every tool.
//
// Errors. Those of Streams::ReadInput, libs/fs and libs/plan, the latter naming the file, or stdin.
#ifndef CK_CLI_PLAN_INPUT_H_
#define CK_CLI_PLAN_INPUT_H_

#include <optional>
#include <string>

#include "libs/cli/streams.h"
#include "libs/plan/plan.h"

namespace ck::cli {

// A plan and the bytes that it was read from, for a tool that passes it on unchanged.
struct PlanText {
  plan::Plan plan;
  std::string text;
};
PlanText ReadPlanText(Streams& streams, const std::optional<std::string>& source);

// The plan in the file `source`; on stdin when `source` is "-" or when none is named.
plan::Plan ReadPlan(Streams& streams, const std::optional<std::string>& source);

}  // namespace ck::cli

#endif  // CK_CLI_PLAN_INPUT_H_
