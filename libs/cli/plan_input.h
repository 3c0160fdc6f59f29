// Where a tool's plan comes from: the same rule for every tool.
//
// Errors. Those of Streams::ReadInput, libs/fs and libs/plan, the latter naming the file, or stdin.
#ifndef CK_CLI_PLAN_INPUT_H_
#define CK_CLI_PLAN_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "libs/cli/streams.h"
#include "libs/plan/plan.h"

namespace ck::cli {

inline constexpr uint64_t kMaxPlanBytes = uint64_t{64} << 20;  // a plan of 10^5 inputs has some 20 MiB

// The plan in the file `source`; on stdin when `source` is "-" or when none is named.
plan::Plan ReadPlan(Streams& streams, const std::optional<std::string>& source);

}  // namespace ck::cli

#endif  // CK_CLI_PLAN_INPUT_H_
