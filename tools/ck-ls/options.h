// The command line of ck-ls, checked.
#ifndef CK_TOOLS_CK_LS_OPTIONS_H_
#define CK_TOOLS_CK_LS_OPTIONS_H_

#include <string>
#include <vector>

#include "libs/checkpoint/discover.h"
#include "libs/checkpoint/select.h"
#include "libs/cli/command.h"
#include "libs/cli/streams.h"

namespace ck::ls {

struct Options {
  enum class Output { kPlan, kListing, kTable };

  std::vector<std::string> paths;  // at least one
  checkpoint::Selection selection;
  bool look_closely = false;
  Output output = Output::kPlan;

  // How closely the output wants each checkpoint looked at.
  checkpoint::Depth depth() const;
};

cli::Command CommandLine();

// Throws usage.conflict, usage.bad_value and those of checkpoint::CheckSelection.
Options ReadOptions(const cli::Args& args, const cli::Streams& streams);

}  // namespace ck::ls

#endif  // CK_TOOLS_CK_LS_OPTIONS_H_
