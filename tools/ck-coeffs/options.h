// The command line of ck-coeffs, checked.
#ifndef CK_TOOLS_CK_COEFFS_OPTIONS_H_
#define CK_TOOLS_CK_COEFFS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/cli/command.h"

namespace ck::coeffs {

struct Options {
  std::optional<std::string> plan;   // file; nullopt: stdin
  std::optional<std::string> style;  // one of the six
  std::string seed = "0";
  std::optional<std::vector<double>> weights;  // finite
  bool normalize = false;
  std::optional<uint64_t> count;  // 1 to coefficients::kMaxCount; then no plan is read
};

cli::Command CommandLine();

// Throws usage.conflict, usage.missing_option and usage.bad_value.
Options ReadOptions(const cli::Args& args);

}  // namespace ck::coeffs

#endif  // CK_TOOLS_CK_COEFFS_OPTIONS_H_
