// What an import takes and refuses, and what a checkpoint has beside its tensors.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/json/value.h"
#include "libs/pickle/describe.h"
#include "libs/plan/plan.h"
#include "libs/run/testing/import_model.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/safetensors/header.h"

namespace ck::run {
namespace {

using checkpoint::Checkpoint;

// A directory with the config of a model that transformers wrote and other tensors.
class Rewritten : public testing::Test {
 protected:
  std::string Directory(const std::string& folder, const State& state, const std::function<void(json::Object&)>& change = {}) {
    const std::string directory = scratch_ / Cat("hf", ++number_);
    std::filesystem::create_directories(directory);
    json::Object config = *json::Parse(fs::ReadSmallFile(FolderOf(folder) + "/config.json", 1 << 20)).AsObject();
    if (change) change(config);
    std::ofstream(directory + "/config.json") << json::Write(config, {.indent = 2});
    std::vector<safetensors::Tensor> tensors, placed;
    for (const auto& [name, tensor] : state) tensors.push_back({.name = name, .dtype = tensor.dtype, .shape = tensor.shape});
    std::ofstream file(directory + "/model.safetensors", std::ios::binary);
    file << safetensors::WriteHeader(tensors, {{"format", "pt"}}, placed);
    for (const safetensors::Tensor& tensor : placed) file << state.at(tensor.name).bytes;
    return directory;
  }

  std::string FaultOfState(const std::string& folder, const State& state, const std::function<void(json::Object&)>& change = {}) { return FaultOf(ImportOf(Directory(folder, state, change))); }

  fs::TestDirectory scratch_;
  int number_ = 0;
};

// As transformers 5 holds experts in memory.
State FuseExperts(const State& hf, const std::string& moe_from, const std::string& moe_to, const std::vector<std::string>& names, uint64_t layers, uint64_t experts) {
  State out = hf;
  for (uint64_t i = 0; i < layers; ++i) {
    const std::string from = Cat("model.layers.", i, ".", moe_from, "."), to = Cat("model.layers.", i, ".", moe_to, ".");
    std::vector<WholeTensor> up, down;
    for (uint64_t e = 0; e < experts; ++e) {
      const std::string expert = Cat(from, "experts.", e, ".");
      up.push_back(Concatenate({hf.at(Cat(expert, names[0], ".weight")), hf.at(Cat(expert, names[1], ".weight"))}));
      down.push_back(hf.at(Cat(expert, names[2], ".weight")));
      for (const std::string& name : names) out.erase(Cat(expert, name, ".weight"));
    }
    out[to + "experts.gate_up_proj"] = Stack(up);
    out[to + "experts.down_proj"] = Stack(down);
    const WholeTensor gate = out.at(from + "gate.weight");
    out.erase(from + "gate.weight");
    out[to + "gate.weight"] = gate;
  }
  return out;
}

TEST_F(Rewritten, AllExpertsInOneTensorAreTheSameModel) {
  const auto same = [&](const std::string& folder, const State& fused) {
    CarryOutTo(ImportOf(FolderOf(folder)), scratch_ / "each");
    CarryOutTo(ImportOf(Directory(folder, fused)), scratch_ / "fused");
    ExpectSame(ReadState(scratch_ / "fused"), ReadState(scratch_ / "each"));
    std::filesystem::remove_all(scratch_ / "each");
    std::filesystem::remove_all(scratch_ / "fused");
  };
  same("qwen3_moe", FuseExperts(ReadState(FolderOf("qwen3_moe")), "mlp", "mlp", {"gate_proj", "up_proj", "down_proj"}, 2, 4));
  for (const char* to : {"block_sparse_moe", "mlp"}) same("mixtral", FuseExperts(ReadState(FolderOf("mixtral")), "block_sparse_moe", to, {"w1", "w3", "w2"}, 2, 4));
}

TEST_F(Rewritten, RotaryFrequenciesAreLeftOut) {
  State state = ReadState(FolderOf("llama_untied"));
  state["model.layers.0.self_attn.rotary_emb.inv_freq"] = {.dtype = DType::kF32, .shape = {4}, .bytes = std::string(16, '\x3F')};
  const Outcome outcome = CarryOutTo(ImportOf(Directory("llama_untied", state)), scratch_ / "out");
  ASSERT_EQ(outcome.result.left_out.size(), 1u);
  EXPECT_EQ(outcome.result.left_out[0].rule, "inv_freq");
  EXPECT_EQ(outcome.result.left_out[0].bytes, 16u);
  EXPECT_EQ(ShapesOf(ReadState(scratch_ / "out")), ShapesByHand("llama_untied"));
}

TEST_F(Rewritten, EveryTensorCounts) {
  for (const char* folder : {"llama_untied", "qwen3_moe_mixed", "deepseek_v2_lite"}) {
    const State whole = ReadState(FolderOf(folder));
    for (const auto& [name, tensor] : whole) {
      State state = whole;
      state.erase(name);
      const std::string fault = FaultOfState(folder, state);
      EXPECT_TRUE(StartsWith(fault, "split.missing_tensor: ") && fault.find(name) != std::string::npos) << folder << " without " << name << ": " << fault;
    }
  }
}

TEST_F(Rewritten, WhatDoesNotFitIsRefusedWithBothSides) {
  const State llama = ReadState(FolderOf("llama_untied"));
  const auto with = [](State state, const std::string& name, DType dtype, const Dims& shape) {
    state[name] = {.dtype = dtype, .shape = shape, .bytes = std::string(*Volume(shape) * ElementSize(dtype), '\x11')};
    return state;
  };
  const auto set = [](const std::string& name, json::Value value) { return [name, value](json::Object& config) { config.Set(name, value); }; };
  const std::string layer = "model.layers.0.";
  struct Case {
    State state;
    std::function<void(json::Object&)> change;
    std::string fault;  // how it begins
    std::string also;
  };
  const std::vector<Case> cases = {
      {with(llama, "surprise.weight", DType::kBF16, {3}), {}, "split.extra_tensor: ", "surprise.weight"},
      {with(llama, layer + "self_attn.k_proj.weight", DType::kBF16, {24, 24}), {}, "split.heads: ", "has 24 rows, expected 16"},
      {with(llama, layer + "self_attn.q_proj.weight", DType::kBF16, {32, 25}), {}, "split.bad_shape: ", "[32, 25]"},
      {with(llama, layer + "mlp.up_proj.weight", DType::kBF16, {39, 24}), {}, "split.bad_shape: ", "up_proj"},
      {with(llama, layer + "mlp.down_proj.weight", DType::kBF16, {24, 41}), {}, "split.bad_shape: ", "intermediate_size"},
      {with(llama, layer + "self_attn.v_proj.weight", DType::kF32, {16, 24}), {}, "split.mixed_dtype: ", "v_proj"},
      {with(llama, layer + "self_attn.o_proj.weight", DType::kF32, {24, 32}), {}, "split.mixed_dtype: ", "--per-layer"},
      {with(llama, layer + "self_attn.o_proj.weight", DType::kF8E4M3, {24, 32}), {}, "split.quantized: ", "o_proj"},
      {with(llama, layer + "self_attn.o_proj.weight_scale_inv", DType::kF32, {1, 1}), {}, "split.quantized: ", "weight_scale_inv"},
      {with(llama, layer + "self_attn.q_proj.lora_A.weight", DType::kBF16, {4, 24}), {}, "split.adapter: ", "lora_A"},
      {with(llama, layer + "self_attn.q_proj.bias", DType::kBF16, {32}), {}, "split.missing_tensor: ", "k_proj.bias"},
      {with(llama, "model.norm.weight", DType::kBF16, {}), {}, "split.bad_shape: ", "model.norm.weight"},
      {llama, set("attention_bias", true), "split.config_contradiction: ", "attention_bias true"},
      {llama, set("vocab_size", 64), "split.vocab_size: ", "61"},
      {llama, set("num_hidden_layers", 4), "split.missing_tensor: ", "model.layers.3."},
      {llama, set("num_hidden_layers", 2), "split.extra_tensor: ", "model.layers.2."},
      {llama, set("num_key_value_heads", 4), "split.heads: ", "4 groups"},
      {llama, set("tie_word_embeddings", true), "split.tied: ", "lm_head.weight"},
      {llama, [](json::Object& config) { config.Set("architectures", json::Array{"Qwen3ForCausalLM"}).Set("model_type", "qwen3"); }, "split.missing_tensor: ", "q_norm"},
      {llama, set("architectures", json::Array{"LlamaForCasualLM"}), "huggingface.unknown_architecture: ", "LlamaForCausalLM"},
      {llama, set("quantization_config", json::Object().Set("quant_method", "fp8")), "huggingface.quantized_config: ", "fp8"},
  };
  for (const Case& c : cases) {
    const std::string fault = FaultOfState("llama_untied", c.state, c.change);
    EXPECT_TRUE(StartsWith(fault, c.fault)) << fault << "\nexpected " << c.fault << " ... " << c.also;
    EXPECT_NE(fault.find(c.also), std::string::npos) << fault << "\nexpected " << c.fault << " ... " << c.also;
  }
}

TEST_F(Rewritten, WhetherTheHeadIsTheEmbedding) {
  const State tied = ReadState(FolderOf("llama_tied")), untied = ReadState(FolderOf("llama_untied"));
  const auto fault = [&](const std::string& directory, plan::SplitStep::Tied choice) { return FaultOf(ImportOf(directory, [&](plan::SplitStep& step) { step.tied = choice; })).substr(0, 22); };
  using Tied = plan::SplitStep::Tied;
  EXPECT_EQ(fault(FolderOf("llama_tied"), Tied::kNo), "split.missing_tensor: ");
  EXPECT_EQ(fault(FolderOf("llama_tied"), Tied::kYes), "");
  EXPECT_EQ(fault(FolderOf("llama_untied"), Tied::kYes).substr(0, 12), "split.tied: ");
  EXPECT_EQ(fault(Directory("llama_tied", untied), Tied::kNo), "");
}

// ---- The rest of a checkpoint

// args.NAME as Python shows it.
std::string ArgOf(const std::string& directory, std::string_view name) {
  const auto opened = Checkpoint::Open(directory);
  const checkpoint::CommonState common = checkpoint::ReadCommonState(*opened);
  const pickle::Ref value = common.object.graph.Attribute(common.args(), name);
  return value == pickle::kNoRef ? "absent" : pickle::Describe(common.object.graph, value, 200);
}

TEST(MegatronImport, ArgumentsIterationAndPlacement) {
  const fs::TestDirectory scratch;
  plan::Plan plan = ImportOf(FolderOf("qwen3_moe_mixed"), [](plan::SplitStep& step) {
    step.vocab_divisible_by = 8;
    step.tensor_parallel = 2;
  });
  plan.target = int64_t{7};
  CarryOutTo(plan, scratch / "run");
  const std::string directory = scratch / "run/iter_0000007";
  EXPECT_EQ(fs::ReadSmallFile(scratch / "run/latest_checkpointed_iteration.txt", 100), "7\n");
  EXPECT_EQ(checkpoint::ReadCommonState(*Checkpoint::Open(directory)).iteration(), 7);
  const std::map<std::string, std::string> expected = {
      {"num_layers", "3"},          {"hidden_size", "24"},       {"num_attention_heads", "4"},   {"group_query_attention", "True"}, {"num_query_groups", "2"}, {"kv_channels", "8"},
      {"ffn_hidden_size", "40"},    {"vocab_size", "61"},        {"padded_vocab_size", "64"},    {"make_vocab_size_divisible_by", "8"}, {"tensor_model_parallel_size", "2"},
      {"num_experts", "4"},         {"moe_layer_freq", "[1, 0, 1]"}, {"qk_layernorm", "True"},   {"iteration", "7"},                {"no_save_optim", "True"}, {"swiglu", "True"},
      {"params_dtype", "torch.bfloat16"}, {"untie_embeddings_and_output_weights", "True"},       {"transformer_impl", "'transformer_engine'"}, {"hetereogenous_dist_checkpoint", "absent"},
  };
  for (const auto& [name, text] : expected) EXPECT_EQ(ArgOf(directory, name), text) << name;
  EXPECT_EQ(ReadState(directory).at("embedding.word_embeddings.weight").shape, (Dims{64, 24}));
}

// Megatron would stack these layers unless it is told not to.
TEST(MegatronImport, KeysPerLayerAreSaidWhereMegatronWouldStack) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("llama_untied"), [](plan::SplitStep& step) { step.per_layer = true; }), scratch / "out");
  EXPECT_EQ(ArgOf(scratch / "out", "hetereogenous_dist_checkpoint"), "True");
  const auto opened = Checkpoint::Open(scratch / "out");
  const checkpoint::CommonState common = checkpoint::ReadCommonState(*opened);
  const pickle::Graph& graph = common.object.graph;
  EXPECT_EQ(pickle::Describe(graph, graph.Find(common.dict, "content_metadata"), 200), "{'singleton_local_shards': False, 'chained_optim_avoid_prefix': True, 'non_homogeneous_layers': True}");
}

TEST(MegatronImport, SideFilesComeAlong) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("llama_untied")), scratch / "out");
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja"}) {
    EXPECT_EQ(fs::ReadSmallFile(scratch / (std::string("out/huggingface/") + name), 1 << 20), fs::ReadSmallFile(FolderOf("llama_untied") + "/" + name, 1 << 20)) << name;
  }
  EXPECT_FALSE(fs::Stat(scratch / "out/huggingface/model.safetensors"));
}

std::map<std::string, uint64_t> ExtraStates(const std::string& folder, plan::TransformerImpl impl) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf(folder), [&](plan::SplitStep& step) { step.transformer_impl = impl; }), scratch / "out");
  std::map<std::string, uint64_t> out;
  const auto opened = Checkpoint::Open(scratch / "out");
  for (const dcp::Object& object : opened->objects()) out[object.name] = object.item.length;
  return out;
}

// The modules of real checkpoints of the same models (fixtures te_gpt_dense, te_gpt_moe, gpt_moe_stacked).
TEST(MegatronImport, ExtraStatesThatAStrictLoadAsksFor) {
  std::map<std::string, uint64_t> dense, engine_moe, local_moe;
  for (uint64_t l = 0; l < 3; ++l) {
    for (const char* module : {"mlp.linear_fc1", "mlp.linear_fc2", "self_attention.linear_proj", "self_attention.linear_qkv"}) dense[Cat("decoder.layers.", module, "._extra_state/shard_", l, "_3")] = 1513;
  }
  dense["decoder.final_layernorm._extra_state/shard_0_1"] = 1513;
  EXPECT_EQ(ExtraStates("llama_untied", plan::TransformerImpl::kTransformerEngine), dense);
  for (uint64_t l = 0; l < 2; ++l) {
    for (const char* module : {"pre_mlp_layernorm", "self_attention.k_layernorm", "self_attention.q_layernorm", "self_attention.linear_proj", "self_attention.linear_qkv"}) {
      engine_moe[Cat("decoder.layers.", module, "._extra_state/shard_", l, "_2")] = 1513;
    }
    for (const char* module : {"self_attention.linear_proj", "self_attention.linear_qkv"}) local_moe[Cat("decoder.layers.", module, "._extra_state/shard_", l, "_2")] = 1261;
    for (uint64_t e = 0; e < 4; ++e) {
      for (const char* module : {"linear_fc1", "linear_fc2"}) {
        const std::string name = Cat("decoder.layers.mlp.experts.experts.", module, "._extra_state/shard_", l, ".", e, "_2.4");
        engine_moe[name] = 1513;
        local_moe[name] = 1261;
      }
    }
  }
  engine_moe["decoder.final_layernorm._extra_state/shard_0_1"] = 1513;
  EXPECT_EQ(ExtraStates("qwen3_moe", plan::TransformerImpl::kTransformerEngine), engine_moe);
  EXPECT_EQ(ExtraStates("mixtral", plan::TransformerImpl::kLocal), local_moe);
  // In layers of two kinds, each has its own keys; experts are counted without the layer.
  const auto mixed = ExtraStates("qwen3_moe_mixed", plan::TransformerImpl::kTransformerEngine);
  EXPECT_EQ(mixed.count("decoder.layers.0.mlp.experts.experts.linear_fc2._extra_state/shard_3_4"), 1u);
  EXPECT_EQ(mixed.count("decoder.layers.1.mlp.linear_fc1._extra_state/shard_0_1"), 1u);
  EXPECT_EQ(mixed.size(), 3u * 4 + 2 * (1 + 8) + 2 + 1);
}

// The norm in front of experts, and those of latent attention, have other keys in local layers.
TEST(MegatronImport, KeysOfLocalLayers) {
  const auto keys = [](const std::string& folder, plan::TransformerImpl impl) {
    const fs::TestDirectory scratch;
    CarryOutTo(ImportOf(FolderOf(folder), [&](plan::SplitStep& step) { step.transformer_impl = impl; }), scratch / "out");
    return ShapesOf(ReadState(scratch / "out"));
  };
  Shapes mixtral = keys("mixtral", plan::TransformerImpl::kLocal);
  EXPECT_EQ(mixtral.count("decoder.layers.mlp.linear_fc1.layer_norm_weight"), 1u);
  EXPECT_EQ(mixtral.count("decoder.layers.pre_mlp_layernorm.weight"), 0u);
  EXPECT_EQ(mixtral.count("decoder.layers.self_attention.linear_qkv.layer_norm_weight"), 1u);
  Shapes deepseek = keys("deepseek_v3", plan::TransformerImpl::kLocal);
  for (const char* key : {"0.input_layernorm.weight", "0.pre_mlp_layernorm.weight", "1.pre_mlp_layernorm.weight", "0.self_attention.q_layernorm.weight", "0.self_attention.kv_layernorm.weight"}) {
    EXPECT_EQ(deepseek.count(Cat("decoder.layers.", key)), 1u) << key;
  }
  for (const auto& [key, shape] : deepseek) EXPECT_EQ(key.find("layer_norm_weight"), std::string::npos) << key;
}

// Gemma multiplies by 1 + weight, local layers by the weight: 1 is added, in float32 here.
TEST(MegatronImport, NormsOfOnePlusWeight) {
  const fs::TestDirectory scratch;
  const std::string norm = ReadState(FolderOf("gemma")).at("model.norm.weight").bytes;
  CarryOutTo(ImportOf(FolderOf("gemma")), scratch / "engine");
  EXPECT_EQ(ReadState(scratch / "engine").at("decoder.final_layernorm.weight").bytes, norm);
  EXPECT_EQ(ArgOf(scratch / "engine", "layernorm_zero_centered_gamma"), "True");
  CarryOutTo(ImportOf(FolderOf("gemma"), [](plan::SplitStep& step) { step.transformer_impl = plan::TransformerImpl::kLocal; }), scratch / "local");
  const std::string local = ReadState(scratch / "local").at("decoder.final_layernorm.weight").bytes;
  EXPECT_EQ(ArgOf(scratch / "local", "layernorm_zero_centered_gamma"), "False");
  ASSERT_EQ(local.size(), 24u * 4);
  for (size_t i = 0; i < 24; ++i) {
    float w = 0, stored = 0;
    std::memcpy(&w, norm.data() + i * 4, 4);
    std::memcpy(&stored, local.data() + i * 4, 4);
    EXPECT_EQ(stored, w + 1.0f);
  }
}

// z, x, B, C and dt of a Mamba layer are one tensor in the file; a Hybrid model's output layer has an extra state.
TEST(MegatronImport, PartsOfMamba) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("mamba2")), scratch / "out");
  const State found = ReadState(scratch / "out"), hf = ReadState(FolderOf("mamba2"));
  const auto key = [](const std::string& part) { return Cat("decoder.layers.0.mixer.in_proj.weight.", part); };
  EXPECT_EQ(Concatenate({found.at(key("z")), found.at(key("x")), found.at(key("B")), found.at(key("C")), found.at(key("dt"))}), hf.at("backbone.layers.0.mixer.in_proj.weight"));
  const auto opened = Checkpoint::Open(scratch / "out");
  EXPECT_NE(opened->FindObject("output_layer._extra_state/shard_0_1"), nullptr);
  EXPECT_NE(opened->FindObject("decoder.layers.0.mixer.in_proj._extra_state/shard_0_1"), nullptr);
  EXPECT_NE(opened->FindObject("decoder.layers.0.mixer.out_proj._extra_state/shard_0_1"), nullptr);
  EXPECT_EQ(opened->FindObject("decoder.layers.0.mixer.conv1d._extra_state/shard_0_1"), nullptr);
}

TEST(MegatronImport, NoExtraStates) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("llama_untied"), [](plan::SplitStep& step) { step.extra_state = plan::SplitStep::ExtraState::kDrop; }), scratch / "out");
  EXPECT_TRUE(Checkpoint::Open(scratch / "out")->objects().empty());
}

TEST(MegatronImport, ChunksOfTheModelNotOfTheFiles) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("mixtral")), scratch / "out");
  const auto opened = Checkpoint::Open(scratch / "out");
  const dcp::Tensor* fc1 = opened->FindTensor("decoder.layers.mlp.experts.experts.linear_fc1.weight");
  ASSERT_EQ(fc1->chunks.size(), 2u * 4 * 2);
  EXPECT_EQ(fc1->chunks[3].box, (Box{{0, 1, 48, 0}, {1, 1, 48, 24}}));
  const dcp::Tensor* qkv = opened->FindTensor("decoder.layers.self_attention.linear_qkv.weight");
  ASSERT_EQ(qkv->chunks.size(), 2u);
  EXPECT_EQ(qkv->chunks[1].box.shape[0], 1u);
  EXPECT_EQ(opened->FindTensor("embedding.word_embeddings.weight")->chunks.size(), 1u);
}

TEST(MegatronImport, ADtypeOfOnesOwn) {
  const fs::TestDirectory scratch;
  CarryOutTo(ImportOf(FolderOf("deepseek_v3"), [](plan::SplitStep& step) { step.dtype = plan::SaveDtype::kFloat32; }), scratch / "out");
  for (const auto& [name, tensor] : ReadState(scratch / "out")) EXPECT_EQ(tensor.dtype, DType::kF32) << name;
  EXPECT_EQ(ArgOf(scratch / "out", "params_dtype"), "torch.float32");
}

TEST(MegatronImport, OtherInputsAndSettingsAreRefused) {
  plan::Plan megatron = ImportOf("testdata/fixtures/megatron/gpt_dense_stacked/ckpt/iter_0000010");
  megatron.inputs[0].format = plan::Format::kTorchDist;
  EXPECT_TRUE(StartsWith(FaultOf(megatron), "split.not_hugging_face: "));
  EXPECT_TRUE(StartsWith(FaultOf(ImportOf(FolderOf("llama_untied"), [](plan::SplitStep& step) { step.config = "/nowhere"; })), "split.no_config: "));
  EXPECT_TRUE(StartsWith(FaultOf(ImportOf(FolderOf("llama_untied"), [](plan::SplitStep& step) { step.vocab_divisible_by = UINT64_MAX; })), "split.padded_vocab: "));
  EXPECT_TRUE(StartsWith(FaultOf(ImportOf(FolderOf("llama_untied"), [](plan::SplitStep& step) { step.vocab_divisible_by = step.tensor_parallel = uint64_t{1} << 33; })), "split.padded_vocab: "));
}

}  // namespace
}  // namespace ck::run
