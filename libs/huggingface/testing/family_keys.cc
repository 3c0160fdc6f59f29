#include "libs/huggingface/testing/family_keys.h"

#include "gtest/gtest.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/huggingface/read_saved_args.h"

namespace ck::huggingface {
namespace {

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

}  // namespace

const std::vector<ZooModel>& ZooModels() {
  static const std::vector<ZooModel> models = {
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
  return models;
}

ModelConfig ConfigOf(const std::string& folder) { return ReadConfig(ParseConfig(testing::ReadFixture(Cat("testdata/fixtures/hf/", folder, "/model/config.json")))); }

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

ModelSource SourceOf(const transform::View& view, Family family) {
  return ReadModelSource(view, TableOf(family).form == LayerForm::kHybrid ? HybridLayers::kKeep : HybridLayers::kAsGpt);
}

Exported Export(const ModelConfig& config, const Shapes& keys, std::optional<bool> zero_centered_norms) {
  const transform::View source = ViewOf(keys);
  const plan::SplitStep step;
  const ModelSource model = SourceOf(source, config.architecture.family);
  Exported out{.facts = ReadFacts(model, config.architecture, ReadSavedArgs(source), &config, step), .result = {}};
  if (zero_centered_norms) out.facts.zero_centered_norms = *zero_centered_norms;
  out.result = ExportTensors(source, model, out.facts, step);
  transform::CheckView(out.result);
  return out;
}

Shapes NamesAndShapes(const transform::View& view) {
  Shapes out;
  for (const transform::Tensor& tensor : view.tensors) out.emplace(tensor.name, ShapeText(tensor.FileShape()));
  return out;
}

Shapes WrittenByTransformers(const std::string& folder) { return ReadShapes(Cat("testdata/fixtures/hf/", folder, "/keys.tsv"), 2, "name"); }

Shapes KeysOf(const std::string& keys) { return ReadShapes(Cat("testdata/megatron_keys/", keys, ".tsv"), 1, ""); }

std::map<std::string, double> Additions(const transform::View& view) {
  std::map<std::string, double> out;
  for (const transform::Tensor& tensor : view.tensors) {
    if (tensor.added == 0) continue;
    const std::vector<std::string> parts = Split(tensor.name, '.');
    const std::string& owner = parts[parts.size() - 3];
    out[owner == "linear_attn" || owner == "mixer" ? Cat(owner, ".", parts[parts.size() - 2]) : parts[parts.size() - 2]] = tensor.added;
  }
  return out;
}

}  // namespace ck::huggingface
