// What ReadConfig and WriteConfig refuse, and what they read although it is unusual.
#include <gtest/gtest.h>

#include <functional>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/config.h"

namespace ck::huggingface {
namespace {

constexpr char kLlama[] =
    R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":24,"intermediate_size":40,"num_hidden_layers":2,)"
    R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":8,"vocab_size":61,"rms_norm_eps":1e-5,"rope_theta":7000.0})";

constexpr char kDeepseek[] =
    R"({"architectures":["DeepseekV3ForCausalLM"],"hidden_size":24,"intermediate_size":40,"num_hidden_layers":3,"num_attention_heads":4,"vocab_size":61,)"
    R"("q_lora_rank":null,"kv_lora_rank":20,"qk_nope_head_dim":10,"qk_rope_head_dim":6,"v_head_dim":12,"first_k_dense_replace":1,"n_routed_experts":4,)"
    R"("num_experts_per_tok":2,"moe_intermediate_size":16,"n_shared_experts":2,"n_group":2,"topk_group":1})";

constexpr char kMamba[] =
    R"({"architectures":["Mamba2ForCausalLM"],"hidden_size":24,"num_hidden_layers":2,"vocab_size":61,"num_heads":6,"head_dim":8,"n_groups":2,)"
    R"("state_size":10,"conv_kernel":4,"chunk_size":4,"expand":2})";

json::Object Config(const char* text, const std::function<void(json::Object&)>& change = {}) {
  json::Object out = ParseConfig(text);
  if (change) change(out);
  return out;
}

std::function<void(json::Object&)> Set(const char* name, const char* value) {
  return
      [name, value](json::Object& config) { config.Set(name, json::Parse(value, json::Extensions::kPythonNumbers)); };
}
std::function<void(json::Object&)> Erase(const char* name) {
  return [name](json::Object& config) { config.Erase(name); };
}

TEST(ConfigErrorsTest, EachIdNamesItsField) {
  struct Case {
    const char *base, *id, *text;
    std::function<void(json::Object&)> change;
  };
  const Case cases[] = {
      {kLlama, "huggingface.config_missing", "'architectures'", Erase("architectures")},
      {kLlama, "huggingface.config_missing", "'hidden_size'", Erase("hidden_size")},
      {kLlama, "huggingface.config_missing", "'vocab_size'", Set("vocab_size", "null")},
      {kLlama, "huggingface.unknown_architecture", "LlamaForCausalLM", Set("architectures", R"(["LamaForCausalLM"])")},
      {kLlama, "huggingface.config_conflict", "'model_type'", Set("model_type", R"("mistral")")},
      {kLlama, "huggingface.config_type", "'hidden_size'", Set("hidden_size", "24.5")},
      {kLlama, "huggingface.config_type", "'hidden_size'", Set("hidden_size", "-24")},
      {kLlama, "huggingface.config_type", "'tie_word_embeddings'", Set("tie_word_embeddings", "1")},
      {kLlama, "huggingface.config_type", "'rms_norm_eps'", Set("rms_norm_eps", "Infinity")},
      {kLlama, "huggingface.config_type", "'rope_scaling'", Set("rope_scaling", "8")},
      {kLlama, "huggingface.config_range", "'hidden_size'", Set("hidden_size", "0")},
      {kLlama, "huggingface.config_range", "'vocab_size'", Set("vocab_size", "4294967296")},
      {kLlama, "huggingface.config_range", "'num_hidden_layers'", Set("num_hidden_layers", "2000000000")},
      {kLlama, "huggingface.config_range", "3 key-value heads", Set("num_key_value_heads", "3")},
      {kLlama, "huggingface.config_unsupported", "'rope_scaling.rope_type'",
       Set("rope_scaling", R"({"type":"ntk","factor":2.0})")},
      {kLlama, "huggingface.config_missing", "'rope_scaling.factor'", Set("rope_scaling", R"({"rope_type":"linear"})")},
      {kLlama, "huggingface.config_unsupported", "'hidden_act'", Set("hidden_act", R"("mish")")},
      {kLlama, "huggingface.quantized_config", "'fp8'", Set("quantization_config", R"({"quant_method":"fp8"})")},
      {kLlama, "huggingface.quantized_config", "'mxfp4'", Set("quantization_config", R"({"quant_method":"mxfp4"})")},
      // 4.57 would take the first, 5 the second.
      {kLlama, "huggingface.config_conflict", "'rope_theta'",
       Set("rope_parameters", R"({"rope_theta":10000.0,"rope_type":"default"})")},
      {kLlama, "huggingface.config_conflict", "'rope_theta'",
       Set("rope_scaling", R"({"rope_type":"linear","factor":2.0,"rope_theta":1.0})")},
      {kDeepseek, "huggingface.config_missing", "'q_lora_rank'", Erase("q_lora_rank")},
      {kDeepseek, "huggingface.config_missing", "'n_shared_experts'", Erase("n_shared_experts")},
      {kDeepseek, "huggingface.config_missing", "'first_k_dense_replace'", Erase("first_k_dense_replace")},
      {kDeepseek, "huggingface.config_conflict", "'num_experts'", Set("num_experts", "8")},
      {kDeepseek, "huggingface.config_type", "'n_group'", Set("n_group", "3")},
      {kDeepseek, "huggingface.config_type", "'topk_group'", Set("topk_group", "3")},
      {kDeepseek, "huggingface.config_type", "'num_experts_per_tok'", Set("num_experts_per_tok", "5")},
      {kDeepseek, "huggingface.config_type", "'qk_head_dim'", Set("qk_head_dim", "17")},
      {kDeepseek, "huggingface.config_unsupported", "'rope_interleave'", Set("rope_interleave", "false")},
      {kDeepseek, "huggingface.config_unsupported", "'moe_layer_freq'", Set("moe_layer_freq", "2")},
      {kMamba, "huggingface.config_type", "'expand'", Set("expand", "3")},
      {kMamba, "huggingface.config_type", "'n_groups'", Set("n_groups", "4")},
      {kMamba, "huggingface.config_unsupported", "'time_step_limit'", Set("time_step_limit", "[0.0, 0.1]")},
      {kMamba, "huggingface.config_unsupported", "'rms_norm'", Set("rms_norm", "false")},
  };
  for (const Case& c : cases) {
    try {
      ReadConfig(Config(c.base, c.change));
      ADD_FAILURE() << c.id << " " << c.text << ": accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), c.id) << error.message();
      EXPECT_EQ(error.code(), Code::kInput);
      EXPECT_NE(error.message().find(c.text), std::string::npos) << error.message();
    }
  }
  for (const char* base : {kLlama, kDeepseek, kMamba}) EXPECT_NO_THROW(ReadConfig(Config(base)));
}

TEST(ConfigErrorsTest, LabelsAreBounded) {
  for (const char* count : {"0", "2147483648"}) {
    EXPECT_THROW(ReadConfig(Config(kLlama, Set("num_labels", count)), "LlamaForTokenClassification"), Error) << count;
  }
  EXPECT_EQ(ReadConfig(Config(kLlama, Set("num_labels", "1")), "LlamaForTokenClassification").labels, 1u);
}

TEST(ConfigErrorsTest, MissingFieldsHaveTheDefaultsOfTheClass) {
  const auto erase = [](std::initializer_list<const char*> names) {
    return [names = std::vector<const char*>(names)](json::Object& config) {
      for (const char* name : names) config.Erase(name);
    };
  };
  // The first Llama files have neither groups nor theta.
  const ModelConfig old =
      ReadConfig(Config(kLlama, erase({"num_key_value_heads", "rope_theta", "head_dim", "rms_norm_eps"})));
  EXPECT_EQ(old.kv_heads, 4u);
  EXPECT_EQ(old.head_dim, 6u);
  EXPECT_EQ(old.rope->theta, 10000);
  EXPECT_EQ(old.norm_eps, 1e-6);
  EXPECT_FALSE(old.tied);
  const auto as = [](const char* name) { return ReadConfig(Config(kLlama, Erase("model_type")), name); };
  EXPECT_TRUE(as("GemmaForCausalLM").tied);
  EXPECT_TRUE(as("Starcoder2ForCausalLM").tied);
  EXPECT_TRUE(as("Qwen2ForCausalLM").biases.qkv);
  EXPECT_EQ(as("MistralForCausalLM").sliding_window, uint64_t{4096});
  EXPECT_EQ(as("Glm4ForCausalLM").rope->partial_factor, 0.5);
  EXPECT_EQ(as("LlamaForTokenClassification").labels, 2u);
}

TEST(ConfigErrorsTest, AliasesAndPythonNumbers) {
  EXPECT_EQ(ReadConfig(Config(kDeepseek,
                              [](json::Object& c) {
                                c.Erase("n_routed_experts");
                                c.Set("num_local_experts", 4);
                              }))
                .experts->count,
            4u);
  for (const char* limit : {"[0.0, Infinity]", R"([0.0, {"__float__": "Infinity"}])", "null"}) {
    EXPECT_NO_THROW(ReadConfig(Config(kMamba, Set("time_step_limit", limit)))) << limit;
  }
  EXPECT_EQ(ReadConfig(Config(kLlama, Set("torch_dtype", R"("torch.bfloat16")"))).dtype, "bfloat16");
  EXPECT_EQ(ReadConfig(Config(kLlama, Set("eos_token_id", "[2, 3]"))).eos_tokens, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(ReadConfig(Config(kLlama, Set("num_experts", "7"))).experts, std::nullopt);
}

// A value that the class has no field for is never dropped.
TEST(ConfigErrorsTest, WhatAClassCannotSayIsRefused) {
  struct Case {
    const char *base, *text;
    std::function<void(ModelConfig&)> change;
  };
  const Case cases[] = {
      {kLlama, "o_proj has no bias", [](ModelConfig& m) { m.biases.qkv = true; }},
      {kLlama, "layers have a window", [](ModelConfig& m) { m.layers[1] = LayerKind::kSlidingAttention; }},
      {kLlama, "q and k have norms", [](ModelConfig& m) { m.qk_norm = QkNorm::kHead; }},
      {kLlama, "layers have experts", [](ModelConfig& m) { m.experts = Experts{}; }},
      {kDeepseek, "33 wide, no multiple of the routed width 16", [](ModelConfig& m) { m.experts->shared_width = 33; }},
      {kDeepseek, "softmax", [](ModelConfig& m) { m.experts->sigmoid = false; }},
      {kDeepseek, "no correction bias", [](ModelConfig& m) { m.experts->correction_bias = false; }},
      {kDeepseek, "a dense layer comes after",
       [](ModelConfig& m) {
         m.expert_layers = {true, false, true};
       }},
      {kMamba, "54 wide, no multiple of the hidden size 24", [](ModelConfig& m) { m.mamba->head_dim = 9; }},
  };
  for (const Case& c : cases) {
    ModelConfig model = ReadConfig(Config(c.base));
    EXPECT_NO_THROW(WriteConfig(model));
    c.change(model);
    try {
      WriteConfig(model);
      ADD_FAILURE() << c.text << ": written";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "huggingface.config_not_expressible");
      EXPECT_NE(error.message().find(c.text), std::string::npos) << error.message();
    }
  }
}

// Token ids outside the vocabulary would make the embedding impossible to build; they are written as null.
TEST(ConfigErrorsTest, TokensStayInsideTheVocabulary) {
  ModelConfig model = ReadConfig(Config(kLlama, Set("eos_token_id", "[2, 61]")));
  model.pad_token = 61;
  model.bos_token = -1;
  const json::Object written = WriteConfig(model);
  EXPECT_TRUE(written.Find("pad_token_id")->is_null());
  EXPECT_TRUE(written.Find("bos_token_id")->is_null());
  EXPECT_EQ(written.Find("eos_token_id")->AsInt(), 2);
}

}  // namespace
}  // namespace ck::huggingface
