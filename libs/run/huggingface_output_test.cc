// Exports of real Megatron checkpoints, compared element by element with what the layout of the fused tensors says, computed here from the recorded logical
// state, without any code of the export.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/json/value.h"
#include "libs/plan/plan.h"
#include "libs/run/carry_out.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/safetensors/header.h"

namespace ck::run {
namespace {

namespace stdfs = std::filesystem;
using checkpoint::Checkpoint;
using State = std::map<std::string, WholeTensor>;

constexpr char kMegatron[] = "testdata/fixtures/megatron";

// a query heads, g groups, d elements per head, V real rows, L layers, E experts.
struct Sizes {
  uint64_t a = 4, g = 2, d = 8, V = 61, L = 3, E = 0;
};
constexpr Sizes kMost = {};
constexpr Sizes kSmall = {.a = 4, .g = 2, .d = 6, .V = 29, .L = 2, .E = 4};

std::string CheckpointOf(const std::string& folder) {
  const std::string root = Cat(kMegatron, "/", folder, "/ckpt/");
  return fs::Stat(root + "release") ? root + "release" : fs::Stat(root + "iter_0000010") ? root + "iter_0000010" : root + "iter_0000040";
}

State TruthOf(const std::string& folder) {
  const std::string content = fs::ReadSmallFile(Cat(kMegatron, "/", folder, "/truth.safetensors"), 1 << 28);
  State out;
  for (const safetensors::Tensor& tensor : safetensors::ReadHeader(bytes::StringSource(content)).tensors) {
    if (StartsWith(tensor.name, "state.")) out[tensor.name.substr(6)] = {.dtype = tensor.dtype, .shape = tensor.shape, .bytes = content.substr(tensor.begin, tensor.end - tensor.begin)};
  }
  return out;
}

// Element `index` of axis 0.
WholeTensor At(const WholeTensor& tensor, uint64_t index) {
  const Dims shape(tensor.shape.begin() + 1, tensor.shape.end());
  const uint64_t size = tensor.bytes.size() / tensor.shape[0];
  return {.dtype = tensor.dtype, .shape = shape, .bytes = tensor.bytes.substr(index * size, size)};
}

// These rows of axis 0, in this order.
WholeTensor Rows(const WholeTensor& tensor, const std::vector<uint64_t>& rows) {
  WholeTensor out{.dtype = tensor.dtype, .shape = tensor.shape, .bytes = ""};
  out.shape[0] = rows.size();
  for (const uint64_t row : rows) out.bytes += At(tensor, row).bytes;
  return out;
}

std::vector<uint64_t> Range(uint64_t begin, uint64_t end) {
  std::vector<uint64_t> out;
  for (uint64_t i = begin; i < end; ++i) out.push_back(i);
  return out;
}

// q row (i n + j) d + r = row (i (n + 2) + j) d + r of the fused tensor; k and v are blocks n and n + 1 of each group.
void AddQkv(State& out, const std::string& layer, const std::string& kind, const WholeTensor& fused, const Sizes& s) {
  const uint64_t n = s.a / s.g;
  std::vector<uint64_t> q, k, v;
  for (uint64_t i = 0; i < s.g; ++i) {
    for (uint64_t j = 0; j < n; ++j) {
      for (uint64_t r = 0; r < s.d; ++r) q.push_back((i * (n + 2) + j) * s.d + r);
    }
    for (uint64_t r = 0; r < s.d; ++r) {
      k.push_back((i * (n + 2) + n) * s.d + r);
      v.push_back((i * (n + 2) + n + 1) * s.d + r);
    }
  }
  out[layer + "self_attn.q_proj." + kind] = Rows(fused, q);
  out[layer + "self_attn.k_proj." + kind] = Rows(fused, k);
  out[layer + "self_attn.v_proj." + kind] = Rows(fused, v);
}

void AddGateUp(State& out, const std::string& gate, const std::string& up, const WholeTensor& fused) {
  const uint64_t f = fused.shape[0] / 2;
  out[gate] = Rows(fused, Range(0, f));
  out[up] = Rows(fused, Range(f, 2 * f));
}

// What a model stacked over its layers becomes.
State Expected(const State& state, const Sizes& s, bool mixtral = false) {
  State out;
  out["model.embed_tokens.weight"] = Rows(state.at("embedding.word_embeddings.weight"), Range(0, s.V));
  out["model.norm.weight"] = state.at("decoder.final_layernorm.weight");
  if (state.count("output_layer.weight") > 0) out["lm_head.weight"] = Rows(state.at("output_layer.weight"), Range(0, s.V));
  for (uint64_t l = 0; l < s.L; ++l) {
    const std::string layer = Cat("model.layers.", l, ".");
    const auto has = [&](const std::string& name) { return state.count("decoder.layers." + name) > 0; };
    const auto row = [&](const std::string& name) { return At(state.at("decoder.layers." + name), l); };
    out[layer + "input_layernorm.weight"] = row("self_attention.linear_qkv.layer_norm_weight");
    AddQkv(out, layer, "weight", row("self_attention.linear_qkv.weight"), s);
    if (has("self_attention.linear_qkv.bias")) AddQkv(out, layer, "bias", row("self_attention.linear_qkv.bias"), s);
    out[layer + "self_attn.o_proj.weight"] = row("self_attention.linear_proj.weight");
    if (has("self_attention.q_layernorm.weight")) {
      out[layer + "self_attn.q_norm.weight"] = row("self_attention.q_layernorm.weight");
      out[layer + "self_attn.k_norm.weight"] = row("self_attention.k_layernorm.weight");
    }
    out[layer + "post_attention_layernorm.weight"] = row(has("pre_mlp_layernorm.weight") ? "pre_mlp_layernorm.weight" : "mlp.linear_fc1.layer_norm_weight");
    if (s.E == 0) {
      AddGateUp(out, layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight", row("mlp.linear_fc1.weight"));
      out[layer + "mlp.down_proj.weight"] = row("mlp.linear_fc2.weight");
      continue;
    }
    const std::string mlp = layer + (mixtral ? "block_sparse_moe." : "mlp.");
    out[mlp + "gate.weight"] = row("mlp.router.weight");
    for (uint64_t e = 0; e < s.E; ++e) {
      const std::string expert = Cat(mlp, "experts.", e, ".");
      AddGateUp(out, expert + (mixtral ? "w1.weight" : "gate_proj.weight"), expert + (mixtral ? "w3.weight" : "up_proj.weight"), At(row("mlp.experts.experts.linear_fc1.weight"), e));
      out[expert + (mixtral ? "w2.weight" : "down_proj.weight")] = At(row("mlp.experts.experts.linear_fc2.weight"), e);
    }
    if (!has("mlp.shared_experts.gate_weight")) continue;
    AddGateUp(out, mlp + "shared_expert.gate_proj.weight", mlp + "shared_expert.up_proj.weight", row("mlp.shared_experts.linear_fc1.weight"));
    out[mlp + "shared_expert.down_proj.weight"] = row("mlp.shared_experts.linear_fc2.weight");
    out[mlp + "shared_expert_gate.weight"] = row("mlp.shared_experts.gate_weight");
  }
  return out;
}

plan::Plan ExportOf(const std::string& folder, const std::string& architecture) {
  plan::Plan plan;
  const std::string path = CheckpointOf(folder);
  const auto opened = Checkpoint::Open(path);
  const plan::Format format = opened->format() == checkpoint::Format::kTorchDist ? plan::Format::kTorchDist : plan::Format::kFsdpDtensor;
  plan.inputs = {{.path = fs::AbsolutePath(path), .iteration = {}, .format = format, .weight = {}, .metadata_sha256 = {}}};
  plan::SplitStep step;
  step.architecture = architecture;
  plan.steps = {step};
  return plan;
}

plan::SplitStep& StepOf(plan::Plan& plan) { return std::get<plan::SplitStep>(plan.steps.back()); }

Outcome ExportTo(const plan::Plan& plan, const std::string& output) {
  CarryOutOptions options;
  options.output = output;
  options.threads = 2;
  options.durability = fs::Durability::kNoSync;
  return CarryOut(plan, options, {});
}

std::string IdOf(const plan::Plan& plan) {
  const fs::TestDirectory scratch;
  try {
    ExportTo(plan, scratch / "out");
  } catch (const Error& error) {
    EXPECT_FALSE(fs::Stat(scratch / "out"));
    return error.id();
  }
  return "";
}

State Exported(const plan::Plan& plan) {
  const fs::TestDirectory scratch;
  ExportTo(plan, scratch / "out");
  return ReadTensors(*Checkpoint::Open(scratch / "out"));
}

// Names and bytes apart: a failure then says which tensor.
void ExpectSame(const State& found, const State& expected) {
  std::vector<std::string> found_names, expected_names;
  for (const auto& [name, tensor] : found) found_names.push_back(name);
  for (const auto& [name, tensor] : expected) expected_names.push_back(name);
  EXPECT_EQ(found_names, expected_names);
  for (const auto& [name, tensor] : found) {
    const auto at = expected.find(name);
    EXPECT_TRUE(at != expected.end() && at->second == tensor) << name;
  }
}

TEST(HuggingFaceOutput, LlamaFromEveryFormOfTheSameWeights) {
  const State expected = Expected(TruthOf("gpt_dense_stacked"), kMost);
  ASSERT_EQ(expected.size(), 3u + 3 * 9);
  for (const char* folder : {"gpt_dense_stacked", "gpt_dense_perlayer", "gpt_dense_tp2pp2", "te_gpt_dense", "main_gpt_dense_stacked", "main_gpt_dense_release", "hybrid_attn_mlp", "main_hybrid_attn_mlp"}) {
    SCOPED_TRACE(folder);
    ExpectSame(Exported(ExportOf(folder, "LlamaForCausalLM")), expected);
  }
}

TEST(HuggingFaceOutput, OneGroupCutInTwoOrNot) {
  const State expected = Expected(TruthOf("gpt_mqa"), {.a = 4, .g = 1, .d = 6, .V = 29, .L = 2, .E = 0});
  for (const char* folder : {"gpt_mqa", "gpt_mqa_tp2"}) {
    SCOPED_TRACE(folder);
    ExpectSame(Exported(ExportOf(folder, "LlamaForCausalLM")), expected);
  }
}

TEST(HuggingFaceOutput, Qwen2WithBiasesAndTiedHead) {
  const State expected = Expected(TruthOf("gpt_qkvbias_tied"), kMost);
  EXPECT_EQ(expected.count("lm_head.weight"), 0u);
  for (const char* folder : {"gpt_qkvbias_tied", "gpt_qkvbias_tied_pp2"}) {
    SCOPED_TRACE(folder);
    ExpectSame(Exported(ExportOf(folder, "Qwen2ForCausalLM")), expected);
  }
}

TEST(HuggingFaceOutput, Qwen3WithNormsOfHeads) {
  plan::Plan plan = ExportOf("gpt_qknorm", "Qwen3ForCausalLM");
  EXPECT_EQ(IdOf(plan), "split.vocab_size");  // only the padded number is known
  StepOf(plan).vocab_size = 61;
  ExpectSame(Exported(plan), Expected(TruthOf("gpt_qknorm"), kMost));
}

TEST(HuggingFaceOutput, MixtralWhereverItsExpertsLie) {
  const State expected = Expected(TruthOf("gpt_moe_stacked"), kSmall, true);
  for (const char* folder : {"gpt_moe_stacked", "gpt_moe_ep2", "hybrid_moe"}) {
    SCOPED_TRACE(folder);
    ExpectSame(Exported(ExportOf(folder, "MixtralForCausalLM")), expected);
  }
}

TEST(HuggingFaceOutput, Qwen3Moe) { ExpectSame(Exported(ExportOf("te_gpt_moe", "Qwen3MoeForCausalLM")), Expected(TruthOf("te_gpt_moe"), kSmall)); }

TEST(HuggingFaceOutput, Qwen2MoeWithItsSharedExpert) {
  ExpectSame(Exported(ExportOf("gpt_moe_shared_gate", "Qwen2MoeForCausalLM")), Expected(TruthOf("gpt_moe_shared_gate"), kSmall));
}

// Latent attention: other names, the same bytes.
TEST(HuggingFaceOutput, DeepseekV3KeepsTheRowsOfLatentAttention) {
  for (const char* folder : {"gpt_mla", "gpt_mla_noqlora"}) {
    SCOPED_TRACE(folder);
    const State state = TruthOf(folder);
    State expected;
    expected["model.embed_tokens.weight"] = Rows(state.at("embedding.word_embeddings.weight"), Range(0, 29));
    expected["model.norm.weight"] = state.at("decoder.final_layernorm.weight");
    if (state.count("output_layer.weight") > 0) expected["lm_head.weight"] = Rows(state.at("output_layer.weight"), Range(0, 29));
    const std::map<std::string, std::string> names = {
        {"input_layernorm.weight", "input_layernorm.weight"},
        {"self_attention.linear_q_proj.weight", "self_attn.q_proj.weight"},
        {"self_attention.linear_q_down_proj.weight", "self_attn.q_a_proj.weight"},
        {"self_attention.q_layernorm.weight", "self_attn.q_a_layernorm.weight"},
        {"self_attention.linear_q_up_proj.weight", "self_attn.q_b_proj.weight"},
        {"self_attention.linear_kv_down_proj.weight", "self_attn.kv_a_proj_with_mqa.weight"},
        {"self_attention.kv_layernorm.weight", "self_attn.kv_a_layernorm.weight"},
        {"self_attention.linear_kv_up_proj.weight", "self_attn.kv_b_proj.weight"},
        {"self_attention.linear_proj.weight", "self_attn.o_proj.weight"},
        {"pre_mlp_layernorm.weight", "post_attention_layernorm.weight"},
        {"mlp.linear_fc2.weight", "mlp.down_proj.weight"},
    };
    for (uint64_t l = 0; l < 2; ++l) {
      const std::string layer = Cat("model.layers.", l, ".");
      for (const auto& [from, to] : names) {
        const auto at = state.find("decoder.layers." + from);
        if (at != state.end()) expected[layer + to] = At(at->second, l);
      }
      AddGateUp(expected, layer + "mlp.gate_proj.weight", layer + "mlp.up_proj.weight", At(state.at("decoder.layers.mlp.linear_fc1.weight"), l));
    }
    ExpectSame(Exported(ExportOf(folder, "DeepseekV3ForCausalLM")), expected);
  }
}

// Gate and up are two tensors there.
TEST(HuggingFaceOutput, FsdpDtensor) {
  for (const char* folder : {"fsdp_dtensor", "fsdp_dtensor_full"}) {
    SCOPED_TRACE(folder);
    State stacked;
    for (const auto& [name, tensor] : TruthOf(folder)) {
      if (!StartsWith(name, "model.module.")) continue;
      const std::string key = name.substr(13);
      if (!StartsWith(key, "decoder.layers.")) stacked[key] = tensor;
    }
    const State truth = TruthOf(folder);
    const auto join = [&](const std::string& to, const std::vector<std::string>& parts) {
      WholeTensor out;
      for (uint64_t l = 0; l < 2; ++l) {
        for (const std::string& part : parts) {
          const WholeTensor& tensor = truth.at(Cat("model.module.decoder.layers.", l, ".", part));
          out.dtype = tensor.dtype;
          out.shape = tensor.shape;
          out.bytes += tensor.bytes;
        }
      }
      out.shape[0] *= parts.size();
      out.shape.insert(out.shape.begin(), 2);
      stacked["decoder.layers." + to] = out;
    };
    join("self_attention.linear_qkv.layer_norm_weight", {"input_layernorm.weight"});
    join("self_attention.linear_qkv.weight", {"self_attention.linear_qkv.weight"});
    join("self_attention.linear_proj.weight", {"self_attention.linear_proj.weight"});
    join("pre_mlp_layernorm.weight", {"pre_mlp_layernorm.weight"});
    join("mlp.linear_fc1.weight", {"mlp.linear_fc1.weight_w", "mlp.linear_fc1.weight_v"});
    join("mlp.linear_fc2.weight", {"mlp.linear_fc2.weight"});
    ExpectSame(Exported(ExportOf(folder, "LlamaForCausalLM")), Expected(stacked, {.a = 4, .g = 2, .d = 6, .V = 29, .L = 2, .E = 0}));
  }
}

TEST(HuggingFaceOutput, RefusesWhatTheClassCannotHold) {
  struct Case {
    const char* folder;
    const char* architecture;
    const char* id;
  };
  const Case cases[] = {
      {"gpt_qkvbias_tied", "LlamaForCausalLM", "split.missing_tensor"},  // a bias of q, k and v, but none of o
      {"gpt_qkvbias_tied", "MistralForCausalLM", "split.extra_tensor"},
      {"gpt_dense_stacked", "Qwen2ForCausalLM", "split.missing_tensor"},
      {"gpt_dense_stacked", "MixtralForCausalLM", "split.extra_tensor"},
      {"gpt_qknorm", "LlamaForCausalLM", "split.extra_tensor"},
      {"gpt_moe_stacked", "LlamaForCausalLM", "split.missing_tensor"},
      {"gpt_mla", "LlamaForCausalLM", "split.missing_tensor"},
      {"gpt_mtp", "LlamaForCausalLM", "split.extra_tensor"},
      {"gpt_layernorm_gelu", "LlamaForCausalLM", "split.bad_shape"},
      {"hybrid_mamba", "LlamaForCausalLM", "split.hybrid"},
      {"gpt_moe_perlayer_mixed", "Qwen3MoeForCausalLM", "split.missing_tensor"},
      {"gpt_mla_moe_mixed", "DeepseekV3ForCausalLM", "split.bad_shape"},  // the shared width, 22, is no multiple of the routed one, 20
      {"te_gpt_mla_moe", "DeepseekV3ForCausalLM", "split.bad_shape"},
      {"gpt_dense_stacked", "LlamaForCasualLM", "huggingface.unknown_architecture"},
  };
  for (const Case& c : cases) EXPECT_EQ(IdOf(ExportOf(c.folder, c.architecture)), c.id) << c.folder << " as " << c.architecture;
  EXPECT_NE(IdOf(ExportOf("hybrid_attn_mlp_ordered", "LlamaForCausalLM")), "");
  plan::Plan none = ExportOf("gpt_dense_stacked", "");
  StepOf(none).architecture.reset();
  EXPECT_EQ(IdOf(none), "split.no_architecture");
}

TEST(HuggingFaceOutput, RefusesAVocabularyOrTieThatDoesNotFit) {
  plan::Plan plan = ExportOf("gpt_dense_stacked", "LlamaForCausalLM");
  StepOf(plan).vocab_size = 65;
  EXPECT_EQ(IdOf(plan), "split.vocab_size");
  StepOf(plan).vocab_size = 64;
  EXPECT_EQ(Exported(plan).at("model.embed_tokens.weight").shape, (Dims{64, 24}));
  StepOf(plan).tied = plan::SplitStep::Tied::kYes;
  EXPECT_EQ(IdOf(plan), "split.tied");
  plan::Plan tied = ExportOf("gpt_qkvbias_tied", "Qwen2ForCausalLM");
  StepOf(tied).tied = plan::SplitStep::Tied::kNo;
  EXPECT_EQ(IdOf(tied), "split.tied");
}

TEST(HuggingFaceOutput, TrainingStateIsLeftOutAndCounted) {
  const fs::TestDirectory scratch;
  const Outcome outcome = ExportTo(ExportOf("window_full", "LlamaForCausalLM"), scratch / "out");
  std::map<std::string, uint64_t> counts;
  for (const plan::LeftOut& left : outcome.result.left_out) counts[left.rule] = left.count;
  EXPECT_EQ(counts["optimizer"], 27u);
  EXPECT_EQ(counts["extra_state"], 8u);
  EXPECT_EQ(counts["rng"], 1u);
  EXPECT_EQ(counts["vocab_padding"], 2u);
}

json::Object ConfigAt(const std::string& directory) { return *json::Parse(fs::ReadSmallFile(directory + "/config.json", 1 << 20)).AsObject(); }

TEST(HuggingFaceOutput, ADerivedConfigSaysWhatTheCheckpointSays) {
  const fs::TestDirectory scratch;
  ExportTo(ExportOf("te_gpt_moe", "Qwen3MoeForCausalLM"), scratch / "out");
  const json::Object config = ConfigAt(scratch / "out");
  const std::vector<std::pair<std::string, json::Value>> expected = {
      {"architectures", json::Array{"Qwen3MoeForCausalLM"}}, {"model_type", "qwen3_moe"}, {"hidden_size", 16},          {"num_hidden_layers", 2},
      {"num_attention_heads", 4},                            {"num_key_value_heads", 2},  {"head_dim", 6},              {"vocab_size", 29},
      {"num_experts", 4},                                    {"num_experts_per_tok", 2},  {"moe_intermediate_size", 20}, {"norm_topk_prob", true},
      {"tie_word_embeddings", false},                        {"torch_dtype", "bfloat16"}, {"attention_bias", false},    {"max_position_embeddings", 64},
  };
  for (const auto& [name, value] : expected) {
    const json::Value* found = config.Find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(*found, value) << name;
  }
  EXPECT_EQ(config.Find("rope_theta")->AsDouble(), 10000.0);
  EXPECT_EQ(config.Find("rms_norm_eps")->AsDouble(), 1e-5);
}

class WithTemplate : public testing::Test {
 protected:
  // A directory with the config of a model that transformers wrote, changed, and side files.
  std::string Directory(const std::function<void(json::Object&)>& change, const std::string& spelling = "config_both.json") {
    const std::string directory = scratch_ / Cat("hf", ++number_);
    stdfs::create_directories(directory + "/sub");
    json::Object config = *json::Parse(fs::ReadSmallFile("testdata/fixtures/hf/llama_untied/" + spelling, 1 << 20)).AsObject();
    change(config);
    std::ofstream(directory + "/config.json") << json::Write(config, {.indent = 2});
    for (const char* name : {"tokenizer.json", "generation_config.json", "sub/notes.txt", "model.safetensors", "model.safetensors.index.json", ".gitattributes"}) {
      std::ofstream(directory + "/" + name) << "text of " << name;
    }
    return directory;
  }

  plan::Plan Plan(const std::string& directory) {
    plan::Plan plan = ExportOf("gpt_dense_stacked", "");
    StepOf(plan).architecture.reset();
    StepOf(plan).config = directory;
    return plan;
  }

  fs::TestDirectory scratch_;
  int number_ = 0;
};

TEST_F(WithTemplate, SideFilesComeAlongAndWeightsDoNot) {
  const Outcome outcome = ExportTo(Plan(Directory([](json::Object&) {})), scratch_ / "out");
  for (const char* name : {"tokenizer.json", "generation_config.json", "sub/notes.txt"}) EXPECT_EQ(fs::ReadSmallFile(scratch_ / (std::string("out/") + name), 100), Cat("text of ", name));
  EXPECT_FALSE(fs::Stat(scratch_ / "out/model.safetensors.index.json"));
  EXPECT_FALSE(fs::Stat(scratch_ / "out/.gitattributes"));
  ExpectSame(ReadTensors(*Checkpoint::Open(scratch_ / "out")), Expected(TruthOf("gpt_dense_stacked"), kMost));
  // The template was made with another eps, base and dtype.
  const json::Object config = ConfigAt(scratch_ / "out");
  EXPECT_EQ(config.Find("rms_norm_eps")->AsDouble(), 1e-5);
  EXPECT_EQ(config.Find("rope_theta")->AsDouble(), 10000.0);
  EXPECT_EQ(*config.Find("torch_dtype"), json::Value("float32"));
  EXPECT_EQ(*config.Find("max_position_embeddings"), json::Value(96));  // kept
  EXPECT_TRUE(std::any_of(outcome.notes.begin(), outcome.notes.end(), [](const std::string& note) { return note == "config.json: rope_theta 7000.0 -> 10000.0"; }));
}

TEST_F(WithTemplate, TheNewerSpellingFollows) {
  ExportTo(Plan(Directory([](json::Object&) {}, "model/config.json")), scratch_ / "out");
  const json::Object config = ConfigAt(scratch_ / "out");
  EXPECT_EQ(config.Find("rope_theta")->AsDouble(), 10000.0);
  ASSERT_NE(config.Find("rope_parameters"), nullptr);
  EXPECT_EQ(config.Find("rope_parameters")->AsObject()->Find("rope_theta")->AsDouble(), 10000.0);
  EXPECT_EQ(*config.Find("dtype"), json::Value("float32"));
  EXPECT_EQ(*config.Find("torch_dtype"), json::Value("float32"));
}

TEST_F(WithTemplate, AContradictionWithTheTensorsStops) {
  const auto id = [&](const std::function<void(json::Object&)>& change, std::optional<plan::SplitStep::ConfigFrom> from = {}) {
    plan::Plan plan = Plan(Directory(change));
    StepOf(plan).config_from = from;
    return IdOf(plan);
  };
  using From = plan::SplitStep::ConfigFrom;
  const auto set = [](const char* name, json::Value value) { return [name, value](json::Object& config) { config.Set(name, value); }; };
  EXPECT_EQ(id(set("hidden_size", 32)), "split.config_contradiction");
  EXPECT_EQ(id(set("hidden_size", 32), From::kTemplate), "split.config_contradiction");
  EXPECT_EQ(id(set("hidden_size", 32), From::kCheckpoint), "");
  EXPECT_EQ(id(set("num_hidden_layers", 4)), "split.config_contradiction");
  EXPECT_EQ(id(set("vocab_size", 60)), "split.config_contradiction");
  EXPECT_EQ(id(set("vocab_size", 60), From::kTemplate), "");
  EXPECT_EQ(id(set("num_key_value_heads", 4)), "split.config_contradiction");
  EXPECT_EQ(id(set("tie_word_embeddings", true)), "split.config_contradiction");
  EXPECT_EQ(id(set("intermediate_size", 41), From::kCheckpoint), "");
}

TEST_F(WithTemplate, ATemplateThatIsNotThereOrNotJson) {
  EXPECT_EQ(IdOf(Plan(scratch_ / "nowhere")), "split.no_config");
  const std::string directory = scratch_ / "bad";
  stdfs::create_directories(directory);
  std::ofstream(directory + "/config.json") << "{";
  EXPECT_NE(IdOf(Plan(directory)), "");
}

}  // namespace
}  // namespace ck::run
