#include "libs/cli/progress.h"

#include <chrono>

#include "libs/base/text.h"

namespace ck::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kTerminalInterval = std::chrono::milliseconds(200);
constexpr auto kLogInterval = std::chrono::seconds(10);
constexpr double kSmoothing = 0.2;                      // weight of the newest interval in the rate shown
constexpr uint64_t kMaxSecondsShown = 100 * 24 * 3600;  // a longer estimate says nothing

std::string TwoDigits(uint64_t value) { return Cat(value < 10 ? "0" : "", value); }

}  // namespace

std::string FormatSeconds(uint64_t seconds) {
  if (seconds < 60) return Cat(seconds, " s");
  if (seconds < 3600) return Cat(seconds / 60, " min ", TwoDigits(seconds % 60), " s");
  return Cat(seconds / 3600, " h ", TwoDigits(seconds / 60 % 60), " min");
}

std::string ProgressLine(std::string_view label, uint64_t done_bytes, uint64_t total_bytes, double rate) {
  std::string line = Cat(label, "  ", FormatBytes(done_bytes));
  if (total_bytes > 0) {
    const double share = static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
    line += Cat(" of ", FormatBytes(total_bytes), "  ", static_cast<uint64_t>(share * 100), "%");
  }
  if (rate < 1) return line;
  line += Cat("  ", FormatBytes(static_cast<uint64_t>(rate)), "/s");
  if (total_bytes > done_bytes) {
    const double seconds = static_cast<double>(total_bytes - done_bytes) / rate + 0.5;
    if (seconds < static_cast<double>(kMaxSecondsShown)) {
      line += Cat("  ", FormatSeconds(static_cast<uint64_t>(seconds)), " left");
    }
  }
  return line;
}

Progress::Progress(Streams& streams, ProgressMode mode, std::string label, uint64_t total_bytes)
    : streams_(streams), label_(std::move(label)), total_bytes_(total_bytes), terminal_(streams.ErrorIsTerminal()) {
  const bool shown = mode == ProgressMode::kAlways || (mode == ProgressMode::kAuto && terminal_);
  if (shown) thread_ = std::thread([this] { Draw(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_signal_.notify_all();
  thread_.join();
  streams_.ClearStatus();
}

void Progress::Draw() {
  const std::chrono::milliseconds interval = terminal_ ? kTerminalInterval : kLogInterval;
  auto last_time = Clock::now();
  uint64_t last_bytes = 0;
  double rate = 0;
  std::unique_lock lock(mutex_);
  while (!stop_signal_.wait_for(lock, interval, [this] { return stopping_; })) {
    const auto now = Clock::now();
    const uint64_t bytes = done_bytes();
    const double seconds = std::chrono::duration<double>(now - last_time).count();
    const double newest = static_cast<double>(bytes - last_bytes) / seconds;
    rate = rate == 0 ? newest : rate + kSmoothing * (newest - rate);
    last_time = now;
    last_bytes = bytes;
    const std::string line = ProgressLine(label_, bytes, total_bytes_, rate);
    if (terminal_) {
      streams_.ShowStatus(line);
    } else {
      streams_.PrintError(Cat(line, '\n'));
    }
  }
}

}  // namespace ck::cli
