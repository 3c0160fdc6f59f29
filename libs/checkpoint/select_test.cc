#include "libs/checkpoint/select.h"

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::checkpoint {
namespace {

Found Entry(const std::string& name, State state = State::kComplete) {
  Found found{.name = name, .path = "/run/" + name};
  found.iteration = IterationFromName(name);
  found.state = state;
  found.reason = state == State::kComplete ? "" : "a reason";
  return found;
}

Listing Root(std::vector<Found> checkpoints, std::optional<uint64_t> marker = {}) {
  Listing listing{.root = "/run"};
  listing.checkpoints = std::move(checkpoints);
  if (marker)
    listing.marker = Marker{.value = Cat(*marker),
                            .iteration = Iteration{.number = marker, .release = false},
                            .state = MarkerState::kCurrent,
                            .problem = ""};
  return listing;
}

Listing Thousands(uint64_t count) {
  std::vector<Found> out;
  for (uint64_t i = 1; i <= count; ++i) out.push_back(Entry(DirectoryName({.number = 1000 * i, .release = false})));
  return Root(std::move(out), 1000 * count);
}

// "1000 2000", or the id of the error.
std::string Picked(const Listing& listing, const Selection& selection) {
  try {
    std::vector<std::string> names;
    for (const Found& found : Select(listing, selection).checkpoints) names.push_back(Text(found.iteration));
    return Join(names, " ");
  } catch (const Error& error) {
    return error.id();
  }
}

TEST(Select, Ranges) {
  struct Case {
    Selection selection;
    const char* picked;
  };
  const Case cases[] = {
      {{}, "1000 2000 3000 4000 5000 6000"},
      {{.start = 2000, .end = 4000}, "2000 3000 4000"},
      {{.start = 1500, .end = 4000}, "2000 3000 4000"},
      {{.start = 4000, .end = 4000}, "4000"},
      {{.end = 3000}, "1000 2000 3000"},
      {{.start = 1000, .end = 5000, .min_interval = 1000}, "1000 2000 3000 4000 5000"},
      {{.start = 1000, .end = 5000, .min_interval = 1001}, "1000 3000 5000"},
      {{.start = 1000, .end = 5000, .min_interval = 3000}, "2000 5000"},
      {{.start = 1000, .end = 5000, .min_interval = 100000}, "5000"},
      {{.start = 1000, .end = 5000, .min_interval = 0}, "1000 2000 3000 4000 5000"},
      {{.start = 1000, .end = 5000, .min_interval = -5}, "1000 2000 3000 4000 5000"},
      {{.min_interval = 2500}, "3000 6000"},
      {{.latest = true}, "6000"},
      {{.start = 4500, .latest = true}, "5000 6000"},
      {{.start = 1000, .end = 3000, .min_checkpoints = 3}, "1000 2000 3000"},
      {{.start = 1000, .end = 3000, .min_checkpoints = 4}, "select.too_few"},
      {{.start = 1000, .end = 3000, .min_interval = 2000, .min_checkpoints = 3}, "select.too_few"},
      {{.min_checkpoints = 7}, "select.too_few"},
      {{.start = 1000, .end = 3500}, "select.no_target"},
      {{.end = 999}, "select.no_target"},
      {{.start = 3000, .end = 2000}, "select.start_after_end"},
      {{.start = 7000, .latest = true}, "select.start_after_latest"},
      {{.start = 3000}, "select.start_without_end"},
      {{.end = 3000, .latest = true}, "select.conflict"},
  };
  const Listing listing = Thousands(6);
  for (const Case& c : cases) {
    EXPECT_EQ(Picked(listing, c.selection), c.picked)
        << c.selection.start.value_or(0) << " " << c.selection.end.value_or(0) << " " << c.selection.min_interval;
  }
}

TEST(Select, TargetIsThatOfAnExplicitSelection) {
  const Listing listing = Thousands(3);
  EXPECT_FALSE(Select(listing, {}).target);
  EXPECT_FALSE(Select(listing, {.min_interval = 1000}).target);
  EXPECT_EQ(Select(listing, {.end = 2000}).target->number, 2000u);
  EXPECT_EQ(Select(listing, {.latest = true}).target->number, 3000u);
}

TEST(Select, IncompleteOnes) {
  Listing listing = Thousands(5);
  listing.checkpoints[2].state = State::kIncomplete;
  listing.checkpoints[2].reason = "no .metadata";
  listing.checkpoints.push_back(Entry("iter_0006000", State::kIncomplete));
  const Selection range{.start = 1000, .end = 5000};
  const Selection skipping{.start = 1000, .end = 5000, .incomplete = Incomplete::kSkip};
  EXPECT_EQ(Picked(listing, range), "checkpoint.incomplete");
  EXPECT_EQ(Picked(listing, skipping), "1000 2000 4000 5000");
  // The walk starts over among those that are left.
  EXPECT_EQ(Picked(listing, {.start = 1000, .end = 5000, .min_interval = 2000, .incomplete = Incomplete::kSkip}),
            "2000 5000");
  const Selected skipped = Select(listing, skipping);
  ASSERT_EQ(skipped.left_out.size(), 1u);
  EXPECT_EQ(skipped.left_out[0].name, "iter_0003000");
  EXPECT_EQ(skipped.left_out[0].reason, "no .metadata");
  // One that the interval leaves out anyway stops nothing.
  EXPECT_EQ(Picked(listing, {.start = 1000, .end = 5000, .min_interval = 4000}), "1000 5000");
  // The target must be complete, also when others may be skipped.
  EXPECT_EQ(Picked(listing, {.end = 6000}), "checkpoint.incomplete");
  EXPECT_EQ(Picked(listing, {.end = 6000, .incomplete = Incomplete::kSkip}), "checkpoint.incomplete");
  // Without a selection a running job's newest directory is left out, and named.
  EXPECT_EQ(Picked(listing, {}), "1000 2000 4000 5000");
  EXPECT_EQ(Select(listing, {}).left_out.size(), 2u);
}

TEST(Select, EveryUnusableOneIsNamed) {
  Listing listing = Thousands(4);
  listing.checkpoints[0].state = State::kDamaged;
  listing.checkpoints[1].state = State::kIncomplete;
  try {
    Select(listing, {.start = 1000, .end = 4000});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("iter_0001000"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("iter_0002000"), std::string::npos) << error.message();
  }
  listing.checkpoints[1].state = State::kComplete;
  EXPECT_EQ(Picked(listing, {.start = 1000, .end = 4000}), "checkpoint.unusable");
}

TEST(Select, TwoNamesOfOneIterationAreRefusedWhereTheyMatter) {
  const Listing listing =
      Root({Entry("iter_0000090"), Entry("iter_0000100"), Entry("iter_100"), Entry("iter_0000110")});
  EXPECT_EQ(Picked(listing, {.start = 90, .end = 100}), "checkpoint.duplicate_iteration");
  EXPECT_EQ(Picked(listing, {.start = 90, .end = 110}), "checkpoint.duplicate_iteration");
  EXPECT_EQ(Picked(listing, {}), "checkpoint.duplicate_iteration");
  EXPECT_EQ(Picked(listing, {.start = 101, .end = 110}), "110");
}

TEST(Select, ReleaseIsNoIteration) {
  const Listing both = Root({Entry("release"), Entry("iter_0000090"), Entry("iter_0000100")});
  EXPECT_EQ(Picked(both, {}), "90 100");
  EXPECT_EQ(Select(both, {}).left_out[0].name, "release");
  EXPECT_EQ(Picked(both, {.end = 100}), "90 100");
  Listing alone = Root({Entry("release")});
  EXPECT_EQ(Picked(alone, {}), "release");
  EXPECT_EQ(Picked(alone, {.latest = true}), "release");
  EXPECT_TRUE(Select(alone, {.latest = true}).target->release);
  EXPECT_EQ(Picked(alone, {.start = 1, .latest = true}), "select.no_target");
}

TEST(Select, StagingIsNeverSelected) {
  Listing listing = Thousands(2);
  Found staging = Entry("iter_0003000", State::kStaging);
  staging.name = ".iter_0003000.ck-0123456789ab";
  listing.checkpoints.push_back(staging);
  EXPECT_EQ(Picked(listing, {}), "1000 2000");
  EXPECT_TRUE(Select(listing, {}).left_out.empty());
  EXPECT_EQ(Picked(listing, {.end = 3000}), "select.no_target");
}

TEST(Select, AnEmptyRoot) {
  EXPECT_EQ(Picked(Root({}), {}), "");
  EXPECT_EQ(Picked(Root({}), {.latest = true}), "checkpoint.not_found");
  EXPECT_EQ(Picked(Root({}), {.end = 1}), "select.no_target");
  EXPECT_EQ(Picked(Root({}), {.min_checkpoints = 1}), "select.too_few");
}

}  // namespace
}  // namespace ck::checkpoint
