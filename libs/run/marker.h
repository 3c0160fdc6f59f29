// The marker `latest_checkpointed_iteration.txt`: the file by which Megatron finds the checkpoint to resume from.
//
// Errors.  publish.not_published (kPrecondition): the checkpoint that the marker would name is not there; publish.claimed when another process
//          holds the marker for longer than the patience below; ids of libs/fs/write.h.
#ifndef CK_RUN_MARKER_H_
#define CK_RUN_MARKER_H_

#include <string>

#include "libs/fs/write.h"
#include "libs/run/placement.h"

namespace ck::run {

enum class MarkerPolicy {
  kNeverLower,  // a live run would resume from the wrong place
  kForce,
};

struct MarkerChange {
  enum class Outcome {
    kNone,     // this placement has no marker
    kWritten,
    kAlready,  // it had the value
    kKept,     // it names something later, or nothing we understand: `warning` says what and how to change it
  };
  Outcome outcome = Outcome::kNone;
  std::string warning;  // one line, for people; never empty for kKept
};

// Makes the marker name the published checkpoint: temporary file, fsync, rename, fsync of the directory. Two processes that do this at the
// same time wait for each other, up to 30 s. A mode that the marker has is kept. "release" counts as lower than every number, because
// Megatron resumes it as iteration 0; a marker that cannot be understood is never replaced without kForce.
MarkerChange UpdateMarker(const Placement& placement, MarkerPolicy policy, fs::Durability durability);

}  // namespace ck::run

#endif  // CK_RUN_MARKER_H_
