#include "libs/cli/progress.h"

#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "libs/cli/testing/string_streams.h"

namespace ck::cli {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(Progress, Line) {
  EXPECT_EQ(ProgressLine("merging", kGiB, 4 * kGiB, 512.0 * 1024 * 1024),
            "merging  1.00 GiB of 4.00 GiB  25%  512 MiB/s  6 s left");
  EXPECT_EQ(ProgressLine("merging", 0, 4 * kGiB, 0), "merging  0 B of 4.00 GiB  0%");
  EXPECT_EQ(ProgressLine("merging", kGiB, 0, 1024), "merging  1.00 GiB  1.00 KiB/s");
  EXPECT_EQ(ProgressLine("merging", 4 * kGiB, 4 * kGiB, 1024), "merging  4.00 GiB of 4.00 GiB  100%  1.00 KiB/s");
  EXPECT_EQ(ProgressLine("merging", 0, UINT64_MAX, 1), "merging  0 B of 16.0 EiB  0%  1 B/s");
}

TEST(Progress, Seconds) {
  EXPECT_EQ(FormatSeconds(59), "59 s");
  EXPECT_EQ(FormatSeconds(185), "3 min 05 s");
  EXPECT_EQ(FormatSeconds(7620), "2 h 07 min");
}

TEST(Progress, NothingWithoutATerminal) {
  for (const ProgressMode mode : {ProgressMode::kAuto, ProgressMode::kNever}) {
    StringStreams streams;
    streams.error_is_terminal = mode == ProgressMode::kNever;
    { Progress progress(streams, mode, "merging", 100); }
    EXPECT_EQ(streams.error, "");
  }
}

TEST(Progress, CountsFromManyThreads) {
  StringStreams streams;
  streams.error_is_terminal = true;
  Progress progress(streams, ProgressMode::kAuto, "merging", 4000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) progress.Add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(progress.done_bytes(), 4000u);
}

// A terminal that lets a test wait for the first text.
class WaitingTerminal : public StringStreams {
 public:
  WaitingTerminal() { error_is_terminal = true; }
  void WaitForText() { written_.get_future().wait(); }

 protected:
  void WriteError(std::string_view text) override {
    StringStreams::WriteError(text);
    if (!signalled_) written_.set_value();
    signalled_ = true;
  }

 private:
  std::promise<void> written_;
  bool signalled_ = false;
};

TEST(Progress, TheLineIsShownAndRemoved) {
  WaitingTerminal streams;
  {
    Progress progress(streams, ProgressMode::kAuto, "merging", 100);
    streams.WaitForText();
  }
  EXPECT_EQ(streams.error.find("\r\x1b[Kmerging  0 B of 100 B  0%"), 0u) << streams.error;
  EXPECT_EQ(streams.error.substr(streams.error.size() - 4), "\r\x1b[K");
}

}  // namespace
}  // namespace ck::cli
