// How far a long run is: bytes, rate and time left, on stderr.
//
// A terminal gets one line that is rewritten; --progress=always without a terminal gets a line now and then.
// Threads. Add may be called from any thread and costs one relaxed atomic addition. A thread of its own draws.
#ifndef CK_CLI_PROGRESS_H_
#define CK_CLI_PROGRESS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "libs/cli/streams.h"

namespace ck::cli {

enum class ProgressMode { kAuto, kAlways, kNever };

class Progress {
 public:
  // `label` says what is done ("merging"); `total_bytes` 0 when it is not known.
  Progress(Streams& streams, ProgressMode mode, std::string label, uint64_t total_bytes);
  // Stops the thread and removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Add(uint64_t bytes) { done_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t done_bytes() const { return done_bytes_.load(std::memory_order_relaxed); }

 private:
  void Draw();

  Streams& streams_;
  const std::string label_;
  const uint64_t total_bytes_;
  const bool terminal_;
  std::atomic<uint64_t> done_bytes_{0};
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  std::thread thread_;
};

// "merging  1.50 GiB of 6.00 GiB  25%  512 MiB/s  9 s left". `rate` in bytes per second; 0: not known yet.
std::string ProgressLine(std::string_view label, uint64_t done_bytes, uint64_t total_bytes, double rate);

// "9 s", "3 min 05 s", "2 h 07 min".
std::string FormatSeconds(uint64_t seconds);

}  // namespace ck::cli

#endif  // CK_CLI_PROGRESS_H_
