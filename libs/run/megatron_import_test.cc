// Models that transformers wrote become Megatron checkpoints: keys and shapes as written by hand (testdata/megatron_keys), elements as the layout of the fused
// tensors says, computed here without any code of the import; and back to the same tensors, bit for bit.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/fs/test_directory.h"
#include "libs/plan/plan.h"
#include "libs/run/testing/import_model.h"
#include "libs/run/testing/read_tensor.h"

namespace ck::run {
namespace {

struct Model {
  const char* folder;
  const char* keys;  // of testdata/megatron_keys
};

const std::vector<Model>& Models() {
  static const std::vector<Model> models = {
      {"llama_untied", "llama_untied"},
      {"llama_untied_v457", "llama_untied"},
      {"llama_sharded", "llama_untied"},
      {"llama_rope3", "llama_untied"},
      {"llama_rope3_v457", "llama_untied"},
      {"llama_tied", "llama_tied"},
      {"llama_bias", "llama_bias"},
      {"llama_attnbias", "llama_attnbias"},
      {"llama_value", "llama_value"},
      {"llama_value_v457", "llama_value"},
      {"llama_seqcls", "llama_seqcls"},
      {"mistral", "mistral"},
      {"mistral_nowin", "mistral"},
      {"mixtral", "mixtral"},
      {"mixtral_v457", "mixtral"},
      {"qwen2", "qwen2"},
      {"qwen2_tied", "qwen2_tied"},
      {"qwen2_value", "qwen2_value"},
      {"qwen2_moe", "qwen2_moe"},
      {"qwen2_moe_v457", "qwen2_moe"},
      {"qwen3", "qwen3"},
      {"qwen3_tied", "qwen3_tied"},
      {"qwen3_moe", "qwen3_moe"},
      {"qwen3_moe_v457", "qwen3_moe"},
      {"qwen3_moe_mixed", "qwen3_moe_mixed"},
      {"qwen3_moe_value", "qwen3_moe_value"},
      {"nemotron", "nemotron"},
      {"deepseek_v2", "deepseek_v2"},
      {"deepseek_v2_lite", "deepseek_v2_lite"},
      {"deepseek_v2_lite_v457", "deepseek_v2_lite"},
      {"deepseek_v3", "deepseek_v3"},
      {"deepseek_v3_v457", "deepseek_v3"},
      {"deepseek_v3_noq", "deepseek_v3_noq"},
      {"gemma", "gemma"},
      {"gemma2", "gemma2"},
      {"gemma3", "gemma3"},
      {"gemma3_v457", "gemma3"},
      {"starcoder2", "starcoder2"},
      {"phi3", "phi3"},
      {"phi3_longrope", "phi3_longrope"},
      {"phi3_longrope_v457", "phi3_longrope"},
      {"glm4", "glm4"},
      {"glm4_moe", "glm4_moe"},
      {"glm4_moe_v457", "glm4_moe"},
      {"olmoe", "olmoe"},
      {"olmoe_v457", "olmoe"},
      {"olmo2", "olmo2"},
      {"falcon", "falcon"},
      {"gpt_neox", "gpt_neox"},
      {"gpt_oss", "gpt_oss"},
      {"gpt_oss_v457", "gpt_oss"},
      {"mamba2", "mamba2"},
      {"mamba2_v457", "mamba2"},
      {"mamba2_tied_g2", "mamba2_tied_g2"},
      {"nemotron_h", "nemotron_h"},
      {"nemotron_h_latent", "nemotron_h_latent"},
      {"nemotron_h_moe", "nemotron_h_moe"},
      {"qwen3_next", "qwen3_next"},
      {"qwen3_next_v457", "qwen3_next"},
  };
  return models;
}

// A stacked decoder.layers.REST as decoder.layers.0.REST, decoder.layers.1.REST, ...
Shapes PerLayer(const Shapes& shapes) {
  constexpr std::string_view kLayers = "decoder.layers.";
  Shapes out;
  for (const auto& [key, shape] : shapes) {
    const bool stacked = StartsWith(key, kLayers) && (key[kLayers.size()] < '0' || key[kLayers.size()] > '9');
    if (!stacked) {
      out[key] = shape;
      continue;
    }
    for (uint64_t layer = 0; layer < shape[0]; ++layer) out[Cat(kLayers, layer, ".", key.substr(kLayers.size()))] = Dims(shape.begin() + 1, shape.end());
  }
  return out;
}

class EveryModel : public testing::TestWithParam<Model> {};

TEST_P(EveryModel, HasTheKeysAndShapesWrittenByHand) {
  const fs::TestDirectory scratch;
  const Shapes by_hand = ShapesByHand(GetParam().keys);
  ASSERT_GT(by_hand.size(), 7u);
  CarryOutTo(ImportOf(FolderOf(GetParam().folder)), scratch / "own");
  EXPECT_EQ(ShapesOf(ReadState(scratch / "own")), by_hand);
  CarryOutTo(ImportOf(FolderOf(GetParam().folder), [](plan::SplitStep& step) { step.per_layer = true; }), scratch / "per_layer");
  EXPECT_EQ(ShapesOf(ReadState(scratch / "per_layer")), PerLayer(by_hand));
}

TEST_P(EveryModel, ComesBackBitForBit) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf(GetParam().folder)), scratch / "megatron");
  CarryOutTo(ExportOf(scratch / "megatron", scratch / "megatron/huggingface"), scratch / "back");
  ExpectSame(ReadState(scratch / "back"), ReadState(FolderOf(GetParam().folder)));
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryModel, testing::ValuesIn(Models()), [](const auto& model) { return std::string(model.param.folder); });

// ---- Elements

// Rows of axis 0 of a tensor.
std::string Row(const WholeTensor& tensor, uint64_t row) {
  const uint64_t size = tensor.bytes.size() / tensor.shape[0];
  return tensor.bytes.substr(row * size, size);
}

// Megatron's fused rows: group by group its a/g query heads, its key, its value.
WholeTensor FuseQkv(const State& hf, const std::string& layer, const std::string& kind, uint64_t a, uint64_t g, uint64_t d) {
  const WholeTensor &q = hf.at(Cat(layer, "self_attn.q_proj.", kind)), &k = hf.at(Cat(layer, "self_attn.k_proj.", kind)), &v = hf.at(Cat(layer, "self_attn.v_proj.", kind));
  WholeTensor out{.dtype = q.dtype, .shape = q.shape, .bytes = ""};
  out.shape[0] = (a + 2 * g) * d;
  for (uint64_t i = 0; i < g; ++i) {
    for (uint64_t j = 0; j < a / g; ++j) {
      for (uint64_t r = 0; r < d; ++r) out.bytes += Row(q, (i * (a / g) + j) * d + r);
    }
    for (uint64_t r = 0; r < d; ++r) out.bytes += Row(k, i * d + r);
    for (uint64_t r = 0; r < d; ++r) out.bytes += Row(v, i * d + r);
  }
  return out;
}

WholeTensor PadTo(const WholeTensor& tensor, uint64_t rows) {
  WholeTensor out = tensor;
  out.bytes.resize(out.bytes.size() / out.shape[0] * rows, '\0');
  out.shape[0] = rows;
  return out;
}

TEST(MegatronImport, Llama) {
  const State hf = ReadState(FolderOf("llama_bias"));
  std::map<std::string, std::vector<WholeTensor>> layers;
  for (uint64_t i = 0; i < 3; ++i) {
    const std::string layer = Cat("model.layers.", i, ".");
    const auto add = [&](const std::string& key, WholeTensor tensor) { layers[Cat("decoder.layers.", key)].push_back(std::move(tensor)); };
    add("self_attention.linear_qkv.layer_norm_weight", hf.at(layer + "input_layernorm.weight"));
    add("mlp.linear_fc1.layer_norm_weight", hf.at(layer + "post_attention_layernorm.weight"));
    for (const std::string kind : {"weight", "bias"}) {
      add("self_attention.linear_qkv." + kind, FuseQkv(hf, layer, kind, 4, 2, 8));
      add("self_attention.linear_proj." + kind, hf.at(layer + "self_attn.o_proj." + kind));
      add("mlp.linear_fc1." + kind, Concatenate({hf.at(layer + "mlp.gate_proj." + kind), hf.at(layer + "mlp.up_proj." + kind)}));
      add("mlp.linear_fc2." + kind, hf.at(layer + "mlp.down_proj." + kind));
    }
  }
  State expected;
  for (const auto& [key, parts] : layers) expected[key] = Stack(parts);
  expected["embedding.word_embeddings.weight"] = PadTo(hf.at("model.embed_tokens.weight"), 128);
  expected["output_layer.weight"] = PadTo(hf.at("lm_head.weight"), 128);
  expected["decoder.final_layernorm.weight"] = hf.at("model.norm.weight");
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("llama_bias")), scratch / "out");
  ExpectSame(ReadState(scratch / "out"), expected);
}

// w1 is the gate and w3 the up projection; expert e is row e behind the layer.
TEST(MegatronImport, ExpertsOfMixtral) {
  const State hf = ReadState(FolderOf("mixtral"));
  std::vector<WholeTensor> fc1, fc2, router;
  for (uint64_t i = 0; i < 2; ++i) {
    const std::string moe = Cat("model.layers.", i, ".block_sparse_moe.");
    std::vector<WholeTensor> up, down;
    for (uint64_t e = 0; e < 4; ++e) {
      up.push_back(Concatenate({hf.at(Cat(moe, "experts.", e, ".w1.weight")), hf.at(Cat(moe, "experts.", e, ".w3.weight"))}));
      down.push_back(hf.at(Cat(moe, "experts.", e, ".w2.weight")));
    }
    fc1.push_back(Stack(up));
    fc2.push_back(Stack(down));
    router.push_back(hf.at(moe + "gate.weight"));
  }
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("mixtral")), scratch / "out");
  const State found = ReadState(scratch / "out");
  EXPECT_EQ(found.at("decoder.layers.mlp.experts.experts.linear_fc1.weight"), Stack(fc1));
  EXPECT_EQ(found.at("decoder.layers.mlp.experts.experts.linear_fc2.weight"), Stack(fc2));
  EXPECT_EQ(found.at("decoder.layers.mlp.router.weight"), Stack(router));
}

}  // namespace
}  // namespace ck::run
