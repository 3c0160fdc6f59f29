// The command line of ck-merge, checked.
#ifndef CK_TOOLS_CK_MERGE_OPTIONS_H_
#define CK_TOOLS_CK_MERGE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/select.h"
#include "libs/cli/command.h"
#include "libs/plan/plan.h"

namespace ck::merge {

struct WeightedPath {
  std::string path;
  double weight = 0;
};

struct Options {
  // Exactly one of: a plan (from stdin when `plan_file` is empty), inputs with weights, a range of one root.
  enum class Source { kPlan, kManual, kRange };
  Source source = Source::kPlan;
  std::optional<std::string> plan_file;
  std::vector<WeightedPath> inputs;
  std::string root;
  checkpoint::Selection range;
  std::string style;
  std::string seed = "0";
  bool normalize = false;
  bool end_ignored = false;  // --end-checkpoint without --start-checkpoint: no range, as in the program replaced

  plan::MergeStep step;
  std::optional<std::string> common_path;  // a checkpoint or a root; resolved by the tool
  std::optional<std::string> output;
};

cli::Command CommandLine();

// Throws usage.conflict, usage.missing_option, usage.bad_value, usage.missing_weight, usage.bad_weight. Opens nothing.
Options ReadOptions(const cli::Args& args);

// "PATH:WEIGHT", split at the last colon. `name` is the option or "operand", for messages.
WeightedPath ParseWeightedPath(const std::string& name, const std::string& text);

}  // namespace ck::merge

#endif  // CK_TOOLS_CK_MERGE_OPTIONS_H_
