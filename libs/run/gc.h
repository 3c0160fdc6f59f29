// Removes what killed runs left behind.
#ifndef CK_RUN_GC_H_
#define CK_RUN_GC_H_

#include <string>
#include <vector>

namespace ck::run {

struct GcItem {
  std::string path;
  std::string reason;  // one line, for people
};

struct GcReport {
  std::vector<GcItem> removed;
  std::vector<GcItem> kept;
};

// Looks through `root` and every directory below it (links are not followed) for hidden names of unfinished outputs (hidden_name.h) and
// removes those whose owner is certainly gone. Kept and reported: what belongs to a live process, to another host or PID namespace, staged
// checkpoints, and what cannot be read or removed. Nothing but such names is ever touched. Throws only when `root` itself cannot be read.
GcReport Gc(const std::string& root);

}  // namespace ck::run

#endif  // CK_RUN_GC_H_
