#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/checkpoint/testing/tiny_checkpoint.h"
#include "libs/fs/test_directory.h"
#include "libs/transform/merge.h"

namespace ck::transform {
namespace {

using checkpoint::TinyCheckpoint;

// Two checkpoints of one small model, A at iteration 10 and B at 20, and C, which may supply the common state. A case changes them and the step.
struct Scene {
  explicit Scene(const fs::TestDirectory& directory)
      : a(directory / "iter_0000010"), b(directory / "iter_0000020"), c(directory / "common") {
    for (TinyCheckpoint* checkpoint : {&a, &b}) AddModel(*checkpoint);
    a.CommonPt(10);
    b.CommonPt(20);
  }

  static void AddModel(TinyCheckpoint& checkpoint) {
    checkpoint.Tensor("decoder.weight", DType::kBF16, {4, 6}, {Box{{0, 0}, {2, 6}}, Box{{2, 0}, {2, 6}}}).Object("decoder._extra_state", "state");
  }

  // The plan, with what the case made of the checkpoints.
  MergeInputs Open() {
    plan.inputs.clear();
    MergeInputs out;
    for (TinyCheckpoint* checkpoint : {&a, &b}) {
      out.checkpoints.push_back(checkpoint->Open());
      plan.inputs.push_back({.path = checkpoint->path(), .iteration = std::nullopt, .format = plan::Format::kTorchDist, .weight = weight, .metadata_sha256 = {}});
    }
    if (explicit_common) {
      out.common = c.Open();
      step.common_from = c.path();
    }
    return out;
  }

  TinyCheckpoint a, b, c;
  plan::Plan plan;
  plan::MergeStep step;
  double weight = 0.5;
  bool explicit_common = false;
};

std::vector<std::string> Ids(const std::vector<plan::Finding>& findings) {
  std::vector<std::string> ids;
  for (const plan::Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

struct Case {
  const char* name;
  std::function<void(Scene&)> change;
  std::vector<std::string> ids;
};

const Case kCases[] = {
    {"equal layouts", [](Scene&) {}, {}},
    {"weights of 0", [](Scene& s) { s.weight = 0; }, {"merge.all_weights_zero"}},
    {"a weight over the range of float", [](Scene& s) { s.weight = 1e39; }, {"merge.weight_not_finite", "merge.weight_not_finite"}},
    {"another format", [](Scene& s) { s.b.WithoutMetadataJson(); }, {"merge.format_differs"}},
    {"a tensor more in each", [](Scene& s) { s.a.Tensor("decoder.bias", DType::kBF16, {4}); s.b.Tensor("mtp.bias", DType::kBF16, {4}); },
     {"merge.missing_keys", "merge.unexpected_keys"}},
    {"an extra state less", [](Scene& s) { s.a.Object("mtp._extra_state", ""); }, {"merge.missing_keys"}},
    {"an extra state more", [](Scene& s) { s.b.Object("mtp._extra_state", ""); }, {"merge.unexpected_keys"}},
    {"an extra state as tensor against bytes",
     [](Scene& s) { s.a.Tensor("mtp._extra_state", DType::kU8, {3}); s.b.Object("mtp._extra_state", ""); },
     {"merge.missing_keys", "merge.unexpected_keys"}},
    {"extra state tensors of other lengths and dtypes",
     [](Scene& s) { s.a.Tensor("mtp._extra_state", DType::kU8, {3}); s.b.Tensor("mtp._extra_state", DType::kF32, {5, 7}); }, {}},
    {"another shape", [](Scene& s) { s.a.Tensor("decoder.bias", DType::kBF16, {4}); s.b.Tensor("decoder.bias", DType::kBF16, {5}); }, {"merge.shape_mismatch"}},
    {"another dtype", [](Scene& s) { s.a.Tensor("decoder.bias", DType::kBF16, {4}); s.b.Tensor("decoder.bias", DType::kF32, {4}); }, {"merge.dtype_mismatch"}},
    {"another dtype and another shape", [](Scene& s) { s.a.Tensor("decoder.bias", DType::kBF16, {4}); s.b.Tensor("decoder.bias", DType::kF32, {5}); },
     {"merge.dtype_mismatch", "merge.shape_mismatch"}},
    {"other chunks", [](Scene& s) { s.a.Tensor("decoder.bias", DType::kBF16, {4}); s.b.Tensor("decoder.bias", DType::kBF16, {4}, {Box{{0}, {1}}, Box{{1}, {3}}}); },
     {"merge.layout_mismatch"}},
    {"integers", [](Scene& s) { for (auto* x : {&s.a, &s.b}) x->Tensor("decoder.count", DType::kI64, {2}); }, {"merge.not_floating", "merge.not_floating"}},
    {"integers to be copied", [](Scene& s) { for (auto* x : {&s.a, &s.b}) x->Tensor("decoder.count", DType::kI64, {2}); s.step.copy_identical = true; }, {}},
    {"optimizer tensors and rng objects", [](Scene& s) { s.a.Tensor("optimizer.state.exp_avg", DType::kF32, {4}).Object("rng_state/shard_0_1", ""); },
     {"merge.training_state", "merge.training_state"}},
    {"the same with weights_only", [](Scene& s) { s.a.Tensor("optimizer.state.exp_avg", DType::kF32, {4}).Object("rng_state/shard_0_1", ""); s.step.weights_only = true; }, {}},
    {"a tensor under a foreign root", [](Scene& s) { for (auto* x : {&s.a, &s.b}) x->Tensor("teacher.weight", DType::kF32, {4}); },
     {"merge.training_state", "merge.training_state"}},
    {"a byte object under a model key, also with weights_only", [](Scene& s) { s.b.Object("decoder.thing", ""); s.step.weights_only = true; }, {"merge.model_object"}},
    {"stacked against per layer",
     [](Scene& s) {
       s.a.Tensor("decoder.layers.mlp.weight", DType::kF32, {2, 3, 5});
       s.b.Tensor("decoder.layers.0.mlp.weight", DType::kF32, {3, 5}).Tensor("decoder.layers.1.mlp.weight", DType::kF32, {3, 5});
     },
     {"merge.layer_layout_differs"}},
    {"both forms of the common state", [](Scene& s) { s.b.EmbeddedCommon(20); }, {"merge.mixed_common_state"}},
    {"an unknown embedded common state", [](Scene& s) { s.b.Object("common_state/shard_1_2", ""); }, {"common.unknown_layout"}},
    {"a common.pt that is none", [](Scene& s) { s.b.File("common.pt", "not a pickle"); }, {"torchsave.not_torch"}},
    {"an explicit source of the output's iteration", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.CommonPt(30); s.plan.target = 30; }, {}},
    {"an explicit source of another iteration", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.CommonPt(30); s.plan.target = 20; },
     {"merge.common_iteration"}},
    {"an explicit source that records none", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.CommonPt({}); s.plan.target = 20; }, {}},
    {"an explicit source and no output iteration", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.CommonPt(30); }, {}},
    {"an explicit source without the extra states", [](Scene& s) { s.explicit_common = true; s.c.Tensor("decoder.weight", DType::kBF16, {4, 6}).CommonPt({}); },
     {"merge.missing_keys"}},
    {"an explicit source with an extra state more", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.Object("mtp._extra_state", "").CommonPt({}); },
     {"merge.unexpected_keys"}},
    {"an explicit source with optimizer state", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.Tensor("optimizer.x", DType::kF32, {4}).CommonPt({}); }, {}},
    {"an explicit source without common state", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); }, {"merge.no_common_state"}},
    {"an explicit source of another format", [](Scene& s) { s.explicit_common = true; Scene::AddModel(s.c); s.c.Object("iteration", "").WithoutMetadataJson(); },
     {"merge.format_differs"}},
    {"everything at once",
     [](Scene& s) {
       s.weight = 0;
       s.a.Tensor("decoder.count", DType::kI64, {2});
       s.b.Tensor("optimizer.x", DType::kF32, {4}).EmbeddedCommon(20);
     },
     {"merge.all_weights_zero", "merge.missing_keys", "merge.mixed_common_state", "merge.not_floating", "merge.training_state"}},
};

TEST(MergeChecks, EveryViolationOfEveryInputIsReported) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const fs::TestDirectory directory;
    Scene setup(directory);
    c.change(setup);
    const MergeInputs inputs = setup.Open();
    const auto findings = CheckMerge(setup.plan, setup.step, inputs);
    std::vector<std::string> ids = Ids(findings);
    std::sort(ids.begin(), ids.end());
    EXPECT_EQ(ids, c.ids);
    for (const plan::Finding& finding : findings) {
      EXPECT_EQ(finding.severity, plan::Severity::kError);
      EXPECT_TRUE(finding.where && finding.found && finding.expected && finding.source) << finding.id;
    }
  }
}

TEST(MergeChecks, ModelOnlyInputs) {
  const fs::TestDirectory directory;
  TinyCheckpoint a(directory / "a"), b(directory / "b"), with_common(directory / "c");
  for (TinyCheckpoint* checkpoint : {&a, &b, &with_common}) Scene::AddModel(*checkpoint);
  with_common.EmbeddedCommon(7);
  const auto check = [](const MergeInputs& inputs, plan::CommonFrom common_from) {
    plan::Plan plan;
    for (const auto& input : inputs.checkpoints) {
      plan.inputs.push_back({.path = input->path(), .iteration = std::nullopt, .format = plan::Format::kTorchDist, .weight = 0.5, .metadata_sha256 = {}});
    }
    plan::MergeStep step;
    step.common_from = common_from;
    return Ids(CheckMerge(plan, step, inputs));
  };
  using Found = std::vector<std::string>;
  EXPECT_EQ(check({{a.Open(), b.Open()}, {}}, {}), Found()) << "none has one: the result has none either";
  EXPECT_EQ(check({{a.Open(), with_common.Open()}, {}}, {}), Found({"merge.no_common_state"})) << "it would be lost without a word";
  EXPECT_EQ(check({{a.Open(), with_common.Open()}, {}}, uint64_t{1}), Found());
  EXPECT_EQ(check({{a.Open(), with_common.Open()}, {}}, uint64_t{0}), Found({"merge.no_common_state"}));
}

}  // namespace
}  // namespace ck::transform
