#include "libs/transform/merge.h"

#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/testing/tiny_checkpoint.h"
#include "libs/fs/test_directory.h"
#include "libs/pickle/graph.h"
#include "libs/torchsave/read.h"

namespace ck::transform {
namespace {

using checkpoint::TinyCheckpoint;

plan::Plan PlanOver(const MergeInputs& inputs, const std::vector<double>& weights, const plan::MergeStep& step) {
  plan::Plan plan;
  for (size_t i = 0; i < weights.size(); ++i) {
    plan.inputs.push_back({.path = inputs.checkpoints[i]->path(), .iteration = std::nullopt, .format = plan::Format::kTorchDist, .weight = weights[i], .metadata_sha256 = {}});
  }
  plan.steps = {step};
  return plan;
}

View Build(plan::Plan plan, const MergeInputs& inputs) {
  const auto& step = std::get<plan::MergeStep>(plan.steps[0]);
  EXPECT_TRUE(CheckMerge(plan, step, inputs).empty());
  View view = MergeView(plan, step, inputs, "ck 0");
  CheckView(view);
  return view;
}

const Leaf& LeafOf(const View& view, const std::string& name) {
  for (const Leaf& leaf : view.leaves) {
    if (leaf.name == name) return leaf;
  }
  throw std::runtime_error("no leaf " + name);
}

DType DTypeOf(const View& view, const std::string& name) {
  for (const Tensor& tensor : view.tensors) {
    if (tensor.name == name) return tensor.dtype;
  }
  throw std::runtime_error("no tensor " + name);
}

std::vector<uint32_t> InputsOf(const Leaf& leaf) {
  std::vector<uint32_t> inputs;
  for (const Term& term : leaf.terms) inputs.push_back(term.input);
  return inputs;
}

pickle::Ref Provenance(const View& view) { return view.common->graph.Find(view.common->root, "weighted_merge_provenance"); }

std::string StringAt(const View& view, std::string_view key) { return std::string(view.common->graph.bytes(view.common->graph.Find(Provenance(view), key))); }

// A model at iterations 10, 20 and 30. Its common state records them; directory names say nothing.
class MergeTest : public testing::Test {
 protected:
  MergeTest() {
    int64_t iteration = 0;
    for (const char* name : {"a", "b", "c"}) {
      TinyCheckpoint checkpoint(directory_ / name);
      checkpoint.Tensor("decoder.weight", DType::kBF16, {4, 6}, {Box{{0, 0}, {2, 6}}, Box{{2, 0}, {2, 6}}})
          .Tensor("decoder.router.expert_bias", DType::kF32, {3})
          .Tensor("decoder.fp8._extra_state", DType::kU8, {7})
          .Object("decoder._extra_state", name)
          .CommonPt(iteration += 10);
      inputs_.checkpoints.push_back(checkpoint.Open());
    }
  }

  View Merge(const plan::MergeStep& step = {}, plan::TargetIteration target = {}, const std::vector<double>& weights = {0.5, 0.25, 0.25}) {
    plan::Plan plan = PlanOver(inputs_, weights, step);
    plan.target = target;
    return Build(plan, inputs_);
  }

  fs::TestDirectory directory_;
  MergeInputs inputs_;
};

TEST_F(MergeTest, SumsInInputOrderAndKeepsChunks) {
  const View view = Merge();
  EXPECT_EQ(view.averaged_tensors, 2u);
  EXPECT_EQ(view.copied_extra_states, 2u);
  const Leaf& leaf = LeafOf(view, "decoder.weight");
  EXPECT_EQ(leaf.arithmetic, Arithmetic::kWeightedSum);
  EXPECT_EQ(InputsOf(leaf), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(leaf.terms[0].weight, 0.5);
  for (const Tensor& tensor : view.tensors) {
    if (tensor.name != "decoder.weight") continue;
    EXPECT_EQ(tensor.chunks, (std::vector<Box>{Box{{0, 0}, {2, 6}}, Box{{2, 0}, {2, 6}}}));
  }
}

TEST_F(MergeTest, AnInputOfWeightZeroIsNotRead) {
  const View view = Merge({}, {}, {0.5, 0, 0.5});
  EXPECT_EQ(InputsOf(LeafOf(view, "decoder.weight")), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(InputsOf(LeafOf(Merge({}, {}, {0.5, -0.0, 0.5}), "decoder.weight")), (std::vector<uint32_t>{0, 2}));
}

TEST_F(MergeTest, DtypesOfTheResult) {
  plan::MergeStep step;
  EXPECT_EQ(DTypeOf(Merge(step), "decoder.weight"), DType::kBF16);
  step.dtype = plan::SaveDtype::kFloat16;
  EXPECT_EQ(DTypeOf(Merge(step), "decoder.weight"), DType::kF16);
  EXPECT_EQ(DTypeOf(Merge(step), "decoder.router.expert_bias"), DType::kF32) << "kept: fp32 matters to a router's bias";
  EXPECT_EQ(DTypeOf(Merge(step), "decoder.fp8._extra_state"), DType::kU8) << "copied, never cast";
  step.cast_all = true;
  EXPECT_EQ(DTypeOf(Merge(step), "decoder.router.expert_bias"), DType::kF16);
  EXPECT_EQ(StringAt(Merge(step), "output_dtype"), "float16");
}

TEST_F(MergeTest, CommonStateIsOfTheInputThatRecordsTheOutputIteration) {
  const struct {
    plan::TargetIteration target;
    plan::CommonFrom common_from;
    uint32_t source;
  } cases[] = {
      {{}, {}, 0}, {10, {}, 0}, {20, {}, 1}, {30, {}, 2}, {99, {}, 0}, {plan::Release{}, {}, 0}, {20, uint64_t{2}, 2}, {{}, uint64_t{1}, 1},
  };
  for (const auto& c : cases) {
    plan::MergeStep step;
    step.common_from = c.common_from;
    const View view = Merge(step, c.target);
    EXPECT_EQ(view.common_input, c.source);
    EXPECT_EQ(StringAt(view, "common_state_source_path"), inputs_.checkpoints[c.source]->path());
    EXPECT_EQ(LeafOf(view, "decoder.fp8._extra_state").terms[0].input, 0u) << "extra states have a source of their own";
    const pickle::Graph& graph = view.common->graph;
    const int64_t* number = std::get_if<int64_t>(&c.target);
    const int64_t expected = number ? *number : (c.source + 1) * 10;
    EXPECT_EQ(graph.AsInt(graph.Find(view.common->root, "iteration")), expected);
    EXPECT_EQ(graph.AsInt(graph.Attribute(graph.Find(view.common->root, "args"), "iteration")), expected);
  }
}

TEST_F(MergeTest, ExtraStatesComeFromOneInput) {
  plan::MergeStep step;
  step.extra_state_from = 2;
  const View view = Merge(step);
  EXPECT_EQ(LeafOf(view, "decoder.fp8._extra_state").terms[0].input, 2u);
  ASSERT_EQ(view.objects.size(), 1u);
  EXPECT_EQ(view.objects[0].input, 2u);
  EXPECT_EQ(StringAt(view, "extra_state_source_path"), inputs_.checkpoints[2]->path());
}

TEST_F(MergeTest, AnExplicitSourceGivesCommonAndExtraStates) {
  plan::MergeStep step;
  inputs_.common = inputs_.checkpoints[1];
  inputs_.checkpoints.pop_back();
  step.common_from = inputs_.common->path();
  const View view = Build(PlanOver(inputs_, {0.5, 0.5}, step), inputs_);
  EXPECT_EQ(view.inputs.size(), 3u);
  EXPECT_EQ(view.common_input, 2u);
  EXPECT_EQ(view.objects[0].input, 2u);
  EXPECT_EQ(StringAt(view, "common_state_source_path"), inputs_.common->path());
}

TEST_F(MergeTest, InputsWithoutExtraStatesTakeThoseOfTheExplicitSource) {
  MergeInputs inputs;
  for (const char* name : {"shards_a", "shards_b"}) {
    TinyCheckpoint shards(directory_ / name);
    shards.Tensor("decoder.weight", DType::kBF16, {4, 6}).Tensor("decoder.router.expert_bias", DType::kF32, {3});
    inputs.checkpoints.push_back(shards.Open());
  }
  inputs.common = inputs_.checkpoints[2];
  plan::MergeStep step;
  step.common_from = inputs.common->path();
  const View view = Build(PlanOver(inputs, {0.5, 0.5}, step), inputs);
  EXPECT_EQ(view.copied_extra_states, 2u);
  EXPECT_EQ(LeafOf(view, "decoder.fp8._extra_state").terms[0].input, 2u);
}

TEST_F(MergeTest, ModelOnlyInputsGiveProvenanceAndIterationOnly) {
  MergeInputs inputs;
  TinyCheckpoint shards(directory_ / "shards");
  inputs.checkpoints = {shards.Tensor("decoder.weight", DType::kF32, {2}).Open()};
  plan::Plan plan = PlanOver(inputs, {1}, {});
  const View without = Build(plan, inputs);
  EXPECT_EQ(without.common->graph.entries(without.common->root).size(), 1u);
  EXPECT_EQ(without.common->graph.kind(without.common->graph.Find(Provenance(without), "common_state_source_path")), pickle::Kind::kNone);
  plan.target = 40;
  const View with = Build(plan, inputs);
  EXPECT_EQ(with.common->graph.entries(with.common->root).size(), 2u);
  EXPECT_EQ(with.common->graph.AsInt(with.common->graph.Find(with.common->root, "iteration")), 40);
}

TEST_F(MergeTest, TrainingStateIsLeftOutByNameAndCounted) {
  MergeInputs inputs;
  TinyCheckpoint full(directory_ / "full");
  full.Tensor("decoder.weight", DType::kF32, {2}).Tensor("optimizer.state.exp_avg", DType::kF32, {3, 5}).Tensor("optimizer.state.param", DType::kF32, {7});
  full.Object("rng_state/shard_0_1", "x").CommonPt(1);
  inputs.checkpoints = {full.Open()};
  plan::MergeStep step;
  step.weights_only = true;
  const View view = Build(PlanOver(inputs, {1}, step), inputs);
  ASSERT_EQ(view.left_out.size(), 2u);
  EXPECT_EQ(view.left_out[0].rule, "optimizer");
  EXPECT_EQ(view.left_out[0].count, 2u);
  EXPECT_EQ(view.left_out[0].bytes, (3u * 5 + 7) * 4);
  EXPECT_EQ(view.left_out[1].rule, "rng");
  EXPECT_EQ(view.left_out[1].count, 1u);
  EXPECT_EQ(view.tensors.size(), 1u);
  EXPECT_TRUE(view.objects.empty());
}

TEST_F(MergeTest, TensorsWithoutAnAverageAreComparedAmongTheInputsThatCount) {
  MergeInputs inputs;
  for (const char* name : {"x", "y", "z"}) {
    TinyCheckpoint one(directory_ / name);
    inputs.checkpoints.push_back(one.Tensor("decoder.count", DType::kI64, {3}).Open());
  }
  plan::MergeStep step;
  step.copy_identical = true;
  const View view = Build(PlanOver(inputs, {0.5, 0, 0.5}, step), inputs);
  EXPECT_EQ(view.leaves[0].arithmetic, Arithmetic::kIdentical);
  EXPECT_EQ(InputsOf(view.leaves[0]), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(view.averaged_tensors, 0u);
}

TEST_F(MergeTest, RunningStatisticsAreAWarning) {
  EXPECT_TRUE(Merge().warnings.empty());
  MergeInputs inputs;
  TinyCheckpoint model(directory_ / "norm");
  inputs.checkpoints = {model.Tensor("model.bn.running_mean", DType::kF32, {3}).Tensor("model.bn.weight", DType::kF32, {3}).Open()};
  const View view = Build(PlanOver(inputs, {1}, {}), inputs);
  ASSERT_EQ(view.warnings.size(), 1u);
  EXPECT_EQ(view.warnings[0].id, "merge.running_statistics");
  EXPECT_EQ(view.warnings[0].severity, plan::Severity::kWarning);
  EXPECT_EQ(view.averaged_tensors, 2u);
}

// fsdp_dtensor and plain DCP: the common state is a set of objects.
TEST_F(MergeTest, LooseCommonObjectsComeFromTheSourceOfTheOutputIteration) {
  MergeInputs inputs;
  for (int64_t iteration : {10, 20}) {
    pickle::Graph graph;
    const pickle::Ref args = graph.NewObject(pickle::Form::kNewObj, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
    graph.SetAttribute(args, "iteration", graph.NewInt(iteration));
    graph.SetAttribute(args, "hidden_size", graph.NewInt(iteration + 1));
    const pickle::Ref number = graph.NewInt(iteration);
    TinyCheckpoint one(directory_ / Cat("fsdp_", iteration));
    one.Tensor("model.weight", DType::kF32, {4}).GraphObject("args", graph, args).GraphObject("iteration", graph, number).WithoutMetadataJson();
    // Only the second has this one: a source gives all of its common objects.
    if (iteration == 20) one.GraphObject("checkpoint_version", graph, number);
    inputs.checkpoints.push_back(one.Open());
  }
  plan::Plan plan = PlanOver(inputs, {0.5, 0.5}, {});
  EXPECT_EQ(Build(plan, inputs).objects.size(), 2u);
  plan.target = 20;
  const View second = Build(plan, inputs);
  EXPECT_EQ(second.common_input, 1u);
  EXPECT_EQ(second.objects.size(), 3u);
  EXPECT_FALSE(second.common.has_value()) << "no common.pt in these formats";
  plan.target = 30;
  const View other = Build(plan, inputs);
  EXPECT_EQ(other.common_input, 0u);
  for (const Object& object : other.objects) {
    ASSERT_TRUE(object.literal.has_value()) << object.name;
    const torchsave::SavedObject read = torchsave::ReadObject(bytes::StringSource(*object.literal));
    const bool is_args = object.name == "args";
    EXPECT_EQ(read.graph.AsInt(is_args ? read.graph.Attribute(read.root, "iteration") : read.root), 30) << object.name;
    if (!is_args) continue;
    EXPECT_EQ(read.graph.AsInt(read.graph.Attribute(read.root, "hidden_size")), 11);
  }
}

TEST_F(MergeTest, AMergeOfMergesKeepsTheEarlierProvenance) {
  View view = Merge();
  megatron::MergeProvenance later;
  later.producer = "ck 1";
  megatron::SetProvenance(*view.common, later);
  const pickle::Graph& graph = view.common->graph;
  const pickle::Ref earlier = graph.Find(Provenance(view), "source_provenance");
  ASSERT_NE(earlier, pickle::kNoRef);
  EXPECT_EQ(graph.items(graph.Find(earlier, "weights")).size(), 3u);
}

}  // namespace
}  // namespace ck::transform
