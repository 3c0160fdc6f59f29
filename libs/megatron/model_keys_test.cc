#include "libs/megatron/model_keys.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace ck::megatron {
namespace {

TEST(WrapperPrefix, IsMadeOfModelAndModule) {
  const struct {
    const char* key;
    std::optional<std::string> prefix;
  } cases[] = {
      {"embedding.word_embeddings.weight", ""},
      {"model.decoder.layers.0.x", "model."},
      {"model.module.output_layer.weight", "model.module."},
      {"module.module.module.mtp.layers.0.x", "module.module.module."},
      {"language_model.decoder.layers.0.x", std::nullopt},
      {"model.vision.weight", std::nullopt},
      {"decoder", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& c : cases) {
    const auto found = WrapperPrefix(c.key);
    EXPECT_EQ(found ? std::optional(std::string(*found)) : std::nullopt, c.prefix) << c.key;
  }
}

TEST(ParseModelKey, LayersAndWhatIsBesideThem) {
  using Part = ModelKey::Part;
  const struct {
    const char* key;
    Part part;
    std::optional<uint64_t> layer;
    const char* rest;
  } cases[] = {
      {"decoder.layers.5.mlp.linear_fc1.weight", Part::kLayer, 5, "mlp.linear_fc1.weight"},
      {"decoder.layers.0.self_attention.linear_qkv.weight", Part::kLayer, 0, "self_attention.linear_qkv.weight"},
      {"decoder.layers.99.mixer.D", Part::kLayer, 99, "mixer.D"},
      {"decoder.layers.mlp.linear_fc1.weight", Part::kLayer, std::nullopt, "mlp.linear_fc1.weight"},
      {"decoder.layers.99999999999999999999.x", Part::kLayer, std::nullopt, "99999999999999999999.x"},
      {"decoder.final_layernorm.weight", Part::kFinalNorm, std::nullopt, "weight"},
      {"decoder.final_norm._extra_state/shard_0_1", Part::kFinalNorm, std::nullopt, "_extra_state/shard_0_1"},
      {"embedding.word_embeddings.weight", Part::kEmbedding, std::nullopt, "embedding.word_embeddings.weight"},
      {"output_layer.weight", Part::kOutput, std::nullopt, "output_layer.weight"},
      {"mtp.layers.0.enorm.weight", Part::kMtp, std::nullopt, "mtp.layers.0.enorm.weight"},
      {"decoder.other.weight", Part::kOther, std::nullopt, "decoder.other.weight"},
  };
  for (const auto& c : cases) {
    const ModelKey found = ParseModelKey(c.key);
    EXPECT_EQ(found.part, c.part) << c.key;
    EXPECT_EQ(found.layer, c.layer) << c.key;
    EXPECT_EQ(found.rest, c.rest) << c.key;
  }
  EXPECT_TRUE(ParseModelKey("decoder.final_norm.weight").hybrid_final_norm);
  EXPECT_FALSE(ParseModelKey("decoder.final_layernorm.weight").hybrid_final_norm);
}

TEST(PartOfLayer, OnlyWhatIsKnown) {
  for (const char* rest : {"self_attention.linear_qkv.weight", "self_attention.linear_proj.bias", "self_attention.q_layernorm.weight", "input_layernorm.weight",
                           "self_attention.core_attention.softmax_offset", "self_attention.linear_qkv._extra_state"}) {
    EXPECT_EQ(PartOfLayer(rest), LayerPart::kAttention) << rest;
  }
  for (const char* rest : {"mlp.linear_fc1.weight", "mlp.linear_fc2._extra_state", "pre_mlp_layernorm.weight", "mlp.router.expert_bias", "mlp.experts.experts.linear_fc1.weight",
                           "mlp.shared_experts.gate_weight"}) {
    EXPECT_EQ(PartOfLayer(rest), LayerPart::kMlp) << rest;
  }
  for (const char* rest : {"mixer.in_proj.weight.z", "mixer.conv1d.weight", "mixer.A_log", "mixer.D", "mixer.dt_bias", "mixer.norm.weight", "mixer.out_proj.weight", "norm.weight"}) {
    EXPECT_EQ(PartOfLayer(rest), LayerPart::kMamba) << rest;
  }
  for (const char* rest : {"self_attention.linear_kv_up_proj.weight", "self_attention.in_proj.weight.query", "post_mlp_layernorm.weight", "mlp.linear_fc10.weight", "mlp", "normal.weight",
                           "self_attention.core_attention.indexer.linear_wk.weight", "cross_attention.linear_q.weight", ""}) {
    EXPECT_EQ(PartOfLayer(rest), LayerPart::kUnknown) << rest;
  }
}

TEST(ShardName, RoundTripsAndRefusesTheMalformed) {
  const auto shard = ParseShardName("mlp.experts.experts.linear_fc1._extra_state/shard_1.3_2.4");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->name, "mlp.experts.experts.linear_fc1._extra_state");
  EXPECT_EQ(shard->offset, (Dims{1, 3}));
  EXPECT_EQ(shard->shape, (Dims{2, 4}));
  EXPECT_EQ(FormatShardName(shard->name, shard->offset, shard->shape), "mlp.experts.experts.linear_fc1._extra_state/shard_1.3_2.4");
  for (const char* key : {"x", "x/shard_", "x/shard_1", "x/shard_1_", "x/shard__1", "x/shard_1.2_3", "x/shard_a_1", "x/shard_1_-1", "x/shard_1_2_3"}) EXPECT_FALSE(ParseShardName(key)) << key;
}

}  // namespace
}  // namespace ck::megatron
