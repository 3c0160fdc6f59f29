#include "libs/run/marker.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/fault.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"

namespace ck::run {
namespace {

using fs::ReadAll;
using fs::TestDirectory;
using Outcome = MarkerChange::Outcome;

// A root with the checkpoint published that the marker is to name.
struct Root {
  explicit Root(const std::string& value) {
    plan::TargetIteration iteration = plan::Release{};
    if (const auto number = ParseInt64(value)) iteration = *number;
    placement = Place(dir.path(), iteration, Markers::kAllowed);
    std::filesystem::create_directory(placement.final_path);
  }
  MarkerChange Update(MarkerPolicy policy = MarkerPolicy::kNeverLower) const {
    return UpdateMarker(placement, policy, fs::Durability::kSync);
  }
  TestDirectory dir;
  Placement placement;
};

TEST(Marker, NeverGoesBackWithoutForce) {
  const struct {
    const char* before;  // nullptr: no marker
    const char* value;
    Outcome outcome;
  } kCases[] = {
      {nullptr, "1000", Outcome::kWritten},  {nullptr, "0", Outcome::kWritten},      {nullptr, "release", Outcome::kWritten},
      {"900", "1000", Outcome::kWritten},    {"900\n", "1000", Outcome::kWritten},   {" 0000900\r\n", "1000", Outcome::kWritten},
      {"release", "1000", Outcome::kWritten}, {"999", "1000", Outcome::kWritten},    {"1000", "1000", Outcome::kAlready},
      {"0001000\n", "1000", Outcome::kAlready}, {"release\n", "release", Outcome::kAlready},
      {"1001", "1000", Outcome::kKept},      {"10000", "9999", Outcome::kKept},      {"5", "release", Outcome::kKept},
      {"", "1000", Outcome::kKept},          {"-1", "1000", Outcome::kKept},         {"10.0", "1000", Outcome::kKept},
      {"\xef\xbb\xbf""10", "1000", Outcome::kKept}, {"+5", "1000", Outcome::kKept},  {"99999999999999999999", "1000", Outcome::kKept},
      {"Release", "1000", Outcome::kKept},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.before == nullptr ? "(none)" : c.before) + " -> " + c.value);
    const Root root(c.value);
    if (c.before != nullptr) root.dir.Write(kMarkerFile, c.before);
    const MarkerChange change = root.Update();
    EXPECT_EQ(change.outcome, c.outcome);
    EXPECT_EQ(change.warning.empty(), c.outcome != Outcome::kKept) << change.warning;
    EXPECT_EQ(change.warning.find('\n'), std::string::npos);
    const std::string written = std::string(c.value) + "\n";
    EXPECT_EQ(ReadAll(root.placement.marker_path), c.outcome == Outcome::kWritten ? written : c.before);
    if (c.outcome == Outcome::kKept) {
      EXPECT_EQ(root.Update(MarkerPolicy::kForce).outcome, Outcome::kWritten);
      EXPECT_EQ(ReadAll(root.placement.marker_path), written);
    }
  }
}

TEST(Marker, AHugeMarkerIsNotReadAndNotReplaced) {
  const Root root("1000");
  root.dir.Write(kMarkerFile, std::string(1 << 20, '9'));
  const MarkerChange change = root.Update();
  EXPECT_EQ(change.outcome, Outcome::kKept);
  EXPECT_LT(change.warning.size(), 500u);
}

TEST(Marker, NamesOnlyWhatIsThere) {
  const Root root("1000");
  std::filesystem::remove(root.placement.final_path);
  try {
    root.Update();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "publish.not_published");
  }
  EXPECT_FALSE(fs::NameTaken(root.placement.marker_path));
}

TEST(Marker, PlacementsWithoutMarkerHaveNone) {
  const TestDirectory dir;
  EXPECT_EQ(UpdateMarker(Place(dir / "out", {}, Markers::kAllowed), MarkerPolicy::kForce, fs::Durability::kSync).outcome, Outcome::kNone);
}

TEST(Marker, KeepsItsMode) {
  const Root root("1000");
  ASSERT_EQ(chmod(root.dir.Write(kMarkerFile, "900").c_str(), 0640), 0);
  const mode_t old_mask = umask(022);
  root.Update();
  EXPECT_EQ(fs::Stat(root.placement.marker_path)->mode, 0640u);
  std::filesystem::remove(root.placement.marker_path);
  root.Update();
  EXPECT_EQ(fs::Stat(root.placement.marker_path)->mode, 0644u);
  umask(old_mask);
}

TEST(Marker, AFailureLeavesTheOldOne) {
  const fs::Operation kOperations[] = {fs::Operation::kCreate, fs::Operation::kWrite, fs::Operation::kFsync, fs::Operation::kClose,
                                       fs::Operation::kRename};
  for (const fs::Operation operation : kOperations) {
    for (int nth = 1; nth <= 2; ++nth) {  // the claim has a file and a rename of its own
      const Root root("1000");
      root.dir.Write(kMarkerFile, "900");
      bool failed = false;
      {
        const fs::ScopedFault fault(operation, nth, EIO);
        try {
          root.Update();
        } catch (const Error&) {
          failed = true;
        }
      }
      const std::string value = ReadAll(root.placement.marker_path);
      // The fsync of the directory comes after the rename.
      EXPECT_TRUE(value == "900" || (value == "1000\n" && (!failed || operation == fs::Operation::kFsync))) << value;
      std::vector<std::string> names;
      for (const fs::Name& name : fs::ListNames(root.dir.path())) names.push_back(name.name);
      EXPECT_EQ(names, (std::vector<std::string>{"iter_0001000", kMarkerFile}));
    }
  }
}

TEST(Marker, RacingUpdatesEndAtTheHighest) {
  const TestDirectory dir;
  std::vector<std::thread> threads;
  for (int64_t i = 1; i <= 8; ++i) {
    threads.emplace_back([&dir, i] {
      const Placement placement = Place(dir.path(), i, Markers::kAllowed);
      std::filesystem::create_directory(placement.final_path);
      UpdateMarker(placement, MarkerPolicy::kNeverLower, fs::Durability::kNoSync);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ReadAll(dir / kMarkerFile), "8\n");
}

}  // namespace
}  // namespace ck::run
