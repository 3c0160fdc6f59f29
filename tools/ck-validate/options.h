// The command line of ck-validate, checked.
#ifndef CK_TOOLS_CK_VALIDATE_OPTIONS_H_
#define CK_TOOLS_CK_VALIDATE_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "libs/cli/command.h"

namespace ck::validate {

struct CommandOptions {
  std::vector<std::string> paths;        // checkpoints and roots; empty: a plan is checked
  std::optional<std::string> plan;       // its file; nullopt: stdin
  std::optional<std::string> report;     // the file to write ck.report to
  unsigned threads = 1;

  std::optional<std::string> against;  // a checkpoint or root that the only path is compared with
  double atol = 0, rtol = 0;
  bool nan_equal = false;
};

cli::Command CommandLine();

// An operand that is `-` or ends in `.json` is a plan; it stands alone. Errors: usage.conflict, usage.missing_option, usage.bad_value (kUsage).
CommandOptions ReadOptions(const cli::Args& args);

}  // namespace ck::validate

#endif  // CK_TOOLS_CK_VALIDATE_OPTIONS_H_
