#include "libs/plan/edit.h"

#include "gtest/gtest.h"
#include "libs/base/error.h"

namespace ck::plan {
namespace {

template <typename F>
std::string IdOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id();
  }
  return "none";
}

Plan WithInputs(const std::vector<std::optional<int64_t>>& iterations) {
  Plan plan;
  for (const auto& iteration : iterations) {
    plan.inputs.push_back({"/a", iteration, Format::kTorchDist, std::nullopt, std::nullopt});
  }
  return plan;
}

TEST(AddStep, TakesEveryStepOnceAndInOrder) {
  const std::vector<Step> steps = {MergeStep(), RetargetStep(), SplitStep()};
  for (size_t before = 0; before < 3; ++before) {
    for (size_t after = 0; after < 3; ++after) {
      Plan plan;
      AddStep(plan, steps[before]);
      EXPECT_EQ(IdOf([&] { AddStep(plan, steps[after]); }), before < after ? "none" : "plan.step_order");
      EXPECT_EQ(plan.steps.size(), before < after ? 2u : 1u);
      EXPECT_EQ(Decode(Encode(plan)), plan);
    }
  }
}

TEST(AddStep, ResettingIterationsSetsTheTarget) {
  Plan plan;
  plan.target = int64_t{5000};
  RetargetStep retarget;
  AddStep(plan, retarget);
  EXPECT_EQ(plan.target, TargetIteration(int64_t{5000}));
  plan.steps.clear();
  retarget.reset_iterations = true;
  AddStep(plan, retarget);
  EXPECT_EQ(plan.target, TargetIteration(int64_t{0}));
}

TEST(SetWeights, OneForEachInput) {
  Plan plan = WithInputs({1, 2});
  EXPECT_EQ(IdOf([&] { SetWeights(plan, {1}, {}); }), "plan.weight_count");
  EXPECT_FALSE(plan.inputs[0].weight);
  SetWeights(plan, {0.25, 0.75}, {"manual", "0", true});
  EXPECT_EQ(plan.inputs[0].weight, 0.25);
  EXPECT_EQ(plan.inputs[1].weight, 0.75);
  EXPECT_EQ(plan.coefficients.style, "manual");
}

TEST(ParseTarget, ReadsNumbersAndRelease) {
  EXPECT_EQ(ParseTarget("release"), TargetIteration(Release{}));
  EXPECT_EQ(ParseTarget("0"), TargetIteration(int64_t{0}));
  EXPECT_EQ(ParseTarget("0005000"), TargetIteration(int64_t{5000}));
  for (const char* bad : {"", "-1", "5k", "Release", "9223372036854775808", " 1"}) {
    EXPECT_EQ(IdOf([&] { ParseTarget(bad); }), "plan.bad_target") << bad;
  }
}

}  // namespace
}  // namespace ck::plan
