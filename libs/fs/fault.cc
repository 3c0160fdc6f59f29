#include "libs/fs/fault.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>

#include <unistd.h>

#include <atomic>

#include "libs/base/text.h"

namespace ck::fs {
namespace {

constexpr int kKill = -1;  // in place of an errno: the process ends by SIGKILL

constexpr const char* kNames[kOperationCount] = {"open",  "read",  "stat",   "list",  "create", "allocate", "write",
                                                 "fsync", "close", "rename", "mkdir", "unlink", "link"};

constexpr struct {
  const char* name;
  int value;
} kErrors[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG},   {"ESTALE", ESTALE}, {"ENOENT", ENOENT},
    {"EACCES", EACCES}, {"EPERM", EPERM},   {"EEXIST", EEXIST}, {"EINVAL", EINVAL}, {"EROFS", EROFS},   {"kill", kKill},
};

std::atomic<uint64_t> counts[kOperationCount];
std::atomic<bool> armed{false};

struct Plan {
  Operation operation = Operation::kOpen;
  uint64_t remaining = 0;  // operations of this kind until the fault; 0 once it has happened
  int error_number = 0;
};

std::mutex plan_mutex;
Plan plan;

void Arm(Operation operation, uint64_t nth, int error_number) {
  const std::lock_guard<std::mutex> lock(plan_mutex);
  plan = {operation, nth, error_number};
  armed.store(true, std::memory_order_release);
}

std::optional<Plan> ParsePlan(std::string_view text) {
  const auto parts = Split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  Plan parsed;
  bool named = false;
  for (int i = 0; i < kOperationCount; ++i) {
    if (parts[0] != kNames[i]) continue;
    parsed.operation = static_cast<Operation>(i);
    named = true;
  }
  const auto nth = ParseUint64(parts[1]);
  for (const auto& error : kErrors) {
    if (parts[2] == error.name) parsed.error_number = error.value;
  }
  if (!named || !nth || *nth == 0 || parsed.error_number == 0) return std::nullopt;
  parsed.remaining = *nth;
  return parsed;
}

// Runs before main, so that the first operation of the process is counted against the plan.
[[maybe_unused]] const bool read_environment = [] {
  const char* text = std::getenv("CK_FAULT");
  if (text == nullptr || *text == '\0') return false;
  const auto parsed = ParsePlan(text);
  if (!parsed) {
    std::fprintf(stderr, "CK_FAULT=%s: expected OPERATION:NUMBER:ERRNO\n", text);
    std::abort();
  }
  Arm(parsed->operation, parsed->remaining, parsed->error_number);
  return true;
}();

}  // namespace

const char* OperationName(Operation operation) { return kNames[static_cast<int>(operation)]; }

int InjectedFault(Operation operation) {
  counts[static_cast<int>(operation)].fetch_add(1, std::memory_order_relaxed);
  if (!armed.load(std::memory_order_relaxed)) return 0;
  const std::lock_guard<std::mutex> lock(plan_mutex);
  if (plan.operation != operation || plan.remaining == 0 || --plan.remaining > 0) return 0;
  if (plan.error_number == kKill) kill(getpid(), SIGKILL);
  return plan.error_number;
}

ScopedFault::ScopedFault(Operation operation, int nth, int error_number) {
  Arm(operation, static_cast<uint64_t>(nth), error_number);
}

ScopedFault::~ScopedFault() {
  const std::lock_guard<std::mutex> lock(plan_mutex);
  plan = {};
  armed.store(false, std::memory_order_release);
}

uint64_t OperationCount(Operation operation) {
  return counts[static_cast<int>(operation)].load(std::memory_order_relaxed);
}

}  // namespace ck::fs
