// Saved arguments of real Megatron checkpoints as models, and models as arguments.
#include "libs/huggingface/megatron_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/huggingface/testing/summary.h"
#include "libs/megatron/common_document.h"

namespace ck::huggingface {
namespace {

megatron::CommonDocument Document(const std::string& folder) {
  const std::filesystem::path root = std::filesystem::path("testdata/fixtures/megatron") / folder / "ckpt";
  for (const char* name : {"iter_0000010", "iter_0000040", "release"}) {
    if (!std::filesystem::exists(root / name)) continue;
    const auto opened = checkpoint::Checkpoint::Open((root / name).string());
    return megatron::CopyCommonState(checkpoint::ReadCommonState(*opened));
  }
  throw InternalError("test.folder", folder);
}

DerivedConfig Derive(const megatron::CommonDocument& document, const char* architecture,
                     std::optional<uint64_t> vocab = std::nullopt) {
  return ConfigFromArgs(ParseArchitecture(architecture),
                        SavedArgs(document.graph, document.graph.Find(document.root, "args")), vocab);
}

struct Expected {
  const char* folder;
  const char* architecture;
  const char* summary;
  size_t warnings;
};

constexpr char kDense[] = "FFF 24 ffn40 4/2x8 61 silu 1e-05 rope(10000.0) float32";
constexpr char kTied[] = "FFF 24 ffn40 4/2x8 61 silu 1e-05 tied bias(q) rope(10000.0) bfloat16";
constexpr char kSmall[] = "FF 16 ffn26 4/2x6 29 silu 1e-05 rope(10000.0) bfloat16";
constexpr char kMixtral[] = "ff 16 ffn20 4/2x6 29 silu 1e-05 rope(10000.0) moe(2of4 w20 softmax/sum) float32";

// Written by hand from the README's dimensions. One warning: the norms of the latent projections, as epsilon is 1e-5.
const Expected kExpected[] = {
    {"gpt_dense_stacked", "LlamaForCausalLM", kDense, 0},
    {"gpt_dense_stacked", "MistralForCausalLM", kDense, 0},
    {"gpt_dense_perlayer", "LlamaForCausalLM", kDense, 0},
    {"gpt_dense_tp2pp2", "LlamaForCausalLM", kDense, 0},
    {"te_gpt_dense", "LlamaForCausalLM", kDense, 0},
    {"main_gpt_dense_stacked", "LlamaForCausalLM", kDense, 0},
    {"main_gpt_dense_release", "LlamaForCausalLM", kDense, 0},
    {"hybrid_attn_mlp", "LlamaForCausalLM", kDense, 0},
    {"main_hybrid_attn_mlp", "LlamaForCausalLM", kDense, 0},
    {"gpt_mqa", "LlamaForCausalLM", "FF 16 ffn26 4/1x6 29 silu 1e-05 rope(10000.0) float32", 0},
    {"gpt_mqa_tp2", "LlamaForCausalLM", "FF 16 ffn26 4/1x6 29 silu 1e-05 rope(10000.0) float32", 0},
    {"gpt_qkvbias_tied", "Qwen2ForCausalLM", kTied, 0},
    {"gpt_qkvbias_tied_pp2", "Qwen2ForCausalLM", kTied, 0},
    {"gpt_qknorm", "Qwen3ForCausalLM", "FFF 24 ffn40 4/2x8 0 silu 1e-05 qk rope(10000.0) float32", 0},
    {"gpt_moe_stacked", "MixtralForCausalLM", kMixtral, 0},
    {"gpt_moe_ep2", "MixtralForCausalLM", kMixtral, 0},
    {"gpt_moe_legacy_grouped", "MixtralForCausalLM", kMixtral, 0},
    {"hybrid_moe", "MixtralForCausalLM", kMixtral, 0},
    {"te_gpt_moe", "Qwen3MoeForCausalLM",
     "ff 16 ffn26 4/2x6 29 silu 1e-05 qk rope(10000.0) moe(2of4 w20 softmax/sum) bfloat16", 0},
    {"gpt_moe_shared_gate", "Qwen2MoeForCausalLM",
     "ff 16 ffn26 4/2x6 29 silu 1e-05 bias(q) rope(10000.0) moe(2of4 w20 s22g softmax/sum) bfloat16", 0},
    {"gpt_mla", "DeepseekV3ForCausalLM", "FF 16 ffn26 4/4x4 29 silu 1e-05 rope(10000.0) mla(15 9 8 4 6) float32", 1},
    {"gpt_mla_noqlora", "DeepseekV3ForCausalLM", "FF 16 ffn26 4/4x4 29 silu 1e-05 rope(10000.0) mla(- 9 8 4 6) float32",
     1},
    {"te_gpt_mla_moe", "DeepseekV3ForCausalLM",
     "Fff 16 ffn26 4/4x4 29 silu 1e-05 rope(10000.0) moe(2of4 w20 s22 n1 sigmoid+b/sum *2.5) mla(15 9 8 4 6) bfloat16",
     1},
    {"gpt_moe_perlayer_mixed", "Glm4MoeForCausalLM",
     "Fff 16 ffn26 4/2x6 29 silu 1e-05 rope(10000.0) moe(2of4 w20 s22 n1 sigmoid+b/sum *1.5) float32", 0},
    {"window", "LlamaForCausalLM", kSmall, 0},
    {"window_full", "LlamaForCausalLM", kSmall, 0},
    {"full_dp_reshardable", "LlamaForCausalLM", kSmall, 0},
    {"full_nodistopt", "LlamaForCausalLM", kSmall, 0},
};

TEST(ConfigFromArgsTest, EveryFolderThatAClassCanExpress) {
  for (const Expected& expected : kExpected) {
    SCOPED_TRACE(Cat(expected.folder, " as ", expected.architecture));
    const megatron::CommonDocument document = Document(expected.folder);
    try {
      const DerivedConfig derived = Derive(document, expected.architecture);
      EXPECT_EQ(Summary(derived.model), expected.summary);
      EXPECT_EQ(derived.warnings.size(), expected.warnings);
      EXPECT_FALSE(derived.zero_centered_norms);
    } catch (const Error& error) {
      ADD_FAILURE() << error.id() << ": " << error.message();
    }
  }
}

TEST(ConfigFromArgsTest, TheVocabularyOfTheCallerWins) {
  const megatron::CommonDocument document = Document("gpt_qknorm");
  EXPECT_EQ(Derive(document, "Qwen3ForCausalLM", 61).model.vocab, 61u);
  EXPECT_EQ(Derive(document, "Qwen3ForCausalLM").model.vocab, 0u);
}

// A shared width that is no multiple of the routed one has no config.json; both numbers are in the message.
TEST(ConfigFromArgsTest, WhatNoConfigSaysIsRefusedWithBothNumbers) {
  for (const auto& [folder, architecture] : {std::pair{"te_gpt_mla_moe", "DeepseekV3ForCausalLM"},
                                             {"gpt_mla_moe_mixed", "DeepseekV3ForCausalLM"},
                                             {"gpt_moe_perlayer_mixed", "Glm4MoeForCausalLM"}}) {
    const megatron::CommonDocument document = Document(folder);
    const ModelConfig model = Derive(document, architecture).model;
    try {
      WriteConfig(model);
      ADD_FAILURE() << folder;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "huggingface.config_not_expressible");
      EXPECT_NE(error.message().find("22"), std::string::npos) << error.message();
      EXPECT_NE(error.message().find("20"), std::string::npos) << error.message();
    }
  }
}

TEST(ConfigFromArgsTest, AClassThatComputesOtherwiseIsRefused) {
  struct Case {
    const char *folder, *architecture, *argument;
  };
  for (const Case& c : {Case{"gpt_dense_stacked", "Qwen3ForCausalLM", "qk_layernorm"},
                        {"gpt_dense_stacked", "DeepseekV3ForCausalLM", "multi_latent_attention"},
                        {"gpt_mla", "LlamaForCausalLM", "multi_latent_attention"},
                        {"gpt_dense_stacked", "NemotronForCausalLM", "normalization"},
                        {"gpt_layernorm_gelu", "Starcoder2ForCausalLM", "position_embedding_type"},
                        {"gpt_dense_stacked", "GptOssForCausalLM", "quick_geglu"},
                        {"hybrid_attn_mlp_ordered", "LlamaForCausalLM", "hybrid_override_pattern"},
                        {"hybrid_mamba", "LlamaForCausalLM", "hybrid_override_pattern"},
                        {"main_hybrid_mamba", "NemotronHForCausalLM", "swiglu"},
                        {"gpt_dense_stacked", "Glm4ForCausalLM", "rotary_interleaved"},
                        {"gpt_dense_stacked", "Qwen3NextForCausalLM", "attention_output_gate"}}) {
    SCOPED_TRACE(Cat(c.folder, " as ", c.architecture));
    const megatron::CommonDocument document = Document(c.folder);
    try {
      Derive(document, c.architecture);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "huggingface.args_not_expressible");
      EXPECT_NE(error.message().find(Cat("args.", c.argument, " is ")), std::string::npos) << error.message();
    }
  }
}

// Classes that have fewer fields than the arguments say: found when the config is written.
TEST(ConfigFromArgsTest, FieldsOfAnotherClassDoNotFit) {
  for (const auto& [folder, architecture] : {std::pair{"gpt_qkvbias_tied", "LlamaForCausalLM"},
                                             {"gpt_moe_stacked", "LlamaForCausalLM"},
                                             {"gpt_moe_stacked", "Qwen2MoeForCausalLM"},
                                             {"gpt_dense_stacked", "MixtralForCausalLM"},
                                             {"gpt_dense_stacked", "Qwen2ForCausalLM"},
                                             {"gpt_moe_shared_gate", "MixtralForCausalLM"}}) {
    SCOPED_TRACE(Cat(folder, " as ", architecture));
    const megatron::CommonDocument document = Document(folder);
    const ModelConfig model = Derive(document, architecture).model;
    EXPECT_THROW(WriteConfig(model), Error);
  }
}

}  // namespace
}  // namespace ck::huggingface
