// What the hostile corpus and the fixtures cannot show: plans, counts, links, many chunks, faults of the environment.
#include "libs/validate/validate.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/testing/dcp_builder.h"
#include "libs/fs/fault.h"
#include "libs/fs/test_directory.h"

namespace ck::validate {
namespace {

using checkpoint::DcpBuilder;
using checkpoint::InList;

void SaveModel(const std::string& directory, const std::string& data, DType dtype = DType::kF32, bool with_optimizer = false) {
  DcpBuilder builder;
  builder.AddTensor("decoder.final_layernorm.weight", dtype, {data.size() / ElementSize(dtype)}, data, "__0_0.distcp");
  if (with_optimizer) builder.AddTensor("optimizer.state.exp_avg.w", DType::kF32, {2}, std::string(8, 'o'), "__0_0.distcp");
  builder.Save(directory);
  std::ofstream(directory + "/metadata.json") << R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})";
  std::ofstream(directory + "/common.pt", std::ios::binary) << checkpoint::SavedIteration(10, InList::kNo);
}

plan::Plan PlanOf(const std::vector<std::string>& paths) {
  plan::Plan plan;
  for (const std::string& path : paths) {
    plan::Input input;
    input.path = path;
    plan.inputs.push_back(input);
  }
  return plan;
}

std::string Ids(const plan::Report& report) {
  std::vector<std::string> ids;
  for (const Finding& finding : report.findings) ids.push_back(Cat(NameOf(finding.severity), " ", finding.id));
  return Join(ids, ", ");
}

std::string Messages(const plan::Report& report) {
  std::string out;
  for (const Finding& finding : report.findings) out += finding.message + "\n";
  return out;
}

const plan::Checked* FindChecked(const plan::Report& report, std::string_view what) {
  for (const plan::Checked& checked : report.checked) {
    if (checked.what.find(what) != std::string::npos) return &checked;
  }
  return nullptr;
}

template <typename Function>
std::string ErrorOf(Function function) {
  try {
    function();
    return "none";
  } catch (const Error& error) {
    return Cat(static_cast<int>(error.code()), " ", error.id());
  }
}

TEST(CheckCheckpoints, SaysWhatItDidNotLookAt) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  const plan::Report report = CheckCheckpoints({directory / "a"}, {});
  EXPECT_EQ(Ids(report), "");
  ASSERT_TRUE(FindChecked(report, "tensor data"));
  EXPECT_FALSE(FindChecked(report, "tensor data")->looked_at);
  EXPECT_EQ(FindChecked(report, "tensor data")->note, "needs --deep");
  ASSERT_TRUE(FindChecked(report, "coverage"));
  EXPECT_TRUE(FindChecked(report, "coverage")->looked_at);
  EXPECT_FALSE(FindChecked(report, "against each other"));
}

TEST(CheckCheckpoints, GoesOnAfterOneThatCannotBeOpened) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  directory.Write("a/.metadata", "no pickle");
  SaveModel(directory / "b", "12345678");
  std::filesystem::remove(directory / "b/common.pt");
  const plan::Report report = CheckCheckpoints({directory / "a", directory / "b"}, {});
  EXPECT_EQ(Ids(report), "error pickle.opcode_unknown, warning common.none");
  EXPECT_EQ(FindChecked(report, "coverage")->note, "not in 1 of 2 checkpoints: cannot be opened");
}

TEST(CheckCheckpoints, NamesEveryMissingFileWithWhatIsLost) {
  const fs::TestDirectory directory;
  DcpBuilder builder;
  builder.AddTensor("a", DType::kU8, {1000}, std::string(1000, 'a'), "__0_0.distcp");
  builder.AddTensor("b", DType::kU8, {1000}, std::string(1000, 'b'), "__1_0.distcp");
  builder.AddTensor("c", DType::kU8, {1000}, std::string(1000, 'c'), "__2_0.distcp");
  builder.Save(directory / "m");
  std::filesystem::remove(directory / "m/__1_0.distcp");
  std::filesystem::resize_file(directory / "m/__2_0.distcp", 0);
  const std::string messages = Messages(CheckCheckpoints({directory / "m"}, {}));
  EXPECT_NE(messages.find("1 missing and 1 short of 3 data files, 67% of the bytes (on another node's disk?)"), std::string::npos) << messages;
  EXPECT_NE(messages.find("'__1_0.distcp' is missing ("), std::string::npos) << messages;
  EXPECT_NE(messages.find("'__2_0.distcp' has 0 bytes, needs "), std::string::npos) << messages;
  EXPECT_NE(messages.find("of 1 key: 'c'"), std::string::npos) << messages;
}

TEST(CheckCheckpoints, CountsWhatIsTooMuchToShow) {
  const fs::TestDirectory directory;
  DcpBuilder builder;
  for (int i = 0; i < 250; ++i) builder.AddTensor(Cat("w", i), DType::kU8, {1}, "x", "__0_0.distcp");
  for (dcp::Tensor& tensor : builder.metadata.tensors) tensor.dtype = DType::kI8;
  builder.Save(directory / "m");
  const plan::Report report = CheckCheckpoints({directory / "m"}, {.threads = 3});
  ASSERT_EQ(report.findings.size(), 101u);
  EXPECT_EQ(report.findings[0].id, "checkpoint.item_mismatch");
  EXPECT_EQ(report.findings[0].where, "w0");
  EXPECT_EQ(report.findings[100].id, "checkpoint.item_mismatch");
  EXPECT_NE(report.findings[100].message.find("150 more of the same kind"), std::string::npos);
}

TEST(CheckCheckpoints, AnIterationOtherThanTheNamesIsAWarning) {
  const fs::TestDirectory directory;
  SaveModel(directory / "iter_0000010", "12345678");
  SaveModel(directory / "iter_0000020", "12345678");
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "iter_0000010"}, {})), "");
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "iter_0000020"}, {})), "warning common.iteration_differs");
}

TEST(CheckCheckpoints, FollowsLinksOfTheFileSystemOnly) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  std::filesystem::create_directories(directory / "blobs");
  std::filesystem::rename(directory / "a/__0_0.distcp", directory / "blobs/abc");
  std::filesystem::create_symlink("../blobs/abc", directory / "a/__0_0.distcp");
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "a"}, {})), "");
}

TEST(CheckCheckpoints, AChunkOfVolumeZeroNeedsNoItem) {
  const fs::TestDirectory directory;
  DcpBuilder builder;
  builder.metadata.tensors.push_back({.name = "empty", .dtype = DType::kF32, .shape = {0, 3}, .chunks = {}});
  builder.metadata.tensors.back().chunks.push_back({Box::Whole({0, 3}), {}});
  builder.metadata.planner_data.reset();
  builder.Save(directory / "m");
  EXPECT_EQ(ErrorOf([&] { EXPECT_EQ(Ids(CheckCheckpoints({directory / "m"}, {})), ""); }), "none");
}

// torch.save of an object of an unknown class that holds a string of `bytes` bytes.
std::string SavedForeign(size_t bytes) {
  pickle::Graph graph;
  const pickle::Ref type = graph.NewGlobal("foo", "Bar");
  const pickle::Ref root = graph.NewObject(pickle::Form::kNewObj, type, graph.NewTuple({}));
  graph.SetAttribute(root, "text", graph.NewString(std::string(bytes, 'x')));
  return torchsave::WriteObject(graph, root, "archive", {});
}

TEST(CheckCheckpoints, OfLargeObjectsOnlyTheArchiveIsLookedAt) {
  const fs::TestDirectory directory;
  const std::string large = SavedForeign(17 << 20);
  const struct {
    std::string name, item, ids;
  } kCases[] = {
      {"small", SavedForeign(10), "warning pickle.unknown_global"},
      {"large", large, ""},
      {"cut", large.substr(0, large.size() - 1), "error zip.no_end_record"},
  };
  for (const auto& test : kCases) {
    DcpBuilder builder;
    builder.AddObject("object", test.item, "__0_0.distcp");
    builder.Save(directory / test.name);
    EXPECT_EQ(Ids(CheckCheckpoints({directory / test.name}, {})), test.ids) << test.name;
  }
}

// Objects that share their bytes are one fault, not work without end: what was parsed once is not parsed again.
TEST(CheckCheckpoints, ManyNamesOfTheSameBytes) {
  const fs::TestDirectory directory;
  DcpBuilder builder;
  builder.AddObject("a", SavedForeign(10), "__0_0.distcp");
  const dcp::Item item = builder.metadata.objects[0].item;
  for (const char* name : {"b", "c"}) builder.metadata.objects.push_back({.name = name, .item = item});
  builder.Save(directory / "m");
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "m"}, {})), "error items.overlap, error items.overlap, warning pickle.unknown_global");
}

TEST(CheckCheckpoints, WhatCannotBeReadIsThrown) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  EXPECT_EQ(ErrorOf([&] { CheckCheckpoints({directory / "none"}, {}); }), "3 checkpoint.not_found");
  EXPECT_EQ(ErrorOf([&] { CheckCheckpoints({directory / "a/common.pt"}, {}); }), "3 checkpoint.not_a_directory");
}

// A disk that fails says nothing about the checkpoint: whatever read fails, it is no finding and no clean report.
TEST(CheckCheckpoints, AFailingReadIsThrown) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  const uint64_t before = fs::OperationCount(fs::Operation::kRead);
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "a"}, {.threads = 1})), "");
  const int reads = static_cast<int>(fs::OperationCount(fs::Operation::kRead) - before);
  ASSERT_GT(reads, 3);
  for (int nth = 1; nth <= reads; ++nth) {
    const fs::ScopedFault fault(fs::Operation::kRead, nth, EIO);
    EXPECT_EQ(ErrorOf([&] { CheckCheckpoints({directory / "a"}, {.threads = 1}); }), "4 fs.read_failed") << "read " << nth;
  }
}

// A grid like that of a large run, read by two threads.
TEST(CheckCheckpoints, ManyChunksInOneFile) {
  const fs::TestDirectory directory;
  const torchsave::TensorItemLayout layout = torchsave::LayOutTensorItem(DType::kU8, {1, 1});
  DcpBuilder builder;
  builder.AddTensor("one", DType::kU8, {1, 1}, "x", "__0_0.distcp");
  constexpr uint64_t kGrid = 32, kTensors = 3;
  std::string file = layout.head + "x" + layout.Tail(Crc32("x"));
  const uint64_t item_bytes = file.size();
  for (uint64_t t = 0; t < kTensors; ++t) {
    dcp::Tensor tensor{.name = Cat("w", t), .dtype = DType::kU8, .shape = {kGrid, kGrid}, .chunks = {}};
    for (uint64_t i = 0; i < kGrid * kGrid; ++i) {
      tensor.chunks.push_back({Box{{i / kGrid, i % kGrid}, {1, 1}}, dcp::Item{.file = 0, .offset = file.size(), .length = item_bytes}});
      file += file.substr(0, item_bytes);
    }
    builder.metadata.tensors.push_back(std::move(tensor));
  }
  builder.Save(directory / "m");
  directory.Write("m/__0_0.distcp", file);
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "m"}, {.threads = 2})), "");
  std::filesystem::resize_file(directory / "m/__0_0.distcp", file.size() / 2);
  EXPECT_EQ(Ids(CheckCheckpoints({directory / "m"}, {.threads = 2})), "error files.data_incomplete, error checkpoint.short_file");
}

TEST(CheckPlan, ComparesSeveralInputs) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  SaveModel(directory / "b", "abcdefgh");
  SaveModel(directory / "longer", "abcdefghijkl");
  SaveModel(directory / "other_dtype", "abcd", DType::kBF16);
  const struct {
    std::vector<std::string> inputs;
    std::string ids;
  } kCases[] = {
      {{"a"}, ""},
      {{"a", "b"}, ""},
      {{"a", "longer"}, "error merge.shape_mismatch"},
      {{"a", "b", "other_dtype"}, "error merge.dtype_mismatch"},
      {{"longer", "a", "b"}, "error merge.shape_mismatch, error merge.shape_mismatch"},
  };
  for (const auto& test : kCases) {
    std::vector<std::string> paths;
    for (const std::string& name : test.inputs) paths.push_back(directory / name);
    const plan::Report report = CheckPlan(PlanOf(paths), {});
    EXPECT_EQ(Ids(report), test.ids) << Messages(report);
    EXPECT_EQ(FindChecked(report, "against each other") != nullptr, paths.size() > 1);
  }
}

TEST(CheckPlan, WhatTheMergeToComeWouldSettleIsAWarning) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678", DType::kF32, true);
  SaveModel(directory / "b", "abcdefgh", DType::kF32, true);
  plan::Plan plan = PlanOf({directory / "a", directory / "b"});
  EXPECT_EQ(Ids(CheckPlan(plan, {})), "warning merge.training_state, warning merge.training_state");
  plan.inputs[0].weight = plan.inputs[1].weight = 0.5;
  plan.steps = {plan::MergeStep()};
  EXPECT_EQ(Ids(CheckPlan(plan, {})), "error merge.training_state, error merge.training_state");
  plan::MergeStep weights_only;
  weights_only.weights_only = true;
  plan.steps = {weights_only};
  EXPECT_EQ(Ids(CheckPlan(plan, {})), "");
}

TEST(CheckPlan, AMergeWithoutWeightsCannotRun) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  SaveModel(directory / "b", "abcdefgh");
  plan::Plan plan = PlanOf({directory / "a", directory / "b"});
  plan.steps = {plan::MergeStep()};
  EXPECT_EQ(Ids(CheckPlan(plan, {})), "error plan.missing_weight");
  plan::MergeStep from_the_eighth;
  from_the_eighth.extra_state_from = 7;
  plan.steps = {from_the_eighth};
  EXPECT_EQ(Ids(CheckPlan(plan, {})), "error plan.bad_index");
  plan.steps = {plan::RetargetStep()};
  EXPECT_EQ(Ids(CheckPlan(plan, {})), "error plan.needs_merge");
}

TEST(CheckPlan, ADamagedInputIsAFindingAndTheOthersAreChecked) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  SaveModel(directory / "b", "abcdefgh");
  directory.Write("a/.metadata", "");
  std::filesystem::resize_file(directory / "b/__0_0.distcp", 10);
  const plan::Report report = CheckPlan(PlanOf({directory / "a", directory / "b"}), {});
  EXPECT_EQ(Ids(report), "error pickle.no_stop, error files.data_incomplete, error checkpoint.short_file");
  EXPECT_FALSE(FindChecked(report, "against each other"));
}

TEST(CheckPlan, AnInputThatIsNotWhatThePlanSaysIsThrown) {
  const fs::TestDirectory directory;
  SaveModel(directory / "a", "12345678");
  plan::Plan plan = PlanOf({directory / "a"});
  plan.inputs[0].metadata_sha256 = std::string(64, '0');
  EXPECT_EQ(ErrorOf([&] { CheckPlan(plan, {}); }), "5 pipeline.input_changed");
  plan.inputs[0].path = directory / "gone";
  EXPECT_EQ(ErrorOf([&] { CheckPlan(plan, {}); }), "3 checkpoint.not_found");
  EXPECT_EQ(ErrorOf([&] { CheckPlan({}, {}); }), "3 plan.no_inputs");
}

}  // namespace
}  // namespace ck::validate
