// Every family: from Megatron keys and shapes written by hand to exactly the names and shapes that transformers wrote.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/huggingface/config.h"
#include "libs/huggingface/export.h"
#include "libs/huggingface/facts.h"
#include "libs/huggingface/read_saved_args.h"

namespace ck::huggingface {
namespace {

// Name -> shape, as "24x40".
using Shapes = std::map<std::string, std::string>;

Dims ParseShape(const std::string& text) {
  Dims out;
  for (const std::string& number : Split(text, 'x')) out.push_back(*ParseUint64(number));
  return out;
}

std::string ShapeText(const Dims& shape) {
  std::vector<std::string> out;
  for (const uint64_t extent : shape) out.push_back(Cat(extent));
  return Join(out, "x");
}

// The columns `name` and `shape` of a table with tabs.
Shapes ReadShapes(const std::string& path, size_t shape_column, const std::string& header) {
  Shapes out;
  for (const std::string& line : Split(testing::ReadFixture(path), '\n')) {
    const std::vector<std::string> columns = Split(line, '\t');
    if (line.empty() || columns[0] == header) continue;
    EXPECT_TRUE(out.emplace(columns[0], columns.at(shape_column)).second) << columns[0];
  }
  return out;
}

// A view with these tensors, each a leaf of its own.
transform::View ViewOf(const Shapes& shapes) {
  transform::View out;
  for (const auto& [name, text] : shapes) {
    const Dims shape = ParseShape(text);
    const auto number = static_cast<uint32_t>(out.leaves.size());
    out.leaves.push_back({.name = name, .dtype = DType::kF32, .shape = shape, .arithmetic = transform::Arithmetic::kFill, .terms = {}});
    out.tensors.push_back({.name = name, .dtype = DType::kF32, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {transform::Piece::Whole(number, shape)}});
  }
  return out;
}

struct Model {
  const char* folder;
  const char* keys;  // of testdata/megatron_keys
};

const Model kModels[] = {
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
    {"nemotron", "nemotron"},
    {"gpt_oss", "gpt_oss"},
    {"gpt_oss_v457", "gpt_oss"},
    {"mamba2", "mamba2"},
    {"mamba2_v457", "mamba2"},
    {"mamba2_tied_g2", "mamba2_tied_g2"},
    {"nemotron_h", "nemotron_h"},
    {"nemotron_h_moe", "nemotron_h_moe"},
    {"nemotron_h_latent", "nemotron_h_latent"},
    {"qwen3_next", "qwen3_next"},
    {"qwen3_next_v457", "qwen3_next"},
    {"gpt_neox", "gpt_neox"},
    {"falcon", "falcon"},
};

// What the export makes of these keys as the model that the folder's config.json describes.
transform::View Export(const std::string& folder, const Shapes& keys) {
  const transform::View source = ViewOf(keys);
  const ModelConfig config = ReadConfig(ParseConfig(testing::ReadFixture(Cat("testdata/fixtures/hf/", folder, "/model/config.json"))));
  const plan::SplitStep step;
  const bool hybrid = TableOf(config.architecture.family).form == LayerForm::kHybrid;
  const ModelSource model = ReadModelSource(source, hybrid ? HybridLayers::kKeep : HybridLayers::kAsGpt);
  const Facts facts = ReadFacts(model, config.architecture, ReadSavedArgs(source), &config, step);
  return ExportTensors(source, model, facts, step);
}

Shapes KeysOf(const Model& model) { return ReadShapes(Cat("testdata/megatron_keys/", model.keys, ".tsv"), 1, ""); }

TEST(FamilyKeys, BecomeWhatTransformersWrites) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    try {
      Shapes found;
      const transform::View result = Export(model.folder, KeysOf(model));
      transform::CheckView(result);
      for (const transform::Tensor& tensor : result.tensors) found.emplace(tensor.name, ShapeText(tensor.FileShape()));
      EXPECT_EQ(found, ReadShapes(Cat("testdata/fixtures/hf/", model.folder, "/keys.tsv"), 2, "name"));
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
}

// Every tensor counts: without any one of them, or with one of another size, there is no export.
TEST(FamilyKeys, AMissingTensorIsRefused) {
  for (const Model& model : kModels) {
    const Shapes keys = KeysOf(model);
    for (const auto& [name, shape] : keys) {
      if (name == "output_layer.weight") continue;  // a tied model has none
      SCOPED_TRACE(Cat(model.folder, " without ", name));
      Shapes fewer = keys;
      fewer.erase(name);
      if (EndsWith(name, ".bias") && name.find("linear_") != std::string::npos) continue;  // a config may say so, and then all are gone
      EXPECT_THROW(Export(model.folder, fewer), Error);
    }
  }
}

TEST(FamilyKeys, ATensorWithoutAPlaceIsNamed) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    Shapes more = KeysOf(model);
    more.emplace("decoder.layers.0.self_attention.surprise.weight", "24");
    try {
      Export(model.folder, more);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("surprise"), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace ck::huggingface
