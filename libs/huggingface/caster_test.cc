#include "libs/huggingface/caster.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ck::huggingface {
namespace {

constexpr char kRouter[] = "decoder.layers.3.mlp.router.weight";

struct Cast {
  DType dtype = DType::kF32;  // of the result
  std::vector<std::string> notes;
};

// An fp32 tensor of this key, written as bfloat16.
Cast ToBfloat16(Family family, const std::string& key, bool cast_all = false) {
  plan::SplitStep step;
  step.dtype = plan::SaveDtype::kBfloat16;
  step.cast_all = cast_all;
  const Dims shape = {4, 6};
  transform::View view;
  view.leaves = {{.name = key, .dtype = DType::kF32, .shape = shape, .arithmetic = transform::Arithmetic::kCopy, .terms = {{}}}};
  transform::Tensor tensor{.name = "t", .dtype = DType::kF32, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {transform::Piece::Whole(0, shape)}};
  Caster caster(step, family);
  caster.Apply(view, key, tensor);
  caster.AddNote(view);
  return {.dtype = tensor.dtype, .notes = view.notes};
}

TEST(Caster, RoutersThatTheClassHoldsInFp32Stay) {
  for (const Family family : {Family::kDeepseekV2, Family::kDeepseekV3, Family::kGlm4Moe, Family::kNemotronH}) {
    SCOPED_TRACE(RowOf(family).prefix);
    const Cast kept = ToBfloat16(family, kRouter);
    EXPECT_EQ(kept.dtype, DType::kF32);
    ASSERT_EQ(kept.notes.size(), 1u);
    EXPECT_EQ(kept.notes[0].substr(0, 2), "1 ");
    EXPECT_EQ(ToBfloat16(family, kRouter, true).dtype, DType::kBF16);
    EXPECT_EQ(ToBfloat16(family, "decoder.layers.3.mlp.linear_fc1.weight").dtype, DType::kBF16);
  }
}

TEST(Caster, OtherRoutersFollowTheModel) {
  for (const Family family : {Family::kMixtral, Family::kQwen2Moe, Family::kQwen3Moe, Family::kQwen3Next, Family::kGptOss, Family::kOlmoe}) {
    SCOPED_TRACE(RowOf(family).prefix);
    const Cast cast = ToBfloat16(family, kRouter);
    EXPECT_EQ(cast.dtype, DType::kBF16);
    EXPECT_TRUE(cast.notes.empty());
    EXPECT_EQ(ToBfloat16(family, "decoder.layers.3.mlp.router.expert_bias").dtype, DType::kF32);
  }
}

}  // namespace
}  // namespace ck::huggingface
