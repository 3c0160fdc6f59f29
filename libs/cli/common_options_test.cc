#include "libs/cli/common_options.h"

#include <sched.h>

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/cli/testing/string_streams.h"

namespace ck::cli {
namespace {

Args ParseText(const std::vector<std::string>& arguments) {
  const Command command{
      .tool = "ck-test",
      .options = Concat({{OutputOption({"--merge-output"})}, RunOptions(), TargetOptions(), ViewOptions()})};
  return Parse(command, arguments);
}

std::string UsageErrorOf(const std::vector<std::string>& arguments) {
  try {
    const Args args = ParseText(arguments);
    ReadRunSettings(args);
    ReadTargetSettings(args);
    ReadView(args, StringStreams());
  } catch (const Error& error) {
    return error.id() + ": " + error.message();
  }
  return "no error";
}

TEST(CommonOptions, Defaults) {
  const Args args = ParseText({});
  const RunSettings run = ReadRunSettings(args);
  EXPECT_EQ(run.dry_run, DryRun::kNo);
  EXPECT_EQ(run.threads, AvailableThreads());
  EXPECT_EQ(run.progress, ProgressMode::kAuto);
  EXPECT_EQ(run.report, std::nullopt);
  EXPECT_EQ(run.fsync, Fsync::kYes);
  const TargetSettings target = ReadTargetSettings(args);
  EXPECT_EQ(target.iteration, std::nullopt);
  EXPECT_FALSE(target.release);
  EXPECT_EQ(target.marker, Marker::kNeverLower);
}

TEST(CommonOptions, Given) {
  const RunSettings run =
      ReadRunSettings(ParseText({"-n", "-j", "3", "--progress=always", "--report", "R", "--no-fsync"}));
  EXPECT_EQ(run.dry_run, DryRun::kYes);
  EXPECT_EQ(run.threads, 3u);
  EXPECT_EQ(run.progress, ProgressMode::kAlways);
  EXPECT_EQ(run.report, "R");
  EXPECT_EQ(run.fsync, Fsync::kNo);
  EXPECT_EQ(ReadRunSettings(ParseText({"-q"})).progress, ProgressMode::kNever);
  EXPECT_EQ(ReadTargetSettings(ParseText({"--output-iteration", "0"})).iteration, 0u);
  EXPECT_TRUE(ReadTargetSettings(ParseText({"--release"})).release);
  EXPECT_EQ(ReadTargetSettings(ParseText({"--force-marker"})).marker, Marker::kForce);
}

TEST(CommonOptions, Refused) {
  EXPECT_EQ(UsageErrorOf({"-j", "0"}), "usage.bad_value: value of -j is 0, expected 1 to 4096");
  EXPECT_EQ(UsageErrorOf({"--threads", "4097"}), "usage.bad_value: value of --threads is 4097, expected 1 to 4096");
  EXPECT_EQ(UsageErrorOf({"--iteration", "-1"}),
            "usage.bad_value: value of --iteration is '-1', expected an integer of 0 or more");
  EXPECT_EQ(UsageErrorOf({"--output-iteration", "5", "--release"}),
            "usage.conflict: options --output-iteration and --release contradict each other");
  EXPECT_EQ(UsageErrorOf({"--json", "--table"}), "usage.conflict: options --json and --table contradict each other");
}

TEST(CommonOptions, ATerminalShowsATable) {
  StringStreams pipe, terminal;
  terminal.output_is_terminal = true;
  EXPECT_EQ(ReadView(ParseText({}), pipe), View::kJson);
  EXPECT_EQ(ReadView(ParseText({}), terminal), View::kTable);
  EXPECT_EQ(ReadView(ParseText({"--table"}), pipe), View::kTable);
  EXPECT_EQ(ReadView(ParseText({"--json"}), terminal), View::kJson);
}

TEST(CommonOptions, ThreadsFollowTheAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(AvailableThreads(), static_cast<unsigned>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(AvailableThreads(), 1u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace ck::cli
