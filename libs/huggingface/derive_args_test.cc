// Arguments for a model that comes from Hugging Face.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/testing/summary.h"

namespace ck::huggingface {
namespace {

ModelConfig Model(const std::string& folder) {
  std::ifstream stream(std::filesystem::path("testdata/fixtures/hf") / folder / "config_both.json", std::ios::binary);
  EXPECT_TRUE(stream) << folder;
  ModelConfig out = ReadConfig(ParseConfig(std::string(std::istreambuf_iterator<char>(stream), {})));
  // No tensor of the zoo is an MTP layer, and Megatron has no token ids.
  out.mtp_layers = 0;
  out.bos_token.reset();
  out.pad_token.reset();
  out.eos_tokens.clear();
  return out;
}

std::string Text(const ArgumentValue& value) {
  struct Show {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "True" : "False"; }
    std::string operator()(int64_t v) const { return Cat(v); }
    std::string operator()(double v) const { return FormatDouble(v); }
    std::string operator()(const std::string& v) const { return Cat("'", v, "'"); }
    std::string operator()(const TorchDtype& v) const { return Cat("torch.", v.name); }
    std::string operator()(const std::vector<int64_t>& v) const {
      std::vector<std::string> items;
      for (const int64_t item : v) items.push_back(Cat(item));
      return Cat("[", Join(items, ", "), "]");
    }
  };
  return std::visit(Show{}, value);
}

std::map<std::string, std::string> Map(const DerivedArgs& args) {
  std::map<std::string, std::string> out;
  for (const Argument& argument : args.arguments)
    EXPECT_TRUE(out.emplace(argument.name, Text(argument.value)).second) << argument.name;
  return out;
}

const ArgsOptions kOptions = {
    .impl = TransformerImpl::kTransformerEngine, .padded_vocab = 128, .make_vocab_size_divisible_by = 64};

// "name=value" for what a person would set on Megatron's command line.
TEST(ArgsFromConfigTest, ArgumentsByHand) {
  struct Case {
    const char* folder;
    std::vector<std::string> expected;
  };
  const Case cases[] = {
      {"llama_untied",
       {"num_layers=3",
        "hidden_size=24",
        "ffn_hidden_size=40",
        "num_attention_heads=4",
        "group_query_attention=True",
        "num_query_groups=2",
        "kv_channels=8",
        "max_position_embeddings=96",
        "vocab_size=61",
        "padded_vocab_size=128",
        "make_vocab_size_divisible_by=64",
        "untie_embeddings_and_output_weights=True",
        "normalization='RMSNorm'",
        "layernorm_epsilon=3e-05",
        "norm_epsilon=3e-05",
        "layernorm_zero_centered_gamma=False",
        "qk_layernorm=False",
        "add_bias_linear=False",
        "add_qkv_bias=False",
        "swiglu=True",
        "position_embedding_type='rope'",
        "rotary_base=7000",
        "rotary_percent=1.0",
        "rotary_interleaved=False",
        "use_rope_scaling=False",
        "num_experts=None",
        "moe_layer_freq=1",
        "multi_latent_attention=False",
        "window_size=None",
        "mtp_num_layers=None",
        "params_dtype=torch.bfloat16",
        "bf16=True",
        "fp16=False",
        "hybrid_layer_pattern=None",
        "transformer_impl='transformer_engine'"}},
      {"llama_tied", {"untie_embeddings_and_output_weights=False", "params_dtype=torch.float32", "bf16=False"}},
      {"llama_bias", {"add_bias_linear=True", "add_qkv_bias=True"}},
      {"qwen2", {"add_bias_linear=False", "add_qkv_bias=True"}},
      {"qwen3", {"qk_layernorm=True", "add_qkv_bias=False"}},
      {"mistral", {"window_size=[3, 0]", "window_attn_skip_freq=None"}},
      {"gpt_oss",
       {"window_size=[3, 0]", "window_attn_skip_freq=[1, 0]", "softmax_type='learnable'", "quick_geglu=True",
        "swiglu=False", "activation_func_clamp_value=7.0", "glu_linear_offset=1.0", "position_embedding_type='yarn'",
        "yarn_rotary_scaling_factor=4.0", "yarn_original_max_position_embeddings=24", "yarn_beta_fast=32.0",
        "yarn_beta_slow=1.0", "yarn_correction_range_round_to_int=False", "num_experts=6", "moe_ffn_hidden_size=40",
        "moe_router_pre_softmax=False", "add_bias_linear=True"}},
      {"qwen2_moe",
       {"num_experts=4", "moe_router_topk=2", "moe_ffn_hidden_size=48", "moe_shared_expert_intermediate_size=18",
        "moe_shared_expert_gate=True", "moe_router_pre_softmax=True", "moe_layer_freq=1",
        "moe_router_score_function='softmax'"}},
      {"qwen3_moe_mixed",
       {"moe_layer_freq=[1, 0, 1]", "moe_router_pre_softmax=False", "moe_shared_expert_intermediate_size=None"}},
      {"deepseek_v3",
       {"multi_latent_attention=True", "group_query_attention=False", "num_query_groups=1", "q_lora_rank=17",
        "kv_lora_rank=20", "qk_head_dim=10", "qk_pos_emb_head_dim=6", "v_head_dim=12", "qk_layernorm=True",
        "rope_type='rope'", "moe_layer_freq=[0, 1, 1]", "moe_router_score_function='sigmoid'",
        "moe_router_enable_expert_bias=True", "moe_router_num_groups=2", "moe_router_group_topk=1",
        "moe_router_topk_scaling_factor=1.7", "moe_shared_expert_intermediate_size=32",
        "moe_shared_expert_gate=False"}},
      {"deepseek_v2",
       {"rope_type='yarn'", "rotary_scaling_factor=4.0", "original_max_position_embeddings=24", "mscale=0.707",
        "mscale_all_dim=0.707", "beta_fast=32.0", "moe_router_score_function='softmax'", "moe_router_pre_softmax=True",
        "moe_router_enable_expert_bias=False"}},
      {"deepseek_v3_noq", {"q_lora_rank=None", "moe_router_num_groups=None"}},
      {"glm4", {"rotary_percent=0.5", "rotary_interleaved=True"}},
      {"glm4_moe", {"rotary_percent=0.5", "rotary_interleaved=False", "qk_layernorm=True"}},
      {"gemma2", {"layernorm_zero_centered_gamma=True", "apply_layernorm_1p=True", "window_attn_skip_freq=[1, 0]"}},
      {"nemotron",
       {"normalization='LayerNorm'", "layernorm_zero_centered_gamma=True", "squared_relu=True", "swiglu=False",
        "rotary_percent=0.5"}},
      {"starcoder2",
       {"normalization='LayerNorm'", "openai_gelu=True", "add_bias_linear=True",
        "layernorm_zero_centered_gamma=False"}},
      {"nemotron_h_latent",
       {"num_layers=2", "hybrid_layer_pattern='ME'", "hybrid_override_pattern='ME'", "is_hybrid_model=True",
        "position_embedding_type='none'", "mamba_num_heads=6", "mamba_head_dim=7", "mamba_num_groups=2",
        "mamba_state_dim=10", "moe_latent_size=16", "squared_relu=True", "moe_shared_expert_intermediate_size=18"}},
      {"mamba2",
       {"hybrid_layer_pattern='MM'", "mamba_num_heads=6", "mamba_head_dim=8", "position_embedding_type='none'"}},
      {"qwen3_next",
       {"attention_output_gate=True", "experimental_attention_variant='gated_delta_net'",
        "linear_attention_freq=[1, 0, 1]", "linear_num_key_heads=2", "linear_key_head_dim=5",
        "linear_num_value_heads=4", "linear_value_head_dim=9", "linear_conv_kernel_dim=3",
        "layernorm_zero_centered_gamma=True", "rotary_percent=0.25", "kv_channels=16"}},
  };
  for (const Case& c : cases) {
    const auto args = Map(ArgsFromConfig(Model(c.folder), kOptions));
    for (const std::string& line : c.expected) {
      const std::string name = line.substr(0, line.find('='));
      const auto at = args.find(name);
      EXPECT_EQ(at == args.end() ? Cat(name, " is absent") : Cat(name, "=", at->second), line) << c.folder;
    }
  }
}

// Local Megatron has no zero-centred norm: the weights are stored as w + 1.
TEST(ArgsFromConfigTest, LocalNormsAreNotZeroCentred) {
  const ModelConfig gemma = Model("gemma");
  EXPECT_TRUE(ArgsFromConfig(gemma, kOptions).zero_centered_norms);
  const DerivedArgs local = ArgsFromConfig(gemma, {.impl = TransformerImpl::kLocal, .padded_vocab = 128});
  EXPECT_FALSE(local.zero_centered_norms);
  EXPECT_EQ(Map(local)["layernorm_zero_centered_gamma"], "False");
  EXPECT_EQ(Map(local)["transformer_impl"], "'local'");
  EXPECT_FALSE(ArgsFromConfig(Model("qwen3"), kOptions).zero_centered_norms);
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

// Where nothing is warned about, the arguments say the whole model; what they cannot say is warned about, here by hand.
TEST(ArgsFromConfigTest, ArgumentsSayTheModelOrWarn) {
  // Folders by the number of warnings: latent norms (DeepSeek), groups ranked otherwise, soft caps and scalars, gated
  // gelu, q/k norms over all heads, numbers of llama3, longrope, biases of some layers only.
  const std::map<std::string, size_t> warnings = {
      {"deepseek_v2", 2},
      {"deepseek_v2_lite", 1},
      {"deepseek_v2_lite_v457", 1},
      {"deepseek_v3", 1},
      {"deepseek_v3_noq", 1},
      {"deepseek_v3_v457", 1},
      {"gemma", 1},
      {"gemma2", 3},
      {"gemma3", 3},
      {"gemma3_v457", 3},
      {"llama_attnbias", 1},
      {"llama_rope3", 1},
      {"llama_rope3_v457", 1},
      {"olmo2", 1},
      {"olmoe", 1},
      {"olmoe_v457", 1},
      {"phi3_longrope", 1},
      {"phi3_longrope_v457", 1},
  };
  size_t equal = 0;
  for (const auto& entry : std::filesystem::directory_iterator("testdata/fixtures/hf")) {
    if (!entry.is_directory()) continue;
    const std::string folder = entry.path().filename().string();
    SCOPED_TRACE(folder);
    const ModelConfig model = Model(folder);
    const DerivedArgs args = ArgsFromConfig(model, kOptions);
    const auto expected = warnings.find(folder);
    EXPECT_EQ(args.warnings.size(), expected == warnings.end() ? 0 : expected->second) << Join(args.warnings, "\n");
    const bool latent_only = model.mla && args.warnings.size() == 1;
    if (!args.warnings.empty() && !latent_only) continue;
    pickle::Graph graph;
    const pickle::Ref space =
        graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
    for (const Argument& argument : args.arguments)
      graph.SetAttribute(space, argument.name, NewValue(graph, argument.value));
    try {
      ModelConfig back = ConfigFromArgs(model.architecture, SavedArgs(graph, space)).model;
      if (back.mamba)
        back.mamba->chunk_size = model.mamba->chunk_size;  // 128 in Megatron's code; the result does not depend on it
      EXPECT_EQ(Summary(back), Summary(model));
      EXPECT_TRUE(back == model);
      ++equal;
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
  EXPECT_EQ(equal, 46u);
}

TEST(ArgsFromConfigTest, ParallelResidualsAreRefused) {
  ModelConfig model = Model("gpt_neox");
  model.parallel_residual = true;
  try {
    ArgsFromConfig(model, kOptions);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "huggingface.config_unsupported");
  }
}

TEST(ConfigFromArgsTest, BadArgumentsAreNamed) {
  struct Case {
    const char *name, *id;
    ArgumentValue value;
  };
  for (const Case& c :
       {Case{"hidden_size", "huggingface.args_missing", std::monostate()},
        Case{"hidden_size", "huggingface.args_type", std::string("24")},
        Case{"hidden_size", "huggingface.args_type", int64_t{-1}}, Case{"swiglu", "huggingface.args_type", int64_t{1}},
        Case{"layernorm_epsilon", "huggingface.args_type", std::string("x")},
        Case{"window_size", "huggingface.args_not_expressible", std::vector<int64_t>{3, 3}},
        Case{"moe_layer_freq", "", std::vector<int64_t>{1}},
        Case{"no_rope_freq", "huggingface.args_not_expressible", int64_t{4}}}) {
    pickle::Graph graph;
    const pickle::Ref space =
        graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
    for (const Argument& argument : ArgsFromConfig(Model("llama_untied"), kOptions).arguments) {
      if (argument.name != "norm_epsilon") graph.SetAttribute(space, argument.name, NewValue(graph, argument.value));
    }
    graph.SetAttribute(space, c.name, NewValue(graph, c.value));
    std::string id;
    try {
      ConfigFromArgs(ParseArchitecture("LlamaForCausalLM"), SavedArgs(graph, space));
    } catch (const Error& error) {
      id = error.id();
      EXPECT_NE(error.message().find(Cat("args.", c.name)), std::string::npos) << error.message();
    }
    EXPECT_EQ(id, c.id) << c.name;  // the frequency does not matter without experts
  }
}

// Llama's arguments with a few others, by hand.
struct Change {
  const char* folder;
  std::vector<Argument> changes;
  const char *summary, *warning;
};

TEST(ConfigFromArgsTest, ArgumentsThatMegatronReadsDifferently) {
  const Change cases[] = {
      // Every second layer from the first, as Megatron counts.
      {"qwen3_moe_mixed",
       {{"moe_layer_freq", int64_t{2}}},
       "fFf 24 ffn40 4/2x8 61 silu 3e-05 qk rope(7000.0) moe(2of4 w48 softmax/sum) bfloat16",
       ""},
      // Layers 1, 3, ... counted from 1 have the window, every second one has not.
      {"gpt_oss",
       {{"window_attn_skip_freq", int64_t{2}}, {"yarn_mscale", 2.0}},
       "sf 24 ffn40 4/2x8 61 clamped 3e-05 bias(qom) "
       "rope(7000.0,yarn,x4.0,bf32.0,bs1.0,af1.2772588722239782,o24,uncut) win4 moe(2of6 w40 softmax/sum) "
       "bfloat16",
       ""},
      {"qwen3_next",
       {{"linear_attention_freq", int64_t{3}}},
       "llf 24 ffn40 4/2x16 61 silu 3e-05 qk rope(7000.0*0.25) moe(2of5 w40 s18g softmax/sum) gdn(2x5 4x9 3) bfloat16",
       ""},
      {"llama_untied",
       {{"use_rope_scaling", true}, {"rope_scaling_factor", 32.0}},
       "FFF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0,llama3,x32.0,lo1.0,hi4.0,o8192) bfloat16",
       ""},
      {"llama_untied",
       {{"rotary_seq_len_interpolation_factor", int64_t{4}}},
       "FFF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0,linear,x4.0) bfloat16",
       ""},
      {"llama_untied",
       {{"group_query_attention", false}, {"num_query_groups", int64_t{1}}},
       "FFF 24 ffn40 4/4x8 61 silu 3e-05 rope(7000.0) bfloat16",
       ""},
      {"llama_untied",
       {{"kv_channels", std::monostate()}},
       "FFF 24 ffn40 4/2x6 61 silu 3e-05 rope(7000.0) bfloat16",
       ""},
      {"llama_untied",
       {{"hybrid_layer_pattern", std::string("*-|*-")}},
       "FF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) bfloat16",
       ""},
      // Of MLA, None is yarn, with the numbers of MLATransformerConfig.
      {"deepseek_v3_noq",
       {{"rope_type", std::monostate()},
        {"rotary_scaling_factor", std::monostate()},
        {"mscale", 1.0},
        {"mscale_all_dim", 1.0},
        {"layernorm_epsilon", 1e-6}},
       "Ff 24 ffn40 4/4x6 61 silu 1e-06 rope(7000.0,yarn,x40.0,bf32.0,bs1.0,m1.0,ma1.0,o24) moe(2of4 w28 s56 n2 "
       "sigmoid+b/sum *1.7) mla(- 20 10 6 12) float32",
       ""},
      {"deepseek_v3",
       {{"moe_router_topk", int64_t{4}}, {"layernorm_epsilon", 1e-6}},
       "Fff 24 ffn40 4/4x6 61 silu 1e-06 rope(7000.0) moe(4of6 w16 s32 n2 sigmoid+b/sum g1of2 *1.7) mla(17 20 10 6 12) "
       "bfloat16",
       "Megatron ranks a group of experts by its best 4, transformers by its best 2"},
      {"deepseek_v3",
       {},
       "Fff 24 ffn40 4/4x6 61 silu 3e-05 rope(7000.0) moe(2of6 w16 s32 n2 sigmoid+b/sum g1of2 *1.7) mla(17 20 10 6 12) "
       "bfloat16",
       "q_a_layernorm"},
  };
  for (const Change& c : cases) {
    SCOPED_TRACE(c.summary);
    const ModelConfig model = Model(c.folder);
    pickle::Graph graph;
    const pickle::Ref space =
        graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
    for (const Argument& argument : ArgsFromConfig(model, kOptions).arguments) {
      graph.SetAttribute(space, argument.name, NewValue(graph, argument.value));
    }
    for (const Argument& change : c.changes) graph.SetAttribute(space, change.name, NewValue(graph, change.value));
    try {
      const DerivedConfig derived = ConfigFromArgs(model.architecture, SavedArgs(graph, space));
      EXPECT_EQ(Summary(derived.model), c.summary);
      const std::string warnings = Join(derived.warnings, "; ");
      EXPECT_EQ(derived.warnings.size(), *c.warning == 0 ? 0u : 1u) << warnings;
      EXPECT_NE(warnings.find(c.warning), std::string::npos) << warnings;
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
}

TEST(ConfigFromArgsTest, NoArgumentsNoConfig) {
  const pickle::Graph graph;
  EXPECT_THROW(ConfigFromArgs(ParseArchitecture("LlamaForCausalLM"), SavedArgs()), Error);
}

}  // namespace
}  // namespace ck::huggingface
