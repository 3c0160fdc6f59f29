#include "libs/transform/retarget_format_names.h"

#include <optional>

#include "gtest/gtest.h"

namespace ck::transform {
namespace {

TEST(FsdpName, TakenApartAndPutTogether) {
  const struct {
    const char *name, *rest;
    std::optional<uint64_t> expert;
    std::optional<Half> half;
  } cases[] = {
      {"mlp.linear_fc1.weight_w", "mlp.linear_fc1.weight", std::nullopt, Half::kGate},
      {"mlp.linear_fc1.bias_v", "mlp.linear_fc1.bias", std::nullopt, Half::kUp},
      {"mlp.linear_fc2.weight", "mlp.linear_fc2.weight", std::nullopt, std::nullopt},
      {"mlp.shared_experts.linear_fc1.weight_v", "mlp.shared_experts.linear_fc1.weight", std::nullopt, Half::kUp},
      {"mlp.experts.linear_fc1.weight12_w", "mlp.experts.experts.linear_fc1.weight", 12, Half::kGate},
      {"mlp.experts.linear_fc2.weight0", "mlp.experts.experts.linear_fc2.weight", 0, std::nullopt},
      {"mlp.experts.linear_fc2.bias7", "mlp.experts.experts.linear_fc2.bias", 7, std::nullopt},
      {"input_layernorm.weight", "input_layernorm.weight", std::nullopt, std::nullopt},
      {"self_attention.linear_qkv.weight", "self_attention.linear_qkv.weight", std::nullopt, std::nullopt},
  };
  for (const auto& c : cases) {
    const FsdpName found = ParseFsdpName(c.name);
    EXPECT_EQ(found.rest, c.rest) << c.name;
    EXPECT_EQ(found.expert, c.expert) << c.name;
    EXPECT_EQ(found.half, c.half) << c.name;
    EXPECT_EQ(FormatFsdpName(found), c.name);
  }
}

TEST(FsdpName, SequentialExpertsAreTheSameTensors) {
  const FsdpName found = ParseFsdpName("mlp.experts.local_experts.3.linear_fc1.weight_v");
  EXPECT_EQ(found.rest, "mlp.experts.experts.linear_fc1.weight");
  EXPECT_EQ(found.expert, 3u);
  EXPECT_EQ(found.half, Half::kUp);
  EXPECT_FALSE(ParseFsdpName("mlp.experts.local_experts.x.linear_fc1.weight").expert);
  EXPECT_FALSE(ParseFsdpName("mlp.experts.local_experts.3").expert);
}

TEST(IsGatedTensor, IsFc1) {
  for (const char* rest : {"mlp.linear_fc1.weight", "mlp.linear_fc1.bias", "mlp.shared_experts.linear_fc1.weight", "mlp.experts.experts.linear_fc1.weight"}) EXPECT_TRUE(IsGatedTensor(rest)) << rest;
  for (const char* rest : {"mlp.linear_fc2.weight", "mlp.linear_fc1.layer_norm_weight", "mlp.router.weight", "self_attention.linear_qkv.weight"}) EXPECT_FALSE(IsGatedTensor(rest)) << rest;
}

}  // namespace
}  // namespace ck::transform
