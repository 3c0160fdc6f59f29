#include "libs/run/identical.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/checkpoint/testing/tiny_checkpoint.h"
#include "libs/fs/test_directory.h"
#include "libs/transform/merge.h"

namespace ck::run {
namespace {

using checkpoint::TinyCheckpoint;

// A counter and a large table of integers, in chunks of their own: byte i of a chunk is i + fill.
std::shared_ptr<const checkpoint::Checkpoint> Integers(const std::string& path, uint8_t counter_fill, uint8_t table_fill) {
  TinyCheckpoint checkpoint(path);
  checkpoint.Tensor("decoder.counter", DType::kI64, {}, {}, counter_fill);
  checkpoint.Tensor("decoder.table", DType::kU8, {700, 1000}, {Box{{0, 0}, {300, 1000}}, Box{{300, 0}, {400, 1000}}}, table_fill);
  checkpoint.Tensor("decoder.none", DType::kI32, {0, 3});
  return checkpoint.Open();
}

// The id and message of comparing them in a merge with copy_identical; "" when they are equal.
std::string Compared(const std::vector<std::shared_ptr<const checkpoint::Checkpoint>>& checkpoints, const std::vector<double>& weights) {
  plan::Plan plan;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    plan.inputs.push_back({.path = checkpoints[i]->path(), .iteration = std::nullopt, .format = plan::Format::kTorchDist, .weight = weights[i], .metadata_sha256 = {}});
  }
  plan::MergeStep step;
  step.copy_identical = true;
  const transform::MergeInputs inputs{.checkpoints = checkpoints, .common = nullptr};
  EXPECT_TRUE(transform::CheckMerge(plan, step, inputs).empty());
  try {
    CheckIdentical(transform::MergeView(plan, step, inputs, "ck 0"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id() + ": " + error.message();
  }
  return "";
}

TEST(Identical, ComparesEveryElementOfEveryInput) {
  const fs::TestDirectory directory;
  const auto a = Integers(directory / "a", 1, 2), b = Integers(directory / "b", 1, 2);
  EXPECT_EQ(Compared({a, b}, {0.5, 0.5}), "");
  EXPECT_EQ(Compared({a}, {1}), "");
  const auto counter = Integers(directory / "counter", 9, 2);
  const std::string one = Compared({a, b, counter}, {0.4, 0.3, 0.3});
  EXPECT_EQ(one.substr(0, one.find(';')), "merge.not_identical: 1 tensor without an average not equal in all inputs: 'decoder.counter'");
  const auto both = Integers(directory / "both", 9, 3);
  const std::string two = Compared({a, both}, {0.5, 0.5});
  EXPECT_NE(two.find("2 tensors"), std::string::npos) << two;
  EXPECT_NE(two.find("'decoder.counter', 'decoder.table'"), std::string::npos) << two;
}

TEST(Identical, AnInputOfWeightZeroDoesNotCount) {
  const fs::TestDirectory directory;
  const auto a = Integers(directory / "a", 1, 2), other = Integers(directory / "other", 9, 3);
  EXPECT_EQ(Compared({a, other, a}, {0.5, 0, 0.5}), "");
}

TEST(Identical, TheLastElementCounts) {
  const fs::TestDirectory directory;
  const auto a = Integers(directory / "a", 1, 2);
  const std::string path = directory / "b";
  const auto b = Integers(path, 1, 2);
  // The last byte of the data of the second chunk of the table.
  const dcp::Tensor& table = *b->FindTensor("decoder.table");
  const auto located = b->Locate(table, table.chunks[1]);
  std::string file = fs::ReadAll(path + "/__0_0.distcp");
  file[table.chunks[1].item.offset + located.data_offset + 400 * 1000 - 1] ^= 1;
  directory.Write("b/__0_0.distcp", file);
  const std::string found = Compared({a, checkpoint::Checkpoint::Open(path)}, {0.5, 0.5});
  EXPECT_NE(found.find("element 699999 of 'decoder.table'"), std::string::npos) << found;
}

}  // namespace
}  // namespace ck::run
