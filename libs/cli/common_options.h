// Options that several tools share: the same name means the same everywhere.
//
// A tool puts the groups it wants into its Command with Concat and reads each group back with its Read function.
// Errors. usage.conflict, usage.bad_value (kUsage).
#ifndef CK_CLI_COMMON_OPTIONS_H_
#define CK_CLI_COMMON_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/cli/command.h"
#include "libs/cli/progress.h"
#include "libs/cli/streams.h"

namespace ck::cli {

// -o/--output DIR. `legacy` are the names that the replaced program had for it.
Option OutputOption(const std::vector<std::string>& legacy = {});
// --report FILE.
Option ReportOption();
// -j/--threads N.
Option ThreadsOption();

// How a plan is carried out: --dry-run, --threads, --progress, --report, --no-fsync.
std::vector<Option> RunOptions();

enum class DryRun { kNo, kYes };
enum class Fsync { kYes, kNo };

struct RunSettings {
  DryRun dry_run = DryRun::kNo;
  unsigned threads = 1;
  ProgressMode progress = ProgressMode::kAuto;
  std::optional<std::string> report;  // the file to write ck.result or ck.report to
  Fsync fsync = Fsync::kYes;
};

RunSettings ReadRunSettings(const Args& args);
// The value of ThreadsOption; AvailableThreads without it.
unsigned ReadThreads(const Args& args);

// Under which name a result is published: --iteration (also --output-iteration), --release, --force-marker.
std::vector<Option> TargetOptions();

enum class Marker { kNeverLower, kForce };

struct TargetSettings {
  std::optional<uint64_t> iteration;
  bool release = false;  // not together with an iteration
  Marker marker = Marker::kNeverLower;
};

TargetSettings ReadTargetSettings(const Args& args);

// What a tool shows: --json, --table.
std::vector<Option> ViewOptions();

enum class View { kJson, kTable };

// What the options say; without them a table on a terminal, else JSON.
View ReadView(const Args& args, const Streams& streams);

// Processors that this process may run on (its affinity mask, which batch systems set), at least 1.
unsigned AvailableThreads();

// Throws usage.conflict when two of `names` are given.
void RefuseTogether(const Args& args, const std::vector<std::string>& names);

}  // namespace ck::cli

#endif  // CK_CLI_COMMON_OPTIONS_H_
