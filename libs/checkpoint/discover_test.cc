#include "libs/checkpoint/discover.h"

#include <cerrno>
#include <filesystem>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/testing/run_directory.h"
#include "libs/fs/fault.h"

namespace ck::checkpoint {
namespace {

using ::testing::Test;

// The error of Resolve as "id: message", or "resolved NAME".
std::string Outcome(const std::string& path, Require require = Require::kComplete) {
  try {
    return Cat("resolved ", std::filesystem::path(Resolve(path, require).path).filename().string());
  } catch (const Error& error) {
    return Cat(error.id(), ": ", error.message());
  }
}

const Found* Find(const Listing& listing, const std::string& name) {
  for (const Found& found : listing.checkpoints) {
    if (found.name == name) return &found;
  }
  return nullptr;
}

std::string StateOf(const Listing& listing, const std::string& name) {
  const Found* found = Find(listing, name);
  return found ? Cat(Name(found->state), found->reason.empty() ? "" : ": ", found->reason) : "not listed";
}

TEST(ListRoot, NewestDirectoryIsNotTheNewestCheckpoint) {
  const RunDirectory run;
  run.AddTorchDist("iter_0000010");
  run.AddEmpty("iter_0000020");
  run.SetMarker("10");
  const Listing listing = ListRoot(run.path(), Depth::kNames);
  EXPECT_EQ(StateOf(listing, "iter_0000010"), "complete");
  EXPECT_EQ(StateOf(listing, "iter_0000020"), "incomplete: no .metadata / metadata.json");
  EXPECT_EQ(listing.marker->state, MarkerState::kCurrent);
  EXPECT_EQ(Outcome(run.path()), "resolved iter_0000010");
  const std::string explicitly = Outcome(run / "iter_0000020");
  EXPECT_TRUE(StartsWith(explicitly, "checkpoint.incomplete: ")) << explicitly;
  EXPECT_NE(explicitly.find("no .metadata / metadata.json"), std::string::npos) << explicitly;
  EXPECT_EQ(Outcome(run / "iter_0000020", Require::kAny), "resolved iter_0000020");
}

TEST(ListRoot, MetadataJsonIsWrittenLast) {
  struct Case {
    const char* what;
    void (*build)(const RunDirectory&);
    const char* state;
  };
  const Case cases[] = {
      {"common.pt announces metadata.json", [](const RunDirectory& run) { run.AddUnfinished("iter_0000020"); },
       "incomplete: no metadata.json (it is written last)"},
      {"complete siblings are torch_dist",
       [](const RunDirectory& run) {
         run.AddDcp("iter_0000020");
         run.AddTorchDist("iter_0000010");
       },
       "incomplete: no metadata.json (it is written last; the complete checkpoints beside it are torch_dist)"},
      {"an unfinished sibling decides nothing",
       [](const RunDirectory& run) {
         run.AddDcp("iter_0000020");
         run.AddUnfinished("iter_0000010");
       },
       "complete"},
      {"plain DCP has none", [](const RunDirectory& run) { run.AddDcp("iter_0000020"); }, "complete"},
      {"no .metadata yet", [](const RunDirectory& run) { run.Write("iter_0000020/metadata.json", kTorchDistJson); },
       "incomplete: no .metadata"},
      {"no data file",
       [](const RunDirectory& run) {
         run.AddTorchDist("iter_0000020");
         std::filesystem::remove(run / "iter_0000020/__0_0.distcp");
       },
       "incomplete: no data file (*.distcp)"},
      {"rank-local metadata",
       [](const RunDirectory& run) {
         run.Write("iter_0000020/__0.metadata", "m");
         run.Write("iter_0000020/__0_0.distcp", "");  // 0 bytes are legal
       },
       "complete"},
      {"old Megatron", [](const RunDirectory& run) { run.Write("iter_0000020/mp_rank_00/model_optim_rng.pt", "x"); },
       "damaged: not supported: legacy mp_rank layout (--ckpt-format torch); convert it to torch_dist with Megatron's "
       "tools/checkpoint/convert.py first"},
      {"zarr",
       [](const RunDirectory& run) { run.Write("iter_0000020/metadata.json", R"({"sharded_backend": "zarr"})"); },
       "damaged: not supported: zarr layout of old Megatron-Core; re-save it as torch_dist with Megatron-Core 0.15 or "
       "older"},
      {"one safetensors file", [](const RunDirectory& run) { run.Write("iter_0000020/model.safetensors", "x"); },
       "complete"},
      {"shards without an index",
       [](const RunDirectory& run) {
         run.Write("iter_0000020/model-00001-of-00002.safetensors", "x");
         run.Write("iter_0000020/model-00002-of-00002.safetensors", "x");
       },
       "incomplete: no model.safetensors.index.json beside 2 .safetensors files"},
      {"a shard is missing",
       [](const RunDirectory& run) {
         run.Write("iter_0000020/model-00001-of-00003.safetensors", "x");
         run.Write("iter_0000020/model-00003-of-00003.safetensors", "x");
         run.Write("iter_0000020/model.safetensors.index.json", "{}");
       },
       "incomplete: 2 of 3 .safetensors files"},
  };
  for (const Case& c : cases) {
    const RunDirectory run;
    c.build(run);
    EXPECT_EQ(StateOf(ListRoot(run.path(), Depth::kNames), "iter_0000020"), c.state) << c.what;
    // Named itself, a directory is judged as it is in its root.
    EXPECT_EQ(StateOf(ListRoot(run / "iter_0000020", Depth::kNames), "iter_0000020"), c.state) << c.what;
  }
}

TEST(ListRoot, NamesThatAreNoCheckpointsAreStrays) {
  const RunDirectory run;
  run.AddTorchDist("iter_0000010");
  run.AddTorchDist("iter_12345678");
  run.AddTorchDist("iter_100.bak");
  run.AddTorchDist("iter_");
  run.AddTorchDist("iter_1a");
  run.Write("iter_0000011", "a file");
  run.AddEmpty("tensorboard");
  run.Write("iter_0000010/__0_0.distcp.tmp", "left over");
  const Listing listing = ListRoot(run.path(), Depth::kNames);
  EXPECT_EQ(listing.strays, (std::vector<std::string>{"iter_", "iter_0000011", "iter_100.bak", "iter_1a"}));
  ASSERT_EQ(listing.checkpoints.size(), 2u);
  EXPECT_EQ(listing.checkpoints[0].strays, std::vector<std::string>{"__0_0.distcp.tmp"});
  EXPECT_TRUE(listing.checkpoints[0].complete());
  EXPECT_EQ(listing.checkpoints[1].name, "iter_12345678");
}

TEST(ListRoot, StagingDirectoriesAreNoCheckpointsYet) {
  const RunDirectory run;
  run.AddTorchDist("iter_0000010");
  run.AddTorchDist(".iter_0000020.ck-0123456789ab");
  run.AddTorchDist(".merged.ck-staged-0123456789ab");
  run.AddEmpty(".iter_0000020.ck-claim");
  const Listing listing = ListRoot(run.path(), Depth::kNames);
  ASSERT_EQ(listing.checkpoints.size(), 3u);
  EXPECT_EQ(listing.checkpoints[0].name, "iter_0000010");
  EXPECT_EQ(StateOf(listing, ".iter_0000020.ck-0123456789ab"),
            "staging: being written; 'ck-publish --gc' removes it when its owner is gone");
  EXPECT_EQ(Find(listing, ".iter_0000020.ck-0123456789ab")->iteration.number, 20u);
  EXPECT_EQ(StateOf(listing, ".merged.ck-staged-0123456789ab"), "staging: complete, waits for 'ck-publish --staged'");
  EXPECT_EQ(Outcome(run.path()), "resolved iter_0000010");
}

TEST(Resolve, AnUnsupportedFormatIsNamed) {
  const RunDirectory run;
  run.Write("old/mp_rank_00/model_optim_rng.pt", "x");
  const std::string expected = Cat("checkpoint.unsupported_format: '", run / "old", "': not supported: legacy mp_rank");
  EXPECT_TRUE(StartsWith(Outcome(run / "old"), expected)) << Outcome(run / "old");
}

TEST(ListRoot, LinksToCheckpointsCount) {
  const RunDirectory run, elsewhere;
  elsewhere.AddTorchDist("stored");
  std::filesystem::create_directory_symlink(elsewhere / "stored", run / "iter_0000030");
  std::filesystem::create_directory_symlink(elsewhere / "gone", run / "iter_0000040");
  const Listing listing = ListRoot(run.path(), Depth::kNames);
  EXPECT_EQ(StateOf(listing, "iter_0000030"), "complete");
  EXPECT_EQ(listing.checkpoints[0].path, run / "iter_0000030");
  EXPECT_EQ(listing.strays, std::vector<std::string>{"iter_0000040"});
}

TEST(ListRoot, SizesCountTheFilesInside) {
  const RunDirectory run;
  run.AddTorchDist("iter_0000010");
  EXPECT_EQ(ListRoot(run.path(), Depth::kNames).checkpoints[0].size_bytes, 0u);
  EXPECT_EQ(ListRoot(run.path(), Depth::kSizes).checkpoints[0].size_bytes,
            4 + 1 + 1 + std::string(kTorchDistJson).size());
  run.AddDcp(".iter_0000020.ck-0123456789ab");
  EXPECT_EQ(ListRoot(run.path(), Depth::kSizes).checkpoints[1].size_bytes, 5u);
}

TEST(ListRoot, OneEntryThatCannotBeReadDoesNotEndTheListing) {
  struct Case {
    int error_number;
    const char* state;
  };
  const Case cases[] = {{ENOENT, "incomplete: vanished while it was looked at"},
                        {ESTALE, "damaged: cannot be looked at: "},
                        {EACCES, "damaged: cannot be looked at: "}};
  for (const Case& c : cases) {
    const RunDirectory run;
    run.AddTorchDist("iter_0000010");
    run.AddTorchDist("iter_0000020");
    const fs::ScopedFault fault(fs::Operation::kOpen, 2, c.error_number);  // 1 opens the root, 2 the first checkpoint
    const Listing listing = ListRoot(run.path(), Depth::kNames);
    EXPECT_TRUE(StartsWith(StateOf(listing, "iter_0000010"), c.state)) << StateOf(listing, "iter_0000010");
    EXPECT_EQ(StateOf(listing, "iter_0000020"), "complete");
  }
}

TEST(Marker, States) {
  struct Case {
    const char* content;
    MarkerState state;
    const char* value;
  };
  const std::string megabyte(1 << 20, '1');
  const Case cases[] = {
      {"20\n", MarkerState::kCurrent, "20"},
      {"10", MarkerState::kOlder, "10"},
      {" 0000020\r\n", MarkerState::kCurrent, "0000020"},
      {"1001", MarkerState::kDangling, "1001"},
      {"30", MarkerState::kDangling, "30"},
      {"release", MarkerState::kOlder, "release"},
      {"-1", MarkerState::kMalformed, "-1"},
      {"10.0", MarkerState::kMalformed, "10.0"},
      {"", MarkerState::kMalformed, ""},
      {"\xEF\xBB\xBF"
       "10",
       MarkerState::kMalformed,
       "\xEF\xBB\xBF"
       "10"},
      {megabyte.c_str(), MarkerState::kMalformed, "1111111111111111111111111111111111111111"},
  };
  for (const Case& c : cases) {
    const RunDirectory run;
    run.AddTorchDist("iter_0000010");
    run.AddTorchDist("iter_0000020");
    run.AddUnfinished("iter_0000030");
    run.AddTorchDist("release");
    run.SetMarker(c.content);
    const Listing listing = ListRoot(run.path(), Depth::kNames);
    ASSERT_TRUE(listing.marker);
    EXPECT_EQ(listing.marker->state, c.state) << c.value;
    EXPECT_EQ(listing.marker->value, c.value);
  }
}

TEST(Resolve, TheMarkerDecidesAndIsNeverReplacedSilently) {
  struct Case {
    const char* marker;
    const char* outcome;  // a beginning of it; @ is the marker's path
  };
  const Case cases[] = {
      {"10", "resolved iter_0000010"},
      {"release\n", "resolved release"},
      {"1001",
       "marker.dangling: '@' points to iter_0001001, which does not exist; complete iterations: release, 10, 20"},
      {"30",
       "marker.dangling: '@' points to iter_0000030, which is incomplete: no metadata.json (it is written last); "
       "complete iterations: release, 10, 20"},
      {"", "marker.malformed: '@': is empty, expected a number or 'release'"},
      {"10.0", "marker.malformed: '@': says '10.0', expected a number or 'release'"},
  };
  for (const Case& c : cases) {
    const RunDirectory run;
    run.AddTorchDist("iter_0000010");
    run.AddTorchDist("iter_0000020");
    run.AddUnfinished("iter_0000030");
    run.AddTorchDist("release");
    run.SetMarker(c.marker);
    std::string expected = c.outcome;
    const size_t at = expected.find('@');
    if (at != std::string::npos) expected.replace(at, 1, run / "latest_checkpointed_iteration.txt");
    EXPECT_EQ(Outcome(run.path()), expected);
  }
}

TEST(Resolve, AMarkerThatIsADirectoryIsMalformed) {
  const RunDirectory run;
  run.AddTorchDist("iter_0000010");
  run.AddEmpty("latest_checkpointed_iteration.txt");
  EXPECT_TRUE(StartsWith(Outcome(run.path()), "marker.malformed: ")) << Outcome(run.path());
}

TEST(Resolve, WithoutAMarkerTheNewestCompleteOneAndANote) {
  const RunDirectory run;
  run.AddTorchDist("release");
  run.AddTorchDist("iter_9");
  run.AddTorchDist("iter_0000010");
  run.AddEmpty("iter_0000020");
  const Resolved resolved = Resolve(run.path());
  EXPECT_EQ(resolved.path, run / "iter_0000010");
  EXPECT_EQ(resolved.iteration.number, 10u);
  EXPECT_TRUE(resolved.through_root);
  EXPECT_EQ(resolved.note, Cat("no latest_checkpointed_iteration.txt in '", run.path(),
                               "'; using the newest complete checkpoint, iter_0000010"));
}

TEST(Resolve, NothingFoundNamesWhatWasLookedFor) {
  const RunDirectory run;
  EXPECT_EQ(
      Outcome(run.path()),
      Cat("checkpoint.not_found: no checkpoint found under '", run.path(),
          "'; looked for metadata.json, .metadata, latest_checkpointed_iteration.txt, iter_*, release, *.safetensors"));
  EXPECT_EQ(Outcome(run / "none"), Cat("checkpoint.not_found: '", run / "none", "': no such directory"));
  run.AddEmpty("iter_0000010");
  EXPECT_EQ(Outcome(run.path()), Cat("checkpoint.incomplete: no complete checkpoint under '", run.path(),
                                     "'; iter_0000010: no .metadata / metadata.json"));
  run.Write("x.distcp", "");
  EXPECT_EQ(Outcome(run / "x.distcp"),
            Cat("checkpoint.not_a_directory: '", run / "x.distcp", "' is a file; a checkpoint is a directory"));
}

TEST(Resolve, TheNameThatWasFoundIsUsed) {
  const RunDirectory run;
  run.AddTorchDist("iter_100");
  run.SetMarker("100");
  EXPECT_EQ(Outcome(run.path()), "resolved iter_100");
  run.AddTorchDist("iter_0000100");
  EXPECT_EQ(Outcome(run.path()), Cat("checkpoint.duplicate_iteration: 2 directories of '", run.path(),
                                     "' are iteration 100: iter_0000100, iter_100; name the one you mean"));
  EXPECT_EQ(Outcome(run / "iter_100"), "resolved iter_100");
}

TEST(Resolve, ACheckpointIsItself) {
  const RunDirectory run;
  run.AddTorchDist("merged");
  run.AddDcp("plain");
  run.Write("hf/model.safetensors", "x");
  for (const char* name : {"merged", "plain", "hf"}) {
    const Resolved resolved = Resolve(run / name);
    EXPECT_EQ(resolved.path, run / name);
    EXPECT_FALSE(resolved.through_root);
    EXPECT_FALSE(resolved.iteration.known());
    EXPECT_EQ(resolved.note, "");
  }
  // Relative parts are cleaned, links kept.
  EXPECT_EQ(Resolve(run / "./hf/../merged/").path, run / "merged");
}

}  // namespace
}  // namespace ck::checkpoint
