// Fault injection: makes one file operation fail, so that tests can construct any failure.
//
// A plan comes from ScopedFault in a unit test, or from the environment variable CK_FAULT in a process test, e.g.
// "rename:2:EIO" (the second rename fails with EIO), "fsync:1:kill" (the process kills itself with SIGKILL before the first fsync),
// "write:3:ENOSPC". A CK_FAULT that cannot be read aborts the process: a crash test must not pass because of a misspelt plan.
// With no plan the cost is two relaxed atomic operations per system call.
#ifndef CK_FS_FAULT_H_
#define CK_FS_FAULT_H_

#include <cstdint>

namespace ck::fs {

enum class Operation { kOpen, kRead, kStat, kList, kCreate, kAllocate, kWrite, kFsync, kClose, kRename, kMkdir, kUnlink, kLink };

inline constexpr int kOperationCount = 13;

// The name used in CK_FAULT: "open", "read", ..., "link".
const char* OperationName(Operation operation);

// Called before each system call. Returns 0, or the errno that the operation must report instead of running.
int InjectedFault(Operation operation);

// One plan at a time: the newest ScopedFault replaces any other, its end removes it.
class ScopedFault {
 public:
  // Fails the `nth` (from 1) operation of this kind from now on, once, with `error_number`.
  ScopedFault(Operation operation, int nth, int error_number);
  ~ScopedFault();
  ScopedFault(const ScopedFault&) = delete;
  ScopedFault& operator=(const ScopedFault&) = delete;
};

// How many operations of each kind ran so far: lets a crash test enumerate every step of a protocol.
uint64_t OperationCount(Operation operation);

}  // namespace ck::fs

#endif  // CK_FS_FAULT_H_
