// Fault injection: makes one file operation fail, so that tests can construct any failure.
//
// A plan comes from ScopedFault in a unit test, or from the environment variable CK_FAULT in a process test, e.g.
// "rename:2:EIO" (the second rename fails with EIO), "fsync:1:kill" (the process kills itself with SIGKILL before the first fsync),
// "write:3:ENOSPC". With no plan the cost is one relaxed atomic load.
#ifndef CK_FS_FAULT_H_
#define CK_FS_FAULT_H_

#include <cstdint>
#include <string>

namespace ck::fs {

enum class Operation { kOpen, kRead, kStat, kList, kCreate, kAllocate, kWrite, kFsync, kClose, kRename, kMkdir, kUnlink, kLink };

// Called before each system call. Returns 0, or the errno that the operation must report instead of running.
int InjectedFault(Operation operation);

class ScopedFault {
 public:
  // Fails the `nth` (from 1) operation of this kind from now on, once, with `error_number`.
  ScopedFault(Operation operation, int nth, int error_number);
  ~ScopedFault();
};

// How many operations of each kind ran so far: lets a crash test enumerate every step of a protocol.
uint64_t OperationCount(Operation operation);

}  // namespace ck::fs

#endif  // CK_FS_FAULT_H_
