#include "libs/cli/plan_input.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"

namespace ck::cli {

PlanText ReadPlanText(Streams& streams, const std::optional<std::string>& source) {
  const bool from_stdin = !source || *source == "-";
  std::string text =
      from_stdin ? streams.ReadInput(plan::kMaxPlanBytes) : fs::ReadSmallFile(*source, plan::kMaxPlanBytes);
  try {
    plan::Plan plan = plan::Decode(text);
    return {.plan = std::move(plan), .text = std::move(text)};
  } catch (const Error& error) {
    throw error.At(from_stdin ? "stdin" : Quote(*source));
  }
}

plan::Plan ReadPlan(Streams& streams, const std::optional<std::string>& source) { return ReadPlanText(streams, source).plan; }

}  // namespace ck::cli
