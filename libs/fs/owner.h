// Names a process so that another one, also on another machine, can tell whether it is gone.
//
// A process number alone is reused, and means nothing outside its host and PID namespace; the start time, the boot and the namespace
// make it unique. "Gone" is said only when it is certain: a live owner must never lose what it writes.
#ifndef CK_FS_OWNER_H_
#define CK_FS_OWNER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ck::fs {

struct Process {
  std::string host;          // node name; bytes other than letters, digits, '.', '_', '-' are '_'
  uint64_t pid = 0;
  uint64_t start_ticks = 0;  // clock ticks after boot (field 22 of /proc/PID/stat)
  std::string started;       // for people: UTC, "20260131T235959Z"
  std::string pid_space;     // inode of the PID namespace
  std::string boot;          // 12 hex digits of the boot id
  std::string machine;       // 12 hex digits of a hash of the machine id; "none" where there is none
  bool operator==(const Process&) const = default;
};

Process ThisProcess();

enum class Liveness {
  kAlive,
  kGone,     // certainly: no such process, another one under its number, a zombie, or its machine has booted since
  kUnknown,  // another host, another PID namespace, or no way to tell
};
Liveness LivenessOf(const Process& process);

// "pid 123 on node7, started 2026-01-31T23:59:59Z".
std::string Describe(const Process& process);

// As a file name, under 200 bytes: no '/', no control bytes. Decoding gives nullopt for anything else.
std::string EncodeProcess(const Process& process);
std::optional<Process> DecodeProcess(std::string_view text);

}  // namespace ck::fs

#endif  // CK_FS_OWNER_H_
