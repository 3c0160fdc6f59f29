// The command line of ck-split, checked.
#ifndef CK_TOOLS_CK_SPLIT_OPTIONS_H_
#define CK_TOOLS_CK_SPLIT_OPTIONS_H_

#include <optional>
#include <string>

#include "libs/cli/command.h"
#include "libs/plan/plan.h"

namespace ck::split {

struct Options {
  enum class Action { kStep, kTest, kList };
  Action action = Action::kStep;
  plan::SplitStep step;  // config as given
  std::optional<std::string> input, plan_file, output;
  // --local_dir of verl's merger: holds dist_ckpt/, and huggingface/ or model/ for the config. Nothing else names the input then.
  std::optional<std::string> verl_directory;
  std::string reference;  // --test_hf_dir, of kTest
};

cli::Command CommandLine();

// Throws usage.conflict, usage.missing_option, usage.bad_value, usage.extra_operand; split.no_upload (kUsage). Opens nothing.
Options ReadOptions(const cli::Args& args);

}  // namespace ck::split

#endif  // CK_TOOLS_CK_SPLIT_OPTIONS_H_
