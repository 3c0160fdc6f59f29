// Were we started several times by a launcher (srun, mpirun, torchrun)? Each copy would write the same output.
//
// Only variables that a launcher sets for each of its tasks count: SLURM_NTASKS alone also stands in the environment of
// a batch script, which runs once.
#ifndef CK_CLI_LAUNCHER_H_
#define CK_CLI_LAUNCHER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "libs/cli/run_main.h"

namespace ck::cli {

struct Launch {
  std::string variable;  // the one that said so, e.g. "SLURM_STEP_NUM_TASKS"
  uint64_t size = 1;
  uint64_t rank = 0;
};

// The value of an environment variable; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// Size 1 when nothing says otherwise.
Launch DetectLaunch(const Environment& environment);

// For tools that carry out plans and cannot join the other ranks: every rank exits 2, rank 0 alone says why
// (ranks.no_mpi) and how to start it.
void CheckSingleProcess(const Context& context, const Environment& environment);
void CheckSingleProcess(const Context& context);  // the process's own environment

}  // namespace ck::cli

#endif  // CK_CLI_LAUNCHER_H_
