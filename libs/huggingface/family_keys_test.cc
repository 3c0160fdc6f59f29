// Every family: from Megatron keys and shapes written by hand to exactly the names and shapes that transformers wrote, and from the right elements.
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/testing/family_keys.h"

namespace ck::huggingface {
namespace {

TEST(FamilyKeys, EveryModelOfTheZooIsHere) { EXPECT_EQ(ZooModels().size(), 59u); }

TEST(FamilyKeys, BecomeWhatTransformersWrites) {
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.folder);
    try {
      EXPECT_EQ(NamesAndShapes(Export(ConfigOf(model.folder), KeysOf(model.keys)).result), WrittenByTransformers(model.folder));
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
}

// Every tensor counts: without any one of them, or with one of another size, there is no export.
TEST(FamilyKeys, AMissingTensorIsRefused) {
  for (const ZooModel& model : ZooModels()) {
    const Shapes keys = KeysOf(model.keys);
    for (const auto& [name, shape] : keys) {
      if (StartsWith(name, "output_layer.")) continue;  // a tied model has none, a value model need not have a bias
      SCOPED_TRACE(Cat(model.folder, " without ", name));
      Shapes fewer = keys;
      fewer.erase(name);
      if (EndsWith(name, ".bias") && name.find("linear_") != std::string::npos) continue;  // a config may say so, and then all are gone
      EXPECT_THROW(Export(ConfigOf(model.folder), fewer), Error);
    }
  }
}

TEST(FamilyKeys, ATensorWithoutAPlaceIsNamed) {
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.folder);
    Shapes more = KeysOf(model.keys);
    more.emplace("decoder.layers.0.self_attention.surprise.weight", "24");
    try {
      Export(ConfigOf(model.folder), more);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("surprise"), std::string::npos) << error.message();
    }
  }
}

// Where element `number` of a tensor, counted as in the file, comes from: the last part of the leaf's name and the index there, "alpha[3, 0]".
std::string ElementSource(const transform::View& view, const std::string& name, uint64_t number) {
  for (const transform::Tensor& tensor : view.tensors) {
    if (tensor.name != name) continue;
    const Dims strides = RowMajorStrides(tensor.shape);
    Dims index;
    for (size_t d = 0; d < tensor.shape.size(); ++d) index.push_back(number / strides[d] % tensor.shape[d]);
    for (const transform::Piece& piece : tensor.pieces) {
      if (!Contains(piece.target, {index, Dims(index.size(), 1)})) continue;
      Dims source = piece.source_offset;
      for (size_t d = 0; d < source.size(); ++d) {
        if (piece.axes[d].result_axis == transform::SourceAxis::kFixed) continue;
        const auto axis = static_cast<size_t>(piece.axes[d].result_axis);
        source[d] += piece.axes[d].step * (index[axis] - piece.target.offset[axis]);
      }
      const std::string& leaf = view.leaves[piece.leaf].name;
      return Cat(leaf.substr(leaf.rfind('.') + 1), FormatDims(source));
    }
  }
  return "nowhere";
}

// Of the first element of each row.
std::vector<std::string> RowSources(const transform::View& view, const std::string& name, uint64_t rows, uint64_t columns) {
  std::vector<std::string> out;
  for (uint64_t row = 0; row < rows; ++row) out.push_back(ElementSource(view, name, row * columns));
  return out;
}

// These rows of tensors, in order: {"z", 0, 42} is z[0, 0] to z[41, 0].
struct Rows {
  const char* part;
  uint64_t begin, end;
};
std::vector<std::string> Listed(const std::vector<Rows>& ranges) {
  std::vector<std::string> out;
  for (const Rows& range : ranges) {
    for (uint64_t row = range.begin; row < range.end; ++row) out.push_back(Cat(range.part, FormatDims({row, 0})));
  }
  return out;
}

TEST(FamilyKeys, JoinedTensorsHaveTheirRowsInOrder) {
  const transform::View hybrid = Export(ConfigOf("nemotron_h"), KeysOf("nemotron_h")).result;
  EXPECT_EQ(RowSources(hybrid, "backbone.layers.0.mixer.in_proj.weight", 130, 24), Listed({{"z", 0, 42}, {"x", 0, 42}, {"B", 0, 20}, {"C", 0, 20}, {"dt", 0, 6}}));
  EXPECT_EQ(ElementSource(hybrid, "backbone.layers.0.mixer.conv1d.weight", 42 * 4 + 3), Cat("B", FormatDims({0, 0, 3})));
  EXPECT_EQ(ElementSource(hybrid, "backbone.layers.0.mixer.conv1d.bias", 62), Cat("C", FormatDims({0})));
  const transform::View next = Export(ConfigOf("qwen3_next"), KeysOf("qwen3_next")).result;
  // 2 key heads of 5, 4 value heads of 9.
  EXPECT_EQ(RowSources(next, "model.layers.2.linear_attn.in_proj_qkvz.weight", 92, 24),
            Listed({{"query", 0, 5}, {"key", 0, 5}, {"value", 0, 18}, {"z", 0, 18}, {"query", 5, 10}, {"key", 5, 10}, {"value", 18, 36}, {"z", 18, 36}}));
  EXPECT_EQ(RowSources(next, "model.layers.2.linear_attn.in_proj_ba.weight", 8, 24), Listed({{"beta", 0, 2}, {"alpha", 0, 2}, {"beta", 2, 4}, {"alpha", 2, 4}}));
  // 4 heads and 2 groups of 16: a group has 2 queries, 2 gates, a key, a value.
  EXPECT_EQ(RowSources(next, "model.layers.1.self_attn.q_proj.weight", 128, 24),
            Listed({{"weight", 0, 16}, {"weight", 32, 48}, {"weight", 16, 32}, {"weight", 48, 64}, {"weight", 96, 112}, {"weight", 128, 144}, {"weight", 112, 128}, {"weight", 144, 160}}));
  EXPECT_EQ(RowSources(next, "model.layers.1.self_attn.v_proj.weight", 32, 24), Listed({{"weight", 80, 96}, {"weight", 176, 192}}));
}

TEST(FamilyKeys, ExpertsOfGptOssChangeTheirDimensions) {
  const transform::View result = Export(ConfigOf("gpt_oss"), KeysOf("gpt_oss")).result;
  const std::string experts = "model.layers.1.mlp.experts.";
  // [6, 24, 80] of [2, 6, 80, 24]: expert 5, input 23, column 2 x 7 is row 7 of the gate; column 2 x 7 + 1 row 7 of up, which begins at 40.
  EXPECT_EQ(ElementSource(result, experts + "gate_up_proj", (5 * 24 + 23) * 80 + 14), Cat("weight", FormatDims({1, 5, 7, 23})));
  EXPECT_EQ(ElementSource(result, experts + "gate_up_proj", (5 * 24 + 23) * 80 + 15), Cat("weight", FormatDims({1, 5, 47, 23})));
  EXPECT_EQ(ElementSource(result, experts + "gate_up_proj_bias", 3 * 80 + 79), Cat("bias", FormatDims({1, 3, 79})));
  EXPECT_EQ(ElementSource(result, experts + "gate_up_proj_bias", 3 * 80 + 78), Cat("bias", FormatDims({1, 3, 39})));
  // [6, 40, 24] of [2, 6, 24, 40].
  EXPECT_EQ(ElementSource(result, experts + "down_proj", (4 * 40 + 31) * 24 + 2), Cat("weight", FormatDims({1, 4, 2, 31})));
  EXPECT_EQ(ElementSource(result, "model.layers.1.self_attn.sinks", 3), Cat("softmax_offset", FormatDims({1, 3})));
}

TEST(FamilyKeys, Phi3HasQueryKeyValueInOneTensor) {
  const transform::View result = Export(ConfigOf("phi3"), KeysOf("phi3")).result;
  std::vector<std::string> expected;  // 4 heads and 2 groups of 8, layer 1: a group has 2 queries, a key, a value
  for (const auto& [begin, end] : {std::pair{0, 16}, {32, 48}, {16, 24}, {48, 56}, {24, 32}, {56, 64}}) {
    for (int row = begin; row < end; ++row) expected.push_back(Cat("weight", FormatDims({1, static_cast<uint64_t>(row), 0})));
  }
  EXPECT_EQ(RowSources(result, "model.layers.1.self_attn.qkv_proj.weight", 64, 24), expected);
}

TEST(FamilyKeys, TheHeadOfATiedNemotronHIsTheEmbedding) {
  Shapes keys = KeysOf("nemotron_h");
  keys.erase("output_layer.weight");
  const Exported exported = Export(ConfigOf("nemotron_h"), keys);
  EXPECT_EQ(NamesAndShapes(exported.result), WrittenByTransformers("nemotron_h"));
  for (const transform::Tensor& tensor : exported.result.tensors) {
    if (tensor.name != "lm_head.weight") continue;
    EXPECT_EQ(exported.result.leaves[tensor.pieces.at(0).leaf].name, "embedding.word_embeddings.weight");
  }
}

TEST(FamilyKeys, WhatDoesNotFitIsRefused) {
  const auto id = [](const ModelConfig& config, const Shapes& keys) {
    try {
      Export(config, keys);
    } catch (const Error& error) {
      return error.id();
    }
    return std::string("accepted");
  };
  ModelConfig parallel = ConfigOf("gpt_neox");
  parallel.parallel_residual = true;
  EXPECT_EQ(id(parallel, KeysOf("gpt_neox")), "split.config_contradiction");
  Shapes grouped = KeysOf("gpt_neox");  // 4 heads of 6, 2 groups: 48 rows
  grouped["decoder.layers.self_attention.linear_qkv.weight"] = "2x48x24";
  grouped["decoder.layers.self_attention.linear_qkv.bias"] = "2x48";
  EXPECT_EQ(id(ConfigOf("gpt_neox"), grouped), "split.heads");
  Shapes two_mixers = KeysOf("nemotron_h");
  two_mixers["decoder.layers.0.mlp.linear_fc1.weight"] = "40x24";
  EXPECT_EQ(id(ConfigOf("nemotron_h"), two_mixers), "split.hybrid");
  Shapes no_latent = KeysOf("nemotron_h_latent");
  no_latent.erase("decoder.layers.1.mlp.fc1_latent_proj.weight");
  EXPECT_EQ(id(ConfigOf("nemotron_h_latent"), no_latent), "split.missing_tensor");
  no_latent.erase("decoder.layers.1.mlp.fc2_latent_proj.weight");
  EXPECT_EQ(id(ConfigOf("nemotron_h_latent"), no_latent), "split.missing_tensor");
  Shapes narrow = KeysOf("olmo2");
  narrow["decoder.layers.self_attention.k_layernorm.weight"] = "2x8";
  EXPECT_EQ(id(ConfigOf("olmo2"), narrow), "split.heads");
  ModelConfig odd = ConfigOf("qwen3_next");
  odd.gdn->key_heads = 3;
  EXPECT_EQ(id(odd, KeysOf("qwen3_next")), "split.heads");
}

}  // namespace
}  // namespace ck::huggingface
