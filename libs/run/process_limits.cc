#include "libs/run/process_limits.h"

#include <sys/resource.h>

namespace ck::run {

void RaiseOpenFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // a failure shows as fs.read_failed, with the reason, if it matters
}

}  // namespace ck::run
