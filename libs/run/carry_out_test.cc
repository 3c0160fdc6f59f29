#include "libs/run/carry_out.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/pickle/describe.h"
#include "libs/plan/plan.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/safetensors/header.h"

namespace ck::run {
namespace {

namespace stdfs = std::filesystem;
using checkpoint::Checkpoint;

constexpr char kFixtures[] = "testdata/fixtures";
constexpr char kWindow[] = "testdata/fixtures/megatron/window/ckpt";

plan::Input InputOf(const std::string& path, std::optional<double> weight = {}) {
  plan::Input input;
  input.path = fs::AbsolutePath(path);
  const auto opened = Checkpoint::Open(path);
  input.format = opened->format();
  if (opened->iteration().number) input.iteration = static_cast<int64_t>(*opened->iteration().number);
  input.weight = weight;
  return input;
}

CarryOutOptions To(const std::string& output, unsigned threads = 2) {
  CarryOutOptions options;
  options.output = output;
  options.threads = threads;
  options.durability = fs::Durability::kNoSync;
  return options;
}

std::string IdOf(const plan::Plan& plan, const CarryOutOptions& options) {
  try {
    CarryOut(plan, options, {});
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

// Every checkpoint directory of the fixtures that ck can read and write.
std::vector<std::string> AllCheckpoints() {
  std::vector<std::string> out;
  for (const auto& entry : stdfs::recursive_directory_iterator(kFixtures)) {
    const std::string name = entry.path().filename();
    if (name != ".metadata" && name != "__0.metadata") continue;
    const std::string directory = entry.path().parent_path();
    if (EndsWith(directory, "t214_safetensors_fmt")) continue;  // refused by name
    out.push_back(directory);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::map<std::string, std::string> FileContents(const std::string& directory) {
  std::map<std::string, std::string> out;
  for (const fs::Entry& entry : fs::ListDirectory(directory)) {
    if (entry.info.type == fs::FileType::kFile) out[entry.name] = fs::ReadSmallFile(fs::JoinPath(directory, entry.name), 1 << 28);
  }
  return out;
}

TEST(CarryOut, CopiesEveryFixtureToTheSameTensorsObjectsAndChunks) {
  const std::vector<std::string> checkpoints = AllCheckpoints();
  ASSERT_GE(checkpoints.size(), 48u);
  for (const std::string& path : checkpoints) {
    SCOPED_TRACE(path);
    const fs::TestDirectory scratch;
    plan::Plan plan;
    plan.inputs = {InputOf(path)};
    const Outcome outcome = CarryOut(plan, To(scratch / "out"), {});
    const auto source = Checkpoint::Open(path), copy = Checkpoint::Open(outcome.result.output);
    EXPECT_EQ(copy->format(), source->format());
    EXPECT_EQ(ReadTensors(*copy), ReadTensors(*source));
    ASSERT_EQ(copy->tensors().size(), source->tensors().size());
    for (size_t i = 0; i < copy->tensors().size(); ++i) {
      const auto &a = copy->tensors()[i].chunks, &b = source->tensors()[i].chunks;
      ASSERT_EQ(a.size(), b.size());
      for (size_t c = 0; c < a.size(); ++c) EXPECT_EQ(a[c].box, b[c].box);
    }
    for (const dcp::Object& object : source->objects()) {
      if (checkpoint::IsCommonStateKey(object.name)) continue;
      const dcp::Object* copied = copy->FindObject(object.name);
      ASSERT_NE(copied, nullptr) << object.name;
      EXPECT_EQ(copy->ReadObject(*copied), source->ReadObject(object));
    }
    EXPECT_EQ(copy->metadata().planner_data, source->metadata().planner_data);
    const auto before = checkpoint::ReadCommonState(*source), after = checkpoint::ReadCommonState(*copy);
    if (before.dict != pickle::kNoRef) {
      EXPECT_EQ(pickle::Describe(after.object.graph, after.dict, 1 << 24), pickle::Describe(before.object.graph, before.dict, 1 << 24));
    }
  }
}

TEST(CarryOut, CopiesMatchTheRecordedLogicalState) {
  size_t compared = 0;
  for (const auto& entry : stdfs::directory_iterator(Cat(kFixtures, "/megatron"))) {
    const std::string truth = entry.path() / "truth.safetensors";
    if (!fs::Stat(truth)) continue;
    SCOPED_TRACE(truth);
    const stdfs::path root = entry.path() / "ckpt";
    const std::string path = stdfs::exists(root / "release") ? root / "release" : root / "iter_0000010";
    const fs::TestDirectory scratch;
    plan::Plan plan;
    plan.inputs = {InputOf(path)};
    const auto copy = Checkpoint::Open(CarryOut(plan, To(scratch / "out"), {}).result.output);
    const std::string content = fs::ReadSmallFile(truth, 1 << 28);
    std::map<std::string, WholeTensor> expected;
    for (const safetensors::Tensor& tensor : safetensors::ReadHeader(bytes::StringSource(content)).tensors) {
      if (!StartsWith(tensor.name, "state.")) continue;
      expected[tensor.name.substr(6)] = {.dtype = tensor.dtype, .shape = tensor.shape, .bytes = content.substr(tensor.begin, tensor.end - tensor.begin)};
    }
    EXPECT_EQ(ReadTensors(*copy), expected);
    ++compared;
  }
  EXPECT_GE(compared, 34u);
}

plan::Plan WindowMerge(plan::SaveDtype dtype = plan::SaveDtype::kSame) {
  plan::Plan plan;
  plan.inputs = {InputOf(Cat(kWindow, "/iter_0000010"), 0.5), InputOf(Cat(kWindow, "/iter_0000020"), 0.25), InputOf(Cat(kWindow, "/iter_0000030"), -0.125),
                 InputOf(Cat(kWindow, "/iter_0000040"), 0.375)};
  plan.coefficients.style = "manual";
  plan::MergeStep step;
  step.dtype = dtype;
  plan.steps = {step};
  plan.target = 40;
  return plan;
}

TEST(CarryOut, TheOutputIsAFunctionOfThePlan) {
  const fs::TestDirectory scratch;
  std::optional<std::map<std::string, std::string>> first;
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    const Outcome outcome = CarryOut(WindowMerge(), To(scratch / Cat("out", threads), threads), {});
    const auto files = FileContents(outcome.result.output);
    if (!first) first = files;
    EXPECT_EQ(files, *first) << threads;
  }
}

TEST(CarryOut, AMergePublishesUnderItsIterationWithMarkerAndProvenance) {
  const fs::TestDirectory scratch;
  const Outcome outcome = CarryOut(WindowMerge(), To(scratch / "out"), {});
  EXPECT_EQ(outcome.result.output, scratch / "out/iter_0000040");
  EXPECT_EQ(fs::ReadSmallFile(scratch / "out/latest_checkpointed_iteration.txt", 100), "40\n");
  EXPECT_EQ(outcome.result.averaged_tensors, 9u);
  EXPECT_EQ(outcome.result.copied_extra_states, 8u);
  const auto common = checkpoint::ReadCommonState(*Checkpoint::Open(outcome.result.output));
  EXPECT_EQ(common.iteration(), 40);
  const pickle::Ref provenance = common.object.graph.Find(common.dict, "weighted_merge_provenance");
  ASSERT_NE(provenance, pickle::kNoRef);
  const std::string text = pickle::Describe(common.object.graph, provenance, 10000);
  for (const char* part : {"'format_version': 1", "'source_iterations': [10, 20, 30, 40]", "'weights': [0.5, 0.25, -0.125, 0.375]", "'normalize': False",
                           "'merge_style': 'manual'", "'output_iteration': 40", "'output_dtype': 'same'", "'extra_state_source_index': 0",
                           "'implementation_mode': 'dcp-metadata-same-layout'", "'strict': 'assume_ok_unexpected'", "'optimizer_merged': False", "'rng_merged': False"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(CarryOut, AnExistingOutputIsKept) {
  const fs::TestDirectory scratch;
  CarryOut(WindowMerge(), To(scratch / "out"), {});
  EXPECT_EQ(IdOf(WindowMerge(), To(scratch / "out")), "publish.target_exists");
  CarryOutOptions skip = To(scratch / "out");
  skip.if_same = IfSame::kSkip;
  EXPECT_TRUE(CarryOut(WindowMerge(), skip, {}).skipped);
  plan::Plan other = WindowMerge();
  other.inputs[0].weight = 0.75;
  EXPECT_EQ(IdOf(other, skip), "publish.target_exists");
}

TEST(CarryOut, ADryRunWritesNothing) {
  const fs::TestDirectory scratch;
  const DryRunReport report = DryRun(WindowMerge(), To(scratch / "out"), {});
  EXPECT_EQ(report.output, scratch / "out/iter_0000040");
  EXPECT_FALSE(fs::Stat(scratch / "out"));
  const Outcome outcome = CarryOut(WindowMerge(), To(scratch / "out"), {});
  EXPECT_EQ(report.files, outcome.result.files);
  EXPECT_LE(report.bytes_to_read, outcome.result.bytes_read);
}

TEST(CarryOut, AZeroWeightInputIsNotReadForData) {
  const fs::TestDirectory scratch;
  plan::Plan plan = WindowMerge();
  plan.inputs[1].weight = 0;
  // A copy of that input with every data byte spoilt behind the item headers would poison a sum that read it.
  const std::string spoilt = scratch / "iter_0000020";
  stdfs::copy(plan.inputs[1].path, spoilt);
  for (const auto& entry : stdfs::directory_iterator(spoilt)) {
    if (entry.path().extension() == ".distcp") stdfs::resize_file(entry.path(), 0);
  }
  plan.inputs[1].path = spoilt;
  EXPECT_EQ(IdOf(plan, To(scratch / "out")), "");
}

TEST(CarryOut, TrainingStateIsRefusedOrLeftOut) {
  const fs::TestDirectory scratch;
  plan::Plan plan;
  const std::string full = Cat(kFixtures, "/megatron/window_full/ckpt");
  plan.inputs = {InputOf(full + "/iter_0000030", 0.5), InputOf(full + "/iter_0000040", 0.5)};
  plan.coefficients.style = "manual";
  plan.steps = {plan::MergeStep{}};
  EXPECT_EQ(IdOf(plan, To(scratch / "out")), "pipeline.checks_failed");
  plan::MergeStep weights_only;
  weights_only.weights_only = true;
  plan.steps = {weights_only};
  const Outcome outcome = CarryOut(plan, To(scratch / "out"), {});
  std::map<std::string, uint64_t> left_out;
  for (const plan::LeftOut& left : outcome.result.left_out) left_out[left.rule] = left.count;
  EXPECT_EQ(left_out["optimizer"], 2 * 27u);  // of both inputs
  EXPECT_EQ(left_out["rng"], 2u);
  const auto common = checkpoint::ReadCommonState(*Checkpoint::Open(outcome.result.output));
  EXPECT_EQ(common.object.graph.Find(common.dict, "optimizer"), pickle::kNoRef);
}

TEST(CarryOut, EveryViolationIsReported) {
  const fs::TestDirectory scratch;
  plan::Plan plan;
  plan.inputs = {InputOf(Cat(kFixtures, "/megatron/gpt_dense_stacked/ckpt/iter_0000010"), 0.5), InputOf(Cat(kFixtures, "/megatron/gpt_qknorm/ckpt/iter_0000010"), 0.25),
                 InputOf(Cat(kFixtures, "/megatron/gpt_dense_perlayer/ckpt/iter_0000010"), 0.25)};
  plan.steps = {plan::MergeStep{}};
  std::vector<std::string> ids;
  Observer observer;
  observer.finding = [&](const plan::Finding& finding) { ids.push_back(finding.id); };
  EXPECT_THROW(CarryOut(plan, To(scratch / "out"), observer), Error);
  EXPECT_NE(std::find(ids.begin(), ids.end(), "merge.unexpected_keys"), ids.end());
  EXPECT_NE(std::find(ids.begin(), ids.end(), "merge.layer_layout_differs"), ids.end());
  EXPECT_FALSE(fs::Stat(scratch / "out"));
}

TEST(CarryOut, NothingIsLeftBehindByAFailure) {
  const fs::TestDirectory scratch;
  const std::string broken = scratch / "in/iter_0000010";
  stdfs::create_directories(scratch / "in");
  stdfs::copy(Cat(kWindow, "/iter_0000010"), broken);
  stdfs::resize_file(broken + "/__0_0.distcp", 3000);
  plan::Plan plan;
  plan.inputs = {InputOf(broken)};
  EXPECT_EQ(IdOf(plan, To(scratch / "out/deep/er")), "checkpoint.short_file");
  EXPECT_FALSE(fs::Stat(scratch / "out"));
}

}  // namespace
}  // namespace ck::run
