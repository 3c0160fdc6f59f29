#include "libs/cli/common_options.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::cli {

namespace {

constexpr uint64_t kMaxThreads = 4096;   // more than any machine has; a typing error, not a wish
constexpr int kMaxProcessors = 1 << 16;  // size of the largest affinity mask tried

const char kRunGroup[] = "Running";
const char kTargetGroup[] = "Target";

}  // namespace

Option OutputOption(const std::vector<std::string>& legacy) {
  Option option{.name = "--output",
                .aliases = {"-o"},
                .arity = Arity::kOne,
                .value = "DIR",
                .help = "Carry the plan out and publish the result as DIR; without it the plan is printed.",
                .group = kRunGroup};
  option.aliases.insert(option.aliases.end(), legacy.begin(), legacy.end());
  return option;
}

Option ReportOption() {
  return {.name = "--report",
          .arity = Arity::kOne,
          .value = "FILE",
          .help = "Also write the report to FILE, as JSON.",
          .group = kRunGroup};
}

Option ThreadsOption() {
  return {.name = "--threads",
          .aliases = {"-j"},
          .arity = Arity::kOne,
          .value = "N",
          .help = "Use N threads; the result does not depend on N. Default: the processors this process may run on.",
          .group = kRunGroup};
}

std::vector<Option> RunOptions() {
  return {
      {.name = "--dry-run",
       .aliases = {"-n"},
       .help = "Print what would be read and written; write nothing.",
       .group = kRunGroup},
      ThreadsOption(),
      {.name = "--progress",
       .arity = Arity::kOne,
       .value = "WHEN",
       .help = "Show progress on stderr; auto: when it is a terminal.",
       .group = kRunGroup,
       .choices = {"auto", "always", "never"}},
      ReportOption(),
      {.name = "--no-fsync",
       .help = "Do not wait for the disk; after a crash of the machine the result may be damaged.",
       .group = kRunGroup},
  };
}

unsigned ReadThreads(const Args& args) {
  const auto threads = args.GetUint("--threads");
  if (!threads) return AvailableThreads();
  if (*threads < 1 || *threads > kMaxThreads) {
    throw UsageError("usage.bad_value",
                     Cat("value of ", args.NameUsed("--threads"), " is ", *threads, ", expected 1 to ", kMaxThreads));
  }
  return static_cast<unsigned>(*threads);
}

RunSettings ReadRunSettings(const Args& args) {
  RunSettings settings;
  if (args.Has("--dry-run")) settings.dry_run = DryRun::kYes;
  settings.threads = ReadThreads(args);
  const std::string progress = args.GetOr("--progress", "auto");
  if (progress == "always") settings.progress = ProgressMode::kAlways;
  if (progress == "never" || args.Has("--quiet")) settings.progress = ProgressMode::kNever;
  settings.report = args.Get("--report");
  if (args.Has("--no-fsync")) settings.fsync = Fsync::kNo;
  return settings;
}

std::vector<Option> TargetOptions() {
  return {
      {.name = "--iteration",
       .aliases = {"--output-iteration"},
       .arity = Arity::kOne,
       .value = "N",
       .help = "Publish as iter_N of the output directory and move its marker there.",
       .group = kTargetGroup},
      {.name = "--release",
       .help = "Publish as release of the output directory and move its marker there.",
       .group = kTargetGroup},
      {.name = "--force-marker",
       .help = "Move the marker also to a lower iteration than the one it names.",
       .group = kTargetGroup},
  };
}

TargetSettings ReadTargetSettings(const Args& args) {
  RefuseTogether(args, {"--iteration", "--release"});
  TargetSettings settings;
  settings.iteration = args.GetUint("--iteration");
  settings.release = args.Has("--release");
  if (args.Has("--force-marker")) settings.marker = Marker::kForce;
  return settings;
}

std::vector<Option> ViewOptions() {
  return {
      {.name = "--json", .help = "Print JSON. Default when stdout is not a terminal."},
      {.name = "--table", .help = "Print a table for people. Default on a terminal."},
  };
}

View ReadView(const Args& args, const Streams& streams) {
  RefuseTogether(args, {"--json", "--table"});
  if (args.Has("--json")) return View::kJson;
  if (args.Has("--table")) return View::kTable;
  return streams.OutputIsTerminal() ? View::kTable : View::kJson;
}

unsigned AvailableThreads() {
  // The kernel refuses a mask smaller than its own with EINVAL; its size is not told otherwise.
  for (int processors = CPU_SETSIZE; processors <= kMaxProcessors; processors *= 2) {
    cpu_set_t* mask = CPU_ALLOC(static_cast<size_t>(processors));
    if (mask == nullptr) break;
    const size_t size_bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    const bool known = ::sched_getaffinity(0, size_bytes, mask) == 0;
    const bool too_small = !known && errno == EINVAL;
    const int count = known ? CPU_COUNT_S(size_bytes, mask) : 0;
    CPU_FREE(mask);
    if (count > 0) return static_cast<unsigned>(count);
    if (!too_small) break;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

void RefuseTogether(const Args& args, const std::vector<std::string>& names) {
  std::string first;
  for (const std::string& name : names) {
    if (!args.Has(name)) continue;
    if (!first.empty()) {
      throw UsageError("usage.conflict",
                       Cat("options ", first, " and ", args.NameUsed(name), " contradict each other"));
    }
    first = args.NameUsed(name);
  }
}

}  // namespace ck::cli
