// Publishes what an earlier run staged with --stage-only.
#ifndef CK_RUN_FINISH_STAGED_H_
#define CK_RUN_FINISH_STAGED_H_

#include <optional>
#include <string>
#include <vector>

#include "libs/fs/write.h"
#include "libs/plan/documents.h"
#include "libs/run/marker.h"

namespace ck::run {

struct FinishOptions {
  std::string staged;                 // the directory that the earlier run printed
  std::optional<std::string> output;  // another place than the one it was staged for
  fs::Durability durability = fs::Durability::kSync;
  MarkerPolicy marker = MarkerPolicy::kNeverLower;
};

struct Finished {
  plan::Result result;  // seconds and counts are of this run, not of the one that wrote the data
  std::vector<std::string> warnings;
  std::string marker_warning;
};

// Reads the plan beside the data (ck-plan.json) for the target, checks the directory as a reader would (VerifyReadable), and publishes it.
// Errors: publish.not_staged, those of publish.h; run.verify_failed when the directory is not what a complete checkpoint is.
Finished FinishStaged(const FinishOptions& options);

}  // namespace ck::run

#endif  // CK_RUN_FINISH_STAGED_H_
