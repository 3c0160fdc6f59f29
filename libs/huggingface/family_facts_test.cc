// Every family: the config, heads, norms and dtypes that go with its tensors.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/check_arguments.h"
#include "libs/huggingface/export_config.h"
#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/testing/family_keys.h"
#include "libs/pickle/graph.h"

namespace ck::huggingface {
namespace {

// The template fits what the tensors say, in every field: nothing is a contradiction, nothing but the dtype and the MTP layers is corrected.
TEST(FamilyKeys, TheConfigFitsTheTensors) {
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.folder);
    ModelConfig expected = ConfigOf(model.folder);
    expected.dtype = "float32";
    expected.mtp_layers = 0;
    const Exported exported = Export(expected, KeysOf(model.keys));
    const auto config = ReadTemplate(Cat("testdata/fixtures/hf/", model.folder, "/model"));
    try {
      const WrittenConfig written = MakeConfig(exported.facts, SavedArgs(), config, DType::kF32, {});
      EXPECT_EQ(ReadConfig(ParseConfig(written.text)), expected);
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
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
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.folder);
    ModelConfig expected = ConfigOf(model.folder);
    const DerivedArgs derived = ArgsFromConfig(expected, {.padded_vocab = 128});
    pickle::Graph graph;
    const pickle::Ref space = graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
    for (const Argument& argument : derived.arguments) graph.SetAttribute(space, argument.name, NewValue(graph, argument.value));
    const SavedArgs args(graph, space);
    const transform::View source = ViewOf(KeysOf(model.keys));
    try {
      const ModelSource tensors = SourceOf(source, expected.architecture.family);
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
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.folder);
    ModelConfig config = ConfigOf(model.folder);
    if (!HasHead(config.architecture.family, Head::kTokenClassification)) continue;
    ++families;
    config.architecture.head = Head::kTokenClassification;
    const std::string hidden = Cat(config.hidden);
    Shapes keys = KeysOf(model.keys), expected = WrittenByTransformers(model.folder);
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
  for (const ZooModel& model : ZooModels()) {
    SCOPED_TRACE(model.folder);
    ModelConfig config = ConfigOf(model.folder);
    if (!HasHead(config.architecture.family, Head::kSequenceClassification)) continue;
    config.architecture.head = Head::kSequenceClassification;
    Shapes keys = KeysOf(model.keys), expected = WrittenByTransformers(model.folder);
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
  const auto additions = [](const char* folder, const char* keys, bool zero_centered) { return Additions(Export(ConfigOf(folder), KeysOf(keys), zero_centered).result); };
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
  const transform::View source = ViewOf(KeysOf(folder));
  const ModelConfig config = ConfigOf(folder);
  plan::SplitStep step;
  step.dtype = plan::SaveDtype::kBfloat16;
  step.cast_all = cast_all;
  const ModelSource model = SourceOf(source, config.architecture.family);
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

}  // namespace
}  // namespace ck::huggingface
