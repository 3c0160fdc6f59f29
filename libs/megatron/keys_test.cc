#include "libs/megatron/keys.h"

#include "gtest/gtest.h"

namespace ck::megatron {
namespace {

TEST(Keys, Classes) {
  const struct {
    const char* key;
    KeyClass expected;
  } cases[] = {
      {"model.decoder.weight", KeyClass::kModel},
      {"model0.decoder.weight", KeyClass::kModel},
      {"model12.decoder.weight", KeyClass::kModel},
      {"decoder.layers.mlp.linear_fc1.weight", KeyClass::kModel},
      {"embedding.word_embeddings.weight", KeyClass::kModel},
      {"output_layer.weight", KeyClass::kModel},
      {"mtp.layers.0.eh_proj.weight", KeyClass::kModel},
      // A root is a whole first part.
      {"model", KeyClass::kOther},
      {"model1", KeyClass::kOther},
      {"model1x.weight", KeyClass::kOther},
      {"modelx.weight", KeyClass::kOther},
      {"models.weight", KeyClass::kOther},
      {"decoder", KeyClass::kOther},
      {"decoder_extra.weight", KeyClass::kOther},
      {"Decoder.weight", KeyClass::kOther},
      {"teacher.decoder.weight", KeyClass::kOther},
      {"", KeyClass::kOther},
      // Extra states, in the four places that a name can have.
      {"_extra_state", KeyClass::kExtraState},
      {"_extra_state/shard_0_1", KeyClass::kExtraState},
      {"decoder.linear._extra_state", KeyClass::kExtraState},
      {"decoder.linear._extra_state/shard_0_2", KeyClass::kExtraState},
      {"decoder.linear._extra_state.part", KeyClass::kExtraState},
      {"vision.linear._extra_state", KeyClass::kExtraState},
      {"decoder.my_extra_state", KeyClass::kModel},
      {"decoder._extra_states", KeyClass::kModel},
      {"_extra_stately", KeyClass::kOther},
      // Training state, also where it names a model's parameters.
      {"optimizer.state.exp_avg.decoder.weight", KeyClass::kOptimizer},
      {"optimizer.distributed.dp_group_idx_0._extra_state", KeyClass::kOptimizer},
      {"chained_0.optimizer.state.param.decoder.weight", KeyClass::kOptimizer},
      {"chained_.optimizer", KeyClass::kOther},
      {"optimizers.x", KeyClass::kOther},
      {"rng_state/shard_0_1", KeyClass::kRng},
      {"rerun_state_machine_state/shard_0_1", KeyClass::kRerun},
      {"common_state/shard_0_1", KeyClass::kCommon},
      {"common_state/anything", KeyClass::kCommon},
      {"args", KeyClass::kCommon},
      {"iteration", KeyClass::kCommon},
      {"opt_param_scheduler", KeyClass::kCommon},
      {"argsx", KeyClass::kOther},
  };
  for (const auto& c : cases) EXPECT_EQ(Name(Classify(c.key)), Name(c.expected)) << c.key;
}

TEST(Keys, TensorsThatKeepTheirDtype) {
  for (const char* key : {"decoder.layers.mlp.router.expert_bias", "decoder.layers.3.mixer.A_log", "decoder.layers.3.mixer.D", "decoder.layers.3.mixer.dt_bias"}) {
    EXPECT_TRUE(KeepsDtype(key)) << key;
  }
  for (const char* key : {"decoder.layers.mlp.router.weight", "decoder.layers.3.mixer.dt_bias.weight", "decoder.layers.D", "decoder.linear.bias", "A_log", ""}) {
    EXPECT_FALSE(KeepsDtype(key)) << key;
  }
}

TEST(Keys, LayerLayouts) {
  EXPECT_TRUE(IsStackedKey("decoder.layers.mlp.weight"));
  EXPECT_FALSE(IsPerLayerKey("decoder.layers.mlp.weight"));
  EXPECT_TRUE(IsPerLayerKey("model.decoder.layers.11.mlp.weight"));
  EXPECT_FALSE(IsStackedKey("model.decoder.layers.11.mlp.weight"));
  for (const char* key : {"decoder.final_layernorm.weight", "embedding.weight", "decoder.layers."}) {
    EXPECT_FALSE(IsStackedKey(key) || IsPerLayerKey(key)) << key;
  }
}

}  // namespace
}  // namespace ck::megatron
