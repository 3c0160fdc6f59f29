#include "libs/run/signals.h"

#include <atomic>
#include <csignal>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::run {
namespace {

std::atomic<int> stop_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use it");

void OnStop(int signal_number) {
  int none = 0;
  stop_signal.compare_exchange_strong(none, signal_number);
}

const char* SignalName(int signal_number) {
  switch (signal_number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "SIGHUP";
  }
}

}  // namespace

void InstallSignalHandlers() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old = {};
    sigaction(signal_number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = OnStop;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, nullptr);
  }
}

int StopSignal() { return stop_signal.load(std::memory_order_relaxed); }

void ThrowIfStopped() {
  if (const int signal_number = StopSignal()) {
    throw Error(static_cast<Code>(128 + signal_number), "run.interrupted",
                Cat("stopped by ", SignalName(signal_number), "; nothing was published"));
  }
}

}  // namespace ck::run
