// Every family: from Megatron keys and shapes written by hand to exactly the names and shapes that transformers wrote.
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/huggingface/check_arguments.h"
#include "libs/huggingface/config.h"
#include "libs/huggingface/export.h"
#include "libs/huggingface/export_config.h"
#include "libs/huggingface/facts.h"
#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/read_saved_args.h"
#include "libs/pickle/graph.h"

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

ModelConfig ConfigOf(const std::string& folder) { return ReadConfig(ParseConfig(testing::ReadFixture(Cat("testdata/fixtures/hf/", folder, "/model/config.json")))); }

struct Exported {
  Facts facts;
  transform::View result;
};

// What the export makes of these keys as the model that `config` describes.
Exported Export(const ModelConfig& config, const Shapes& keys, std::optional<bool> zero_centered_norms = std::nullopt) {
  const transform::View source = ViewOf(keys);
  const plan::SplitStep step;
  const bool hybrid = TableOf(config.architecture.family).form == LayerForm::kHybrid;
  const ModelSource model = ReadModelSource(source, hybrid ? HybridLayers::kKeep : HybridLayers::kAsGpt);
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

Shapes KeysOf(const Model& model) { return ReadShapes(Cat("testdata/megatron_keys/", model.keys, ".tsv"), 1, ""); }

TEST(FamilyKeys, EveryModelOfTheZooIsHere) { EXPECT_EQ(std::size(kModels), 59u); }

TEST(FamilyKeys, BecomeWhatTransformersWrites) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    try {
      EXPECT_EQ(NamesAndShapes(Export(ConfigOf(model.folder), KeysOf(model)).result), WrittenByTransformers(model.folder));
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
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    Shapes more = KeysOf(model);
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
std::string SourceOf(const transform::View& view, const std::string& name, uint64_t number) {
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
  for (uint64_t row = 0; row < rows; ++row) out.push_back(SourceOf(view, name, row * columns));
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
  const transform::View hybrid = Export(ConfigOf("nemotron_h"), KeysOf({"nemotron_h", "nemotron_h"})).result;
  EXPECT_EQ(RowSources(hybrid, "backbone.layers.0.mixer.in_proj.weight", 130, 24), Listed({{"z", 0, 42}, {"x", 0, 42}, {"B", 0, 20}, {"C", 0, 20}, {"dt", 0, 6}}));
  EXPECT_EQ(SourceOf(hybrid, "backbone.layers.0.mixer.conv1d.weight", 42 * 4 + 3), Cat("B", FormatDims({0, 0, 3})));
  EXPECT_EQ(SourceOf(hybrid, "backbone.layers.0.mixer.conv1d.bias", 62), Cat("C", FormatDims({0})));
  const transform::View next = Export(ConfigOf("qwen3_next"), KeysOf({"qwen3_next", "qwen3_next"})).result;
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
  const transform::View result = Export(ConfigOf("gpt_oss"), KeysOf({"gpt_oss", "gpt_oss"})).result;
  const std::string experts = "model.layers.1.mlp.experts.";
  // [6, 24, 80] of [2, 6, 80, 24]: expert 5, input 23, column 2 x 7 is row 7 of the gate; column 2 x 7 + 1 row 7 of up, which begins at 40.
  EXPECT_EQ(SourceOf(result, experts + "gate_up_proj", (5 * 24 + 23) * 80 + 14), Cat("weight", FormatDims({1, 5, 7, 23})));
  EXPECT_EQ(SourceOf(result, experts + "gate_up_proj", (5 * 24 + 23) * 80 + 15), Cat("weight", FormatDims({1, 5, 47, 23})));
  EXPECT_EQ(SourceOf(result, experts + "gate_up_proj_bias", 3 * 80 + 79), Cat("bias", FormatDims({1, 3, 79})));
  EXPECT_EQ(SourceOf(result, experts + "gate_up_proj_bias", 3 * 80 + 78), Cat("bias", FormatDims({1, 3, 39})));
  // [6, 40, 24] of [2, 6, 24, 40].
  EXPECT_EQ(SourceOf(result, experts + "down_proj", (4 * 40 + 31) * 24 + 2), Cat("weight", FormatDims({1, 4, 2, 31})));
  EXPECT_EQ(SourceOf(result, "model.layers.1.self_attn.sinks", 3), Cat("softmax_offset", FormatDims({1, 3})));
}

TEST(FamilyKeys, Phi3HasQueryKeyValueInOneTensor) {
  const transform::View result = Export(ConfigOf("phi3"), KeysOf({"phi3", "phi3"})).result;
  std::vector<std::string> expected;  // 4 heads and 2 groups of 8, layer 1: a group has 2 queries, a key, a value
  for (const auto& [begin, end] : {std::pair{0, 16}, {32, 48}, {16, 24}, {48, 56}, {24, 32}, {56, 64}}) {
    for (int row = begin; row < end; ++row) expected.push_back(Cat("weight", FormatDims({1, static_cast<uint64_t>(row), 0})));
  }
  EXPECT_EQ(RowSources(result, "model.layers.1.self_attn.qkv_proj.weight", 64, 24), expected);
}

// The template fits what the tensors say, in every field: nothing is a contradiction, nothing but the dtype and the MTP layers is corrected.
TEST(FamilyKeys, TheConfigFitsTheTensors) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    ModelConfig expected = ConfigOf(model.folder);
    expected.dtype = "float32";
    expected.mtp_layers = 0;
    const Exported exported = Export(expected, KeysOf(model));
    const auto config = ReadTemplate(Cat("testdata/fixtures/hf/", model.folder, "/model"));
    try {
      const WrittenConfig written = MakeConfig(exported.facts, SavedArgs(), config, DType::kF32, {});
      EXPECT_EQ(ReadConfig(ParseConfig(written.text)), expected);
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
}

// What is added to each tensor, by its norm's name; 0 is not in it.
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

pickle::Ref NewValue(pickle::Graph& graph, const ArgumentValue& value) {
  if (const auto* v = std::get_if<bool>(&value)) return graph.NewBool(*v);
  if (const auto* v = std::get_if<int64_t>(&value)) return graph.NewInt(*v);
  if (const auto* v = std::get_if<double>(&value)) return graph.NewFloat(*v);
  if (const auto* v = std::get_if<std::string>(&value)) return graph.NewString(*v);
  if (const auto* v = std::get_if<TorchDtype>(&value)) return graph.NewGlobal("torch", v->name);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) {
    std::vector<pickle::Ref> items;
    for (const int64_t item : *v) items.push_back(graph.NewInt(item));
    return graph.NewList(items);
  }
  return graph.NewNone();
}

// With the arguments of a model and no config.json, the tensors give the model back; what no argument says is warned about when the arguments are made.
TEST(FamilyKeys, ArgumentsAndTensorsSayTheModel) {
  std::set<Family> families;
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    ModelConfig expected = ConfigOf(model.folder);
    const DerivedArgs derived = ArgsFromConfig(expected, {.padded_vocab = 128});
    pickle::Graph graph;
    const pickle::Ref space = graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
    for (const Argument& argument : derived.arguments) graph.SetAttribute(space, argument.name, NewValue(graph, argument.value));
    const SavedArgs args(graph, space);
    const transform::View source = ViewOf(KeysOf(model));
    try {
      const bool hybrid = TableOf(expected.architecture.family).form == LayerForm::kHybrid;
      const ModelSource tensors = ReadModelSource(source, hybrid ? HybridLayers::kKeep : HybridLayers::kAsGpt);
      plan::SplitStep step;
      step.vocab_size = expected.vocab;
      CheckArguments(expected.architecture, args);
      const Facts facts = ReadFacts(tensors, expected.architecture, args, nullptr, step);
      // The form of the norms in the arguments is the class's: nothing is added but behind Qwen3-Next's delta nets.
      EXPECT_LE(Additions(ExportTensors(source, tensors, facts, step)).size(), expected.gdn ? 1u : 0u);
      const ModelConfig found = ReadConfig(ParseConfig(MakeConfig(facts, args, std::nullopt, DType::kBF16, step).text));
      if (!derived.warnings.empty()) continue;
      expected.dtype = "bfloat16";
      expected.mtp_layers = 0;
      ModelConfig comparable = found;  // no argument holds token ids, nor the chunk of Mamba's computation
      comparable.bos_token = expected.bos_token;
      comparable.pad_token = expected.pad_token;
      comparable.eos_tokens = expected.eos_tokens;
      if (comparable.mamba) comparable.mamba->chunk_size = expected.mamba->chunk_size;
      EXPECT_TRUE(comparable == expected) << ConfigText(WriteConfig(comparable)) << ConfigText(WriteConfig(expected));
      families.insert(expected.architecture.family);
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
  EXPECT_GT(families.size(), 15u);
}

// With a value per token: no head over the vocabulary, score or classifier instead, its bias zero where the checkpoint has none.
TEST(FamilyKeys, ValueModels) {
  size_t families = 0;
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    ModelConfig config = ConfigOf(model.folder);
    if (!HasHead(config.architecture.family, Head::kTokenClassification)) continue;
    ++families;
    config.architecture.head = Head::kTokenClassification;
    const std::string hidden = Cat(config.hidden);
    Shapes keys = KeysOf(model), expected = WrittenByTransformers(model.folder);
    keys["output_layer.weight"] = "1x" + hidden;
    keys.erase("output_layer.bias");
    for (const char* head : {"lm_head.weight", "embed_out.weight"}) expected.erase(head);
    const bool old = config.architecture.family == Family::kGptNeox || config.architecture.family == Family::kFalcon;
    expected[old ? "classifier.weight" : "score.weight"] = "1x" + hidden;
    expected[old ? "classifier.bias" : "score.bias"] = "1";
    EXPECT_EQ(NamesAndShapes(Export(config, keys).result), expected);
    keys["output_layer.bias"] = "1";
    EXPECT_EQ(NamesAndShapes(Export(config, keys).result), expected);
  }
  EXPECT_GT(families, 8u);
}

// A reward model's score has no bias, in any class.
TEST(FamilyKeys, RewardModels) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.folder);
    ModelConfig config = ConfigOf(model.folder);
    if (!HasHead(config.architecture.family, Head::kSequenceClassification)) continue;
    config.architecture.head = Head::kSequenceClassification;
    Shapes keys = KeysOf(model), expected = WrittenByTransformers(model.folder);
    keys.erase("output_layer.bias");
    expected.erase("score.bias");
    expected["score.weight"] = keys["output_layer.weight"] = Cat("1x", config.hidden);
    for (const char* head : {"lm_head.weight", "embed_out.weight"}) expected.erase(head);
    EXPECT_EQ(NamesAndShapes(Export(config, keys).result), expected);
    keys["output_layer.bias"] = "1";
    EXPECT_THROW(Export(config, keys), Error);
  }
}

TEST(FamilyKeys, NormsChangeFormWhereTheCheckpointHasTheOther) {
  using Map = std::map<std::string, double>;
  const auto additions = [](const char* folder, const char* keys, bool zero_centered) { return Additions(Export(ConfigOf(folder), KeysOf({folder, keys}), zero_centered).result); };
  // 1 + w in the class.
  EXPECT_EQ(additions("gemma3", "gemma3", true), Map());
  EXPECT_EQ(additions("gemma3", "gemma3", false), (Map{{"input_layernorm", -1}, {"post_attention_layernorm", -1}, {"pre_feedforward_layernorm", -1}, {"post_feedforward_layernorm", -1},
                                                       {"q_norm", -1}, {"k_norm", -1}, {"norm", -1}}));
  EXPECT_EQ(additions("nemotron", "nemotron", false), (Map{{"input_layernorm", -1}, {"post_attention_layernorm", -1}, {"norm", -1}}));  // the biases are not
  // w in the class.
  EXPECT_EQ(additions("olmoe", "olmoe", false), Map());
  EXPECT_EQ(additions("olmoe", "olmoe", true), (Map{{"input_layernorm", 1}, {"post_attention_layernorm", 1}, {"q_norm", 1}, {"k_norm", 1}, {"norm", 1}}));
  // Both in one class.
  EXPECT_EQ(additions("qwen3_next", "qwen3_next", true), (Map{{"linear_attn.norm", 1}}));
  EXPECT_EQ(additions("qwen3_next", "qwen3_next", false), (Map{{"input_layernorm", -1}, {"post_attention_layernorm", -1}, {"q_norm", -1}, {"k_norm", -1}, {"norm", -1}}));
  // The norm inside a Mamba mixer is never zero-centred.
  EXPECT_EQ(additions("nemotron_h", "nemotron_h", true), (Map{{"norm", 1}, {"norm_f", 1}}));
}

// Names of the layer's tensors that --dtype leaves in float32.
std::set<std::string> Kept(const char* folder, const std::string& layer, bool cast_all = false) {
  const transform::View source = ViewOf(KeysOf({folder, folder}));
  const ModelConfig config = ConfigOf(folder);
  plan::SplitStep step;
  step.dtype = plan::SaveDtype::kBfloat16;
  step.cast_all = cast_all;
  const bool hybrid = TableOf(config.architecture.family).form == LayerForm::kHybrid;
  const ModelSource model = ReadModelSource(source, hybrid ? HybridLayers::kKeep : HybridLayers::kAsGpt);
  std::set<std::string> out;
  for (const transform::Tensor& tensor : ExportTensors(source, model, ReadFacts(model, config.architecture, SavedArgs(), &config, step), step).tensors) {
    if (tensor.dtype == DType::kF32 && StartsWith(tensor.name, layer)) out.insert(tensor.name.substr(layer.size()));
  }
  return out;
}

TEST(FamilyKeys, SomeTensorsKeepTheirDtype) {
  using Set = std::set<std::string>;
  EXPECT_EQ(Kept("glm4_moe", "model.layers.1."), (Set{"mlp.gate.e_score_correction_bias", "mlp.gate.weight"}));
  EXPECT_EQ(Kept("deepseek_v2", "model.layers.1."), (Set{"mlp.gate.weight"}));
  EXPECT_EQ(Kept("olmoe", "model.layers.1."), Set());
  EXPECT_EQ(Kept("gpt_oss", "model.layers.1."), (Set{"self_attn.sinks"}));
  EXPECT_EQ(Kept("nemotron_h", "backbone.layers.0."), (Set{"mixer.A_log", "mixer.D", "mixer.dt_bias"}));
  EXPECT_EQ(Kept("qwen3_next", "model.layers.0."), (Set{"linear_attn.A_log", "linear_attn.dt_bias"}));
  EXPECT_EQ(Kept("nemotron_h_moe", "backbone.layers.1.", true), Set());
}

TEST(FamilyKeys, TheHeadOfATiedNemotronHIsTheEmbedding) {
  Shapes keys = KeysOf({"nemotron_h", "nemotron_h"});
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
  EXPECT_EQ(id(parallel, KeysOf({"gpt_neox", "gpt_neox"})), "split.config_contradiction");
  Shapes grouped = KeysOf({"gpt_neox", "gpt_neox"});  // 4 heads of 6, 2 groups: 48 rows
  grouped["decoder.layers.self_attention.linear_qkv.weight"] = "2x48x24";
  grouped["decoder.layers.self_attention.linear_qkv.bias"] = "2x48";
  EXPECT_EQ(id(ConfigOf("gpt_neox"), grouped), "split.heads");
  Shapes two_mixers = KeysOf({"nemotron_h", "nemotron_h"});
  two_mixers["decoder.layers.0.mlp.linear_fc1.weight"] = "40x24";
  EXPECT_EQ(id(ConfigOf("nemotron_h"), two_mixers), "split.hybrid");
  Shapes no_latent = KeysOf({"nemotron_h_latent", "nemotron_h_latent"});
  no_latent.erase("decoder.layers.1.mlp.fc1_latent_proj.weight");
  EXPECT_EQ(id(ConfigOf("nemotron_h_latent"), no_latent), "split.missing_tensor");
  no_latent.erase("decoder.layers.1.mlp.fc2_latent_proj.weight");
  EXPECT_EQ(id(ConfigOf("nemotron_h_latent"), no_latent), "split.missing_tensor");
  Shapes narrow = KeysOf({"olmo2", "olmo2"});
  narrow["decoder.layers.self_attention.k_layernorm.weight"] = "2x8";
  EXPECT_EQ(id(ConfigOf("olmo2"), narrow), "split.heads");
  ModelConfig odd = ConfigOf("qwen3_next");
  odd.gdn->key_heads = 3;
  EXPECT_EQ(id(odd, KeysOf({"qwen3_next", "qwen3_next"})), "split.heads");
}

}  // namespace
}  // namespace ck::huggingface
