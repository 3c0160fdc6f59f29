#include "libs/fs/owner.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "libs/base/text.h"

namespace ck::fs {
namespace {

constexpr size_t kIdDigits = 12;  // 48 bits: two boots of one host never meet
constexpr size_t kMaxHost = 64;   // HOST_NAME_MAX of Linux
constexpr const char* kNone = "none";

// A file under /proc or /etc: its size says nothing, so it is read to its end. "" when it cannot be read.
std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool IsNameText(std::string_view text) {
  for (const char c : text) {
    if (!IsNameByte(c)) return false;
  }
  return !text.empty();
}

std::string HostName() {
  struct utsname names;
  if (uname(&names) != 0) return kNone;
  std::string host = std::string(names.nodename).substr(0, kMaxHost);
  for (char& c : host) {
    if (!IsNameByte(c)) c = '_';
  }
  return host.empty() ? kNone : host;
}

std::string BootId() {
  std::string digits;
  for (const char c : ReadText("/proc/sys/kernel/random/boot_id")) {
    if (IsNameByte(c) && c != '-' && digits.size() < kIdDigits) digits += c;
  }
  return digits.empty() ? kNone : digits;
}

// machine-id(5) asks that the id itself is not shown around, so this is an FNV-1a hash of it.
std::string MachineHash() {
  const std::string text = ReadText("/etc/machine-id");
  const std::string_view id = Trim(text);
  if (id.size() < 32) return kNone;  // "uninitialized" or empty
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : id) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  std::string digits;
  for (size_t i = 0; i < kIdDigits; ++i, hash >>= 4) digits += "0123456789abcdef"[hash & 15];
  return digits;
}

std::string PidSpace() {
  struct stat status;
  return stat("/proc/self/ns/pid", &status) == 0 ? Cat(status.st_ino) : std::string(kNone);
}

struct ProcStat {
  char state;
  uint64_t start_ticks;
};

// The two fields of /proc/PID/stat that matter. The second field is the program's name in parentheses and may hold anything, so the
// fields are counted from the last ')'.
std::optional<ProcStat> ReadProcStat(const std::string& pid) {
  const std::string text = ReadText(Cat("/proc/", pid, "/stat"));
  const size_t close = text.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  const auto fields = Split(Trim(std::string_view(text).substr(close + 1)), ' ');
  constexpr size_t kState = 0, kStart = 19;  // fields 3 and 22 of proc(5)
  if (fields.size() <= kStart || fields[kState].empty()) return std::nullopt;
  const auto ticks = ParseUint64(fields[kStart]);
  if (!ticks) return std::nullopt;
  return ProcStat{fields[kState][0], *ticks};
}

std::string StartText(uint64_t start_ticks) {
  struct timespec now, since_boot;
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const auto started_after_boot = static_cast<time_t>(start_ticks / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
  const time_t started = start_ticks == 0 ? now.tv_sec : now.tv_sec - since_boot.tv_sec + started_after_boot;
  struct tm parts;
  char text[32];
  gmtime_r(&started, &parts);
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

}  // namespace

Process ThisProcess() {
  Process process;
  process.host = HostName();
  process.pid = static_cast<uint64_t>(getpid());
  const auto stat = ReadProcStat("self");
  process.start_ticks = stat ? stat->start_ticks : 0;
  process.started = StartText(process.start_ticks);
  process.pid_space = PidSpace();
  process.boot = BootId();
  process.machine = MachineHash();
  return process;
}

Liveness LivenessOf(const Process& process) {
  static const Process self = ThisProcess();
  if (process.host != self.host || process.boot == kNone || self.boot == kNone) return Liveness::kUnknown;
  if (process.boot != self.boot) {
    // Another boot of this machine, or another machine that was given the same name.
    const bool same_machine = self.machine != kNone && process.machine == self.machine;
    return same_machine ? Liveness::kGone : Liveness::kUnknown;
  }
  if (process.pid_space != self.pid_space || self.pid_space == kNone) return Liveness::kUnknown;
  if (kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return Liveness::kGone;
  const auto stat = ReadProcStat(Cat(process.pid));
  if (!stat) return Liveness::kAlive;  // hidden from us (hidepid), but the number is in use
  const bool dead = stat->state == 'Z' || stat->state == 'X';
  const bool other = process.start_ticks != 0 && stat->start_ticks != process.start_ticks;
  return dead || other ? Liveness::kGone : Liveness::kAlive;
}

std::string Describe(const Process& process) {
  std::string started = process.started;  // 20260131T235959Z
  if (started.size() == 16) {
    for (const size_t at : {13u, 11u}) started.insert(at, ":");
    for (const size_t at : {6u, 4u}) started.insert(at, "-");
  }
  return Cat("pid ", process.pid, " on ", process.host, ", started ", started);
}

std::string EncodeProcess(const Process& process) {
  return Cat(process.host, ",", process.pid, ",", process.started, ",", process.start_ticks, ",", process.pid_space, ",", process.boot,
             ",", process.machine);
}

std::optional<Process> DecodeProcess(std::string_view text) {
  const auto fields = Split(text, ',');
  if (fields.size() != 7) return std::nullopt;
  for (const std::string& field : fields) {
    if (!IsNameText(field) || field.size() > kMaxHost) return std::nullopt;
  }
  const auto pid = ParseUint64(fields[1]);
  const auto ticks = ParseUint64(fields[3]);
  constexpr uint64_t kMaxPid = uint64_t{1} << 30;  // kill() gives 0 and negative numbers another meaning
  if (!pid || *pid == 0 || *pid > kMaxPid || !ticks) return std::nullopt;
  return Process{fields[0], *pid, *ticks, fields[2], fields[4], fields[5], fields[6]};
}

}  // namespace ck::fs
