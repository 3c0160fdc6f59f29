// Writing safetensors: a model is copied, sharded, indexed from what was written, and read back before it is published.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/plan/plan.h"
#include "libs/run/carry_out.h"
#include "libs/run/execute.h"
#include "libs/run/index_file.h"
#include "libs/run/layout.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/run/verify.h"
#include "libs/safetensors/header.h"

namespace ck::run {
namespace {

namespace stdfs = std::filesystem;
using checkpoint::Checkpoint;

constexpr char kModels[] = "testdata/fixtures/hf";

plan::Plan CopyOf(const std::string& path) {
  plan::Plan plan;
  plan.inputs = {{.path = fs::AbsolutePath(path), .iteration = {}, .format = plan::Format::kSafetensors, .weight = {}, .metadata_sha256 = {}}};
  return plan;
}

CarryOutOptions To(const std::string& output) {
  CarryOutOptions options;
  options.output = output;
  options.threads = 2;
  options.durability = fs::Durability::kNoSync;
  return options;
}

std::string ReadAll(const std::string& path) { return fs::ReadSmallFile(path, 1 << 28); }

// The view of a copy without any sidecar.
transform::View BareView(const std::string& path) {
  transform::View view;
  view.inputs = {Checkpoint::Open(path)};
  view.format = checkpoint::Format::kSafetensors;
  for (const dcp::Tensor& tensor : view.inputs[0]->tensors()) {
    const auto leaf = static_cast<uint32_t>(view.leaves.size());
    view.leaves.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = transform::Arithmetic::kCopy, .terms = {{.input = 0, .weight = 1.0}}});
    view.tensors.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .chunks = {Box::Whole(tensor.shape)},
                            .pieces = {transform::Piece::Whole(leaf, tensor.shape)}});
  }
  return view;
}

TEST(SafetensorsOutput, CopiesEveryModelWithItsSideFilesAndNothingElse) {
  size_t copied = 0;
  for (const auto& entry : stdfs::directory_iterator(kModels)) {
    const std::string path = entry.path() / "model";
    if (!fs::Stat(fs::JoinPath(path, "config.json"))) continue;
    SCOPED_TRACE(path);
    const fs::TestDirectory scratch;
    const Outcome outcome = CarryOut(CopyOf(path), To(scratch / "out"), {});
    EXPECT_EQ(outcome.result.output, scratch / "out");
    const auto source = Checkpoint::Open(path), copy = Checkpoint::Open(scratch / "out");
    EXPECT_EQ(ReadTensors(*copy), ReadTensors(*source));
    EXPECT_TRUE(copy->metadata().notes.empty());
    EXPECT_EQ(ReadAll(scratch / "out/config.json"), ReadAll(path + "/config.json"));
    for (const fs::Entry& file : fs::ListDirectory(scratch / "out")) {
      const bool expected = file.name == "ck-plan.json" || file.name == "model.safetensors" || fs::Stat(fs::JoinPath(path, file.name)).has_value();
      EXPECT_TRUE(expected) << file.name;
    }
    ++copied;
  }
  EXPECT_GE(copied, 57u);
}

// Rows of two halves become alternate columns: a dimension of two that the file does not have.
TEST(SafetensorsOutput, ADimensionOfTheResultNeedNotBeOneOfTheFile) {
  transform::View view = BareView(Cat(kModels, "/llama_tied/model"));
  const auto at = std::find_if(view.tensors.begin(), view.tensors.end(), [](const auto& tensor) { return tensor.name == "model.layers.0.mlp.gate_proj.weight"; });
  ASSERT_EQ(at->shape, (Dims{40, 24}));  // halves of 20 rows; result [24, 20, 2]
  transform::Tensor& tensor = *at;
  tensor.shape = {24, 20, 2};
  tensor.file_shape = Dims{24, 40};
  tensor.chunks = {Box::Whole(tensor.shape)};
  const uint32_t leaf = tensor.pieces[0].leaf;
  tensor.pieces.clear();
  for (uint64_t half = 0; half < 2; ++half) {
    tensor.pieces.push_back({.target = {{0, 0, half}, {24, 20, 1}}, .leaf = leaf, .source_offset = {20 * half, 0}, .axes = {{1, 1}, {0, 1}}});
  }
  transform::CheckView(view);
  const fs::TestDirectory scratch;
  const Layout layout = LayOutSafetensors(view, {});
  Execute(view, layout, scratch.path(), {.threads = 2, .durability = fs::Durability::kNoSync, .tile_bytes = 52, .stop_requested = {}, .progress = {}});
  VerifyWritten(view, layout, scratch.path());
  const auto source = ReadTensors(*view.inputs[0]), written = ReadTensors(*Checkpoint::Open(scratch.path()));
  const WholeTensor &before = source.at(tensor.name), &after = written.at(tensor.name);
  ASSERT_EQ(after.shape, (Dims{24, 40}));
  const uint64_t size = after.bytes.size() / (24 * 40);
  for (uint64_t row = 0; row < 24; ++row) {
    for (uint64_t column = 0; column < 40; ++column) {
      const uint64_t from = (column % 2 * 20 + column / 2) * 24 + row;
      ASSERT_EQ(after.bytes.substr((row * 40 + column) * size, size), before.bytes.substr(from * size, size)) << row << " " << column;
    }
  }
}

TEST(SafetensorsOutput, WeightsAndIndexesOfOtherFormsStayBehind) {
  const fs::TestDirectory scratch;
  const std::string source = scratch / "in";
  stdfs::copy(Cat(kModels, "/llama_sharded/model"), source, stdfs::copy_options::recursive);
  stdfs::create_directories(source + "/original");
  const std::vector<std::string> kept = {"tokenizer.json", "tokenizer.model", "chat_template.jinja", "original/params.json"};
  const std::vector<std::string> left = {"pytorch_model.bin", "pytorch_model.bin.index.json", "adapter.safetensors", "old.safetensors.index.json", "original/consolidated.00.pth",
                                         ".gitattributes"};
  for (const auto& names : {kept, left}) {
    for (const std::string& name : names) std::ofstream(fs::JoinPath(source, name)) << "text of " << name;
  }
  const Outcome outcome = CarryOut(CopyOf(source), To(scratch / "out"), {});
  for (const std::string& name : kept) EXPECT_EQ(ReadAll(scratch / ("out/" + name)), "text of " + name);
  for (const std::string& name : left) {
    EXPECT_FALSE(fs::Stat(scratch / ("out/" + name))) << name;
    EXPECT_TRUE(std::any_of(outcome.notes.begin(), outcome.notes.end(), [&](const std::string& note) { return note.find(Quote(name)) != std::string::npos; })) << name;
  }
}

TEST(SafetensorsOutput, AnIterationOfTheSourceMakesNoFolderAndNoMarker) {
  const fs::TestDirectory scratch;
  plan::Plan plan = CopyOf(Cat(kModels, "/llama_tied/model"));
  plan.target = 1000;
  const Outcome outcome = CarryOut(plan, To(scratch / "out"), {});
  EXPECT_EQ(outcome.result.output, scratch / "out");
  EXPECT_EQ(outcome.result.iteration, plan::TargetIteration());
  EXPECT_FALSE(fs::Stat(scratch / "latest_checkpointed_iteration.txt"));
  CarryOutOptions skip = To(scratch / "out");
  skip.if_same = IfSame::kSkip;
  EXPECT_TRUE(CarryOut(plan, skip, {}).skipped);
}

TEST(SafetensorsOutput, ADryRunNamesTheFiles) {
  const fs::TestDirectory scratch;
  const DryRunReport report = DryRun(CopyOf(Cat(kModels, "/llama_tied/model")), To(scratch / "out"), {});
  const Outcome outcome = CarryOut(CopyOf(Cat(kModels, "/llama_tied/model")), To(scratch / "out"), {});
  EXPECT_EQ(report.files, outcome.result.files);
  uint64_t bytes = 0;
  for (const fs::Entry& file : fs::ListDirectory(scratch / "out")) bytes += file.info.size_bytes;
  EXPECT_EQ(report.bytes_to_write, bytes);
}

TEST(SafetensorsOutput, MergingIsRefusedByName) {
  const fs::TestDirectory scratch;
  plan::Plan plan = CopyOf(Cat(kModels, "/llama_tied/model"));
  plan.inputs[0].weight = 1.0;
  plan.steps = {plan::MergeStep{}};
  try {
    CarryOut(plan, To(scratch / "out"), {});
    FAIL() << "a merge of safetensors was carried out";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "merge.unsupported_format");
  }
}

class ShardedOutput : public testing::Test {
 protected:
  void SetUp() override {
    view_ = BareView(Cat(kModels, "/qwen2/model"));
    layout_ = LayOutSafetensors(view_, {.max_shard_size = 10'000});
    stdfs::create_directories(directory_);
    Execute(view_, layout_, directory_, {.threads = 3, .durability = fs::Durability::kNoSync, .tile_bytes = 1000, .stop_requested = {}, .progress = {}});
  }

  void WriteIndex(const std::string& content) { std::ofstream(fs::JoinPath(directory_, kSafetensorsIndexFile)) << content; }

  std::string IdOfVerify() {
    try {
      VerifyWritten(view_, layout_, directory_);
    } catch (const Error& error) {
      return error.id();
    }
    return "";
  }

  fs::TestDirectory scratch_;
  std::string directory_ = scratch_ / "out";
  transform::View view_;
  Layout layout_;
};

TEST_F(ShardedOutput, TheIndexIsMadeFromTheFilesAndIsWhatWasPlanned) {
  ASSERT_GT(layout_.files.size(), 3u);
  const SmallFile index = IndexOfWritten(layout_, directory_);
  EXPECT_EQ(index.content, layout_.index->content);
  WriteIndex(index.content);
  EXPECT_EQ(IdOfVerify(), "");
  EXPECT_EQ(ReadTensors(*Checkpoint::Open(directory_)), ReadTensors(*view_.inputs[0]));
  const safetensors::Index read = safetensors::ReadIndex(index.content);
  EXPECT_EQ(read.total_size, transform::DataBytes(view_));
  EXPECT_EQ(read.weight_map.size(), view_.tensors.size());
}

TEST_F(ShardedOutput, TheBytesDoNotDependOnThreadsOrTiles) {
  const std::string other = scratch_ / "other";
  stdfs::create_directories(other);
  Execute(view_, layout_, other, {.threads = 1, .durability = fs::Durability::kNoSync, .tile_bytes = 1 << 20, .stop_requested = {}, .progress = {}});
  for (const OutputFile& file : layout_.files) EXPECT_EQ(ReadAll(fs::JoinPath(directory_, file.name)), ReadAll(fs::JoinPath(other, file.name)));
}

TEST_F(ShardedOutput, AGhostInTheIndexIsFound) {
  std::string ghost = layout_.index->content;
  ghost.replace(ghost.find("model.embed_tokens"), 5, "ghost");
  WriteIndex(ghost);
  EXPECT_EQ(IdOfVerify(), "run.verify_failed");
}

TEST_F(ShardedOutput, AMissingIndexIsFound) { EXPECT_NE(IdOfVerify(), ""); }

TEST_F(ShardedOutput, AShortOrChangedFileIsFound) {
  WriteIndex(layout_.index->content);
  const std::string path = fs::JoinPath(directory_, layout_.files[1].name);
  const std::string content = ReadAll(path);
  std::ofstream(path) << content.substr(0, content.size() - 1);
  EXPECT_EQ(IdOfVerify(), "run.verify_failed");
  std::string changed = content;
  changed[changed.find("\"dtype\"") + 1] = 'D';
  std::ofstream(path) << changed;
  EXPECT_EQ(IdOfVerify(), "run.verify_failed");
  EXPECT_THROW(IndexOfWritten(layout_, directory_), Error);
  std::ofstream(path) << content;
  EXPECT_EQ(IdOfVerify(), "");
}

}  // namespace
}  // namespace ck::run
