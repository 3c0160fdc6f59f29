#include "libs/run/placement.h"

#include <filesystem>
#include <functional>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/fs/test_directory.h"
#include "libs/run/hidden_name.h"

namespace ck::run {
namespace {

using fs::TestDirectory;

std::string Fault(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
    return error.id() + " " + std::to_string(static_cast<int>(error.code()));
  }
  return "none";
}

using plan::TargetIteration;

TargetIteration Number(int64_t number) { return number; }
const TargetIteration kNone;
const TargetIteration kRelease = plan::Release{};

TEST(Place, FinalNameAndMarker) {
  const struct {
    const char* out;
    TargetIteration iteration;
    Markers markers;
    const char *final_path, *marker_path, *marker_value;
  } kCases[] = {
      {"/o", kNone, Markers::kAllowed, "/o", "", ""},
      {"/o/", Number(1000), Markers::kAllowed, "/o/iter_0001000", "/o/latest_checkpointed_iteration.txt", "1000"},
      {"/o", Number(0), Markers::kAllowed, "/o/iter_0000000", "/o/latest_checkpointed_iteration.txt", "0"},
      {"/o", Number(12345678), Markers::kAllowed, "/o/iter_12345678", "/o/latest_checkpointed_iteration.txt", "12345678"},
      {"/o", kRelease, Markers::kAllowed, "/o/release", "/o/latest_checkpointed_iteration.txt", "release"},
      {"/o/iter_0001000", Number(1000), Markers::kAllowed, "/o/iter_0001000", "/o/latest_checkpointed_iteration.txt", "1000"},
      {"/o/release/.", kRelease, Markers::kAllowed, "/o/release", "/o/latest_checkpointed_iteration.txt", "release"},
      {"/iter_0000005", Number(5), Markers::kAllowed, "/iter_0000005", "/latest_checkpointed_iteration.txt", "5"},
      // No iteration, or a format without markers: the name is what the user says.
      {"/o/iter_0001000", kNone, Markers::kAllowed, "/o/iter_0001000", "", ""},
      {"/o", Number(1000), Markers::kNever, "/o", "", ""},
      {"/o/iter_7", Number(1000), Markers::kNever, "/o/iter_7", "", ""},
      // Not iteration names.
      {"/o/iter_", Number(5), Markers::kAllowed, "/o/iter_/iter_0000005", "/o/iter_/latest_checkpointed_iteration.txt", "5"},
      {"/o/iter_1a", Number(5), Markers::kAllowed, "/o/iter_1a/iter_0000005", "/o/iter_1a/latest_checkpointed_iteration.txt", "5"},
  };
  for (const auto& c : kCases) {
    const Placement placement = Place(c.out, c.iteration, c.markers);
    EXPECT_EQ(placement.final_path, c.final_path) << c.out;
    EXPECT_EQ(placement.marker_path, c.marker_path) << c.out;
    EXPECT_EQ(placement.marker_value, c.marker_value) << c.out;
  }
}

TEST(Place, Refusals) {
  const struct {
    std::string out;
    TargetIteration iteration;
    const char* expected;
  } kCases[] = {
      {"", kNone, "publish.bad_output 2"},
      {"/o/iter_0001000", Number(2000), "publish.other_iteration 2"},
      {"/o/iter_1000", Number(1000), "publish.other_iteration 2"},  // Megatron would look for iter_0001000
      {"/o/iter_0001000", kRelease, "publish.other_iteration 2"},
      {"/o/.x.ck-claim", kNone, "publish.reserved_name 2"},
      {"/o/.x.ck-0123456789ab", kNone, "publish.reserved_name 2"},
      {"/" + std::string(231, 'n'), kNone, "none"},
      {"/" + std::string(232, 'n'), kNone, "publish.name_too_long 2"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Fault([&] { Place(c.out, c.iteration, Markers::kAllowed); }), c.expected) << c.out;
}

TEST(HiddenName, RoundTrips) {
  using Kind = HiddenName::Kind;
  const std::string id = NewId();
  EXPECT_EQ(id.size(), 12u);
  EXPECT_NE(id, NewId());
  for (const Kind kind : {Kind::kClaim, Kind::kStaging, Kind::kStaged, Kind::kNewClaim, Kind::kTrash}) {
    for (const char* name : {"out", "a.ck-b", ".hidden", "new\nline"}) {
      const std::string text = FormatHiddenName({name, kind, kind == Kind::kClaim ? "" : id});
      EXPECT_LE(text.size(), std::string(name).size() + kHiddenNameOverhead);
      const auto parsed = ParseHiddenName(text);
      ASSERT_TRUE(parsed) << text;
      EXPECT_EQ(parsed->name, name);
      EXPECT_EQ(parsed->kind, kind);
      EXPECT_EQ(parsed->id, kind == Kind::kClaim ? "" : id);
    }
  }
}

TEST(HiddenName, RefusesNamesOfOthers) {
  for (const char* text : {"", ".", "out", ".out", "out.ck-claim", ".ck-claim", "..ck-claim", ".out.ck-", ".out.ck-claims", ".out.ck-0123456789a",
                           ".out.ck-0123456789AB", ".out.ck-0123456789abc", ".out.ck-staged-", ".out.ck-old-0123456789ab", ".out.ck-xyz"}) {
    EXPECT_FALSE(ParseHiddenName(text)) << text;
  }
  EXPECT_TRUE(ParseHiddenName(".o.ck-claim"));
}

class CheckTargetTest : public testing::Test {
 protected:
  CheckTargetTest() {
    dir_.Write("run/iter_0000010/.metadata", "m");
    dir_.Write("other/.metadata", "m");
    std::filesystem::create_directory_symlink(dir_ / "run", dir_ / "link");
    std::filesystem::create_directory_symlink(dir_ / "run/iter_0000010", dir_ / "to_input");
  }
  // Checks OUT/iter_0000020 (or OUT itself, with `kNone`) against the input run/iter_0000010.
  std::string Check(const std::string& out, const TargetIteration& iteration = kNone) {
    return Fault([&] { CheckTarget(Place(dir_ / out, iteration, Markers::kAllowed), {dir_ / "other", dir_ / "run/iter_0000010"}); });
  }
  TestDirectory dir_;
};

TEST_F(CheckTargetTest, AcceptsPlacesBesideTheInputs) {
  EXPECT_EQ(Check("new"), "none");
  EXPECT_EQ(Check("new/deeper/still"), "none");
  EXPECT_EQ(Check("run", Number(20)), "none");
  EXPECT_EQ(Check("link", Number(20)), "none");
}

TEST_F(CheckTargetTest, RefusesInputsByIdentity) {
  for (const char* out : {"run/iter_0000010", "link/iter_0000010", "to_input", "run/./x/../iter_0000010", "other"}) {
    EXPECT_EQ(Check(out), "publish.output_is_input 5") << out;
  }
  EXPECT_EQ(Check("link", Number(10)), "publish.output_is_input 5");
  for (const char* out : {"run/iter_0000010/new", "link/iter_0000010/a/b/c", "to_input/new"}) {
    EXPECT_EQ(Check(out), "publish.output_inside_input 5") << out;
  }
  EXPECT_EQ(Check("other", Number(20)), "publish.output_inside_input 5");
  for (const char* out : {"run", "link", "."}) EXPECT_EQ(Check(out), "publish.output_holds_input 5") << out;
}

TEST_F(CheckTargetTest, RefusesWhatExists) {
  dir_.Write("full/file", "x");
  dir_.Write("file", "x");
  std::filesystem::create_directory(dir_ / "empty");
  std::filesystem::create_symlink("nowhere", dir_ / "dangling");
  for (const char* out : {"full", "file", "empty", "dangling"}) EXPECT_EQ(Check(out), "publish.target_exists 5") << out;
  EXPECT_EQ(Fault([&] { CheckTarget(Place(dir_ / "new", kNone, Markers::kAllowed), {dir_ / "absent"}); }), "fs.not_found 3");
}

TEST(CheckSpace, ComparesWithWhatIsFree) {
  const TestDirectory dir;
  const Placement placement = Place(dir / "not/yet/there", kNone, Markers::kAllowed);
  CheckSpace(placement, 1);
  EXPECT_EQ(Fault([&] { CheckSpace(placement, uint64_t{1} << 62); }), "publish.no_space 4");
}

TEST(MadeFromSamePlan, ComparesBytes) {
  const TestDirectory dir;
  const Placement placement = Place(dir / "out", kNone, Markers::kAllowed);
  EXPECT_FALSE(MadeFromSamePlan(placement, ""));
  dir.Write("out/other", "");
  EXPECT_FALSE(MadeFromSamePlan(placement, ""));
  dir.Write("out/ck-plan.json", "{\"a\": 1}\n");
  EXPECT_TRUE(MadeFromSamePlan(placement, "{\"a\": 1}\n"));
  EXPECT_FALSE(MadeFromSamePlan(placement, "{\"a\": 2}\n"));
  EXPECT_FALSE(MadeFromSamePlan(placement, "{\"a\": 1}"));
}

}  // namespace
}  // namespace ck::run
