// The command line of ck-retarget, checked.
#ifndef CK_TOOLS_CK_RETARGET_OPTIONS_H_
#define CK_TOOLS_CK_RETARGET_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/cli/command.h"
#include "libs/plan/plan.h"

namespace ck::retarget {

struct Options {
  enum class Action { kStep, kExplain, kShards };
  Action action = Action::kStep;

  // kStep: the plan comes from `input`, from `plan_file`, or from stdin.
  plan::RetargetStep step;
  std::optional<std::string> input;
  std::optional<std::string> plan_file;
  std::optional<std::string> output;
  std::optional<plan::Format> input_format;  // what the input must be; nullopt: anything

  // kExplain; the pattern is step.pattern. For kStep too: what its segments must divide by.
  uint64_t pipeline_stages = 0;  // 0: not said
  uint64_t virtual_stages = 1;
  std::optional<std::vector<std::string>> list;  // one value per GPT layer

  // kShards
  uint64_t shards = 0;
  uint64_t layers = 0;
};

cli::Command CommandLine();

// Throws usage.conflict, usage.missing_option, usage.bad_value, usage.extra_operand. Opens nothing.
Options ReadOptions(const cli::Args& args);

}  // namespace ck::retarget

#endif  // CK_TOOLS_CK_RETARGET_OPTIONS_H_
