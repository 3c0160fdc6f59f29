#include "libs/run/hidden_name.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "libs/checkpoint/discover.h"
#include "libs/fs/test_directory.h"

namespace ck::run {
namespace {

using Kind = HiddenName::Kind;

constexpr Kind kKinds[] = {Kind::kClaim, Kind::kStaging, Kind::kStaged, Kind::kNewClaim, Kind::kTrash};

TEST(HiddenName, FormattingAndParsingAgree) {
  for (const std::string name : {"iter_0000010", "x", "a.ck-b", ".hidden"}) {
    for (const Kind kind : kKinds) {
      const HiddenName hidden{name, kind, kind == Kind::kClaim ? "" : NewId()};
      const auto parsed = ParseHiddenName(FormatHiddenName(hidden));
      ASSERT_TRUE(parsed) << FormatHiddenName(hidden);
      EXPECT_EQ(parsed->name, name);
      EXPECT_EQ(parsed->kind, kind);
      EXPECT_EQ(parsed->id, hidden.id);
      EXPECT_LE(FormatHiddenName(hidden).size(), name.size() + kHiddenNameOverhead);
    }
  }
}

// Discovery may not depend on this library, so it knows the names by itself. Both must agree on every one of them.
TEST(HiddenName, DiscoveryShowsWhatHoldsACheckpointAndNothingElse) {
  const fs::TestDirectory directory;
  for (const Kind kind : kKinds) {
    const std::string name = FormatHiddenName({"iter_0000010", kind, kind == Kind::kClaim ? "" : NewId()});
    const bool holds_one = kind != Kind::kClaim && kind != Kind::kNewClaim;
    const std::string root = directory / std::to_string(static_cast<int>(kind));
    std::filesystem::create_directories(root + "/" + name);
    const auto listing = checkpoint::ListRoot(root, checkpoint::Depth::kNames);
    ASSERT_EQ(listing.checkpoints.size(), holds_one ? 1u : 0u) << name;
    EXPECT_TRUE(listing.strays.empty()) << name;
    if (!holds_one) continue;
    EXPECT_EQ(listing.checkpoints[0].state, checkpoint::State::kStaging) << name;
    EXPECT_EQ(listing.checkpoints[0].iteration.number, 10u) << name;
  }
  for (const std::string name :
       {".x.ck-", ".x.ck-0123456789a", ".x.ck-0123456789ag", ".ck-0123456789ab", ".x.ck-other-0123456789ab"}) {
    EXPECT_FALSE(ParseHiddenName(name)) << name;
    std::filesystem::create_directories(directory / ("others/" + name));
  }
  EXPECT_TRUE(checkpoint::ListRoot(directory / "others", checkpoint::Depth::kNames).checkpoints.empty());
}

}  // namespace
}  // namespace ck::run
