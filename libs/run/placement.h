// Where a result goes, and the refusals that come before anything is created.
//
// Errors.  publish.bad_output, publish.other_iteration, publish.reserved_name, publish.name_too_long (kUsage);
//          publish.output_is_input, publish.output_inside_input, publish.output_holds_input, publish.target_exists (kPrecondition);
//          publish.no_space (kEnvironment); fs.not_found for an input that is not there.
#ifndef CK_RUN_PLACEMENT_H_
#define CK_RUN_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/plan/plan.h"
#include "libs/run/file_names.h"

namespace ck::run {

// Megatron formats keep iterations side by side under a marker; Hugging Face output is one plain directory.
enum class Markers { kAllowed, kNever };

// What the plan's result is: Hugging Face (safetensors) or a Megatron format.
Markers MarkersOf(const plan::Plan& plan);

struct Placement {
  std::string final_path;    // absolute; the directory that appears in one step
  std::string marker_path;   // empty: no marker
  std::string marker_value;  // "1000" or "release": the marker's content without the newline
};

// No iteration, or Markers::kNever: OUT itself. A number n: OUT/iter_%07d and the marker "n". Release: OUT/release and "release". When OUT has
// that name already it is used as it is, and the marker stands in its parent. An OUT named as another iteration is publish.other_iteration.
// Precondition: a number is not negative.
Placement Place(const std::string& out, const plan::TargetIteration& iteration, Markers markers);

// Refuses a target that is an input, lies inside one or holds one, and one that exists (also as an empty directory or a dangling link).
// Places are compared by device and inode of every existing directory above them, so links, "..", and bind mounts do not matter.
// `inputs` are the directories or files that the run reads.
void CheckTarget(const Placement& placement, const std::vector<std::string>& inputs);

// Refuses when less than `needed_bytes` are free where the target will be. Quotas and striping can make the free space wrong both ways, so
// callers offer a way around this check.
void CheckSpace(const Placement& placement, uint64_t needed_bytes);

// True when the finished checkpoint at the target was made from exactly this plan: its ck-plan.json equals `plan_text`. For --if-same skip;
// call UpdateMarker (marker.h) then, since the earlier run may have ended before it.
bool MadeFromSamePlan(const Placement& placement, std::string_view plan_text);

}  // namespace ck::run

#endif  // CK_RUN_PLACEMENT_H_
