// The command line of ck-publish, checked.
#ifndef CK_TOOLS_CK_PUBLISH_OPTIONS_H_
#define CK_TOOLS_CK_PUBLISH_OPTIONS_H_

#include <optional>
#include <string>

#include "libs/cli/command.h"

namespace ck::publish {

struct Options {
  enum class Action {
    kPlan,    // carry out the plan in `source` (a file, "-", or empty for stdin) to `output`
    kCopy,    // copy the checkpoint `source` to `output`
    kStaged,  // publish the staged directory `source`, as `output` when that is given
    kGc,      // remove what dead runs left under `source`
  };
  Action action = Action::kPlan;
  std::optional<std::string> source;
  std::optional<std::string> output;
};

cli::Command CommandLine();

// Throws usage.conflict and usage.missing_operand. Opens nothing.
Options ReadOptions(const cli::Args& args);

}  // namespace ck::publish

#endif  // CK_TOOLS_CK_PUBLISH_OPTIONS_H_
