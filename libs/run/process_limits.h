// Limits of the process that a run needs raised.
#ifndef CK_RUN_PROCESS_LIMITS_H_
#define CK_RUN_PROCESS_LIMITS_H_

namespace ck::run {

// Allows as many open files as the hard limit does: a run keeps up to checkpoint::kMaxOpenFiles of each input open, and the usual soft limit of 1024 is
// less than 20 inputs can need. Does nothing where that is not allowed.
void RaiseOpenFileLimit();

}  // namespace ck::run

#endif  // CK_RUN_PROCESS_LIMITS_H_
