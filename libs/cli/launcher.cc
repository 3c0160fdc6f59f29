#include "libs/cli/launcher.h"

#include <cstdlib>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::cli {

namespace {

struct Variables {
  const char* size;
  const char* rank;
};

// SLURM sets SLURM_STEP_NUM_TASKS for the tasks of srun only; the others are set by Open MPI, MPICH and torchrun.
constexpr Variables kLaunchers[] = {
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"WORLD_SIZE", "RANK"},
};

}  // namespace

Launch DetectLaunch(const Environment& environment) {
  for (const Variables& launcher : kLaunchers) {
    const uint64_t size = ParseUint64(environment(launcher.size).value_or("")).value_or(1);
    if (size <= 1) continue;
    return {launcher.size, size, ParseUint64(environment(launcher.rank).value_or("")).value_or(0)};
  }
  return {};
}

void CheckSingleProcess(const Context& context, const Environment& environment) {
  const Launch launch = DetectLaunch(environment);
  if (launch.size <= 1) return;
  if (launch.rank > 0) throw SilentExit{static_cast<int>(Code::kUsage)};
  throw UsageError(
      "ranks.no_mpi",
      Cat("started ", launch.size, " times (", launch.variable, "=", launch.size,
          "), but this build cannot share the work between ranks; start it once and use threads: 'srun -n 1 -c 16 ",
          context.command.tool, " --threads 16 ...'"));
}

void CheckSingleProcess(const Context& context) {
  CheckSingleProcess(context, [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace ck::cli
