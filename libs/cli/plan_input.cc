#include "libs/cli/plan_input.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"

namespace ck::cli {

plan::Plan ReadPlan(Streams& streams, const std::optional<std::string>& source) {
  const bool from_stdin = !source || *source == "-";
  const std::string text =
      from_stdin ? streams.ReadInput(plan::kMaxPlanBytes) : fs::ReadSmallFile(*source, plan::kMaxPlanBytes);
  try {
    return plan::Decode(text);
  } catch (const Error& error) {
    throw error.At(from_stdin ? "stdin" : Quote(*source));
  }
}

}  // namespace ck::cli
