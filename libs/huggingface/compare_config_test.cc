#include "libs/huggingface/compare_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

using Kind = ConfigDifference::Kind;

json::Object Template(const std::string& folder, const char* file = "model/config.json") {
  std::ifstream stream(std::filesystem::path("testdata/fixtures/hf") / folder / file, std::ios::binary);
  EXPECT_TRUE(stream) << folder;
  return ParseConfig(std::string(std::istreambuf_iterator<char>(stream), {}));
}

std::vector<std::string> Lines(const CorrectedConfig& corrected) {
  std::vector<std::string> out;
  for (const ConfigDifference& d : corrected.differences) {
    out.push_back(Cat(d.kind == Kind::kAdded       ? "added "
                      : d.kind == Kind::kCorrected ? "corrected "
                                                   : "contradiction ",
                      DifferenceText(d)));
  }
  return out;
}

using Lines_ = std::vector<std::string>;

// What 5.24 wrote stays, and 4.57's fields stand beside it: no difference but a field that it leaves to the class.
TEST(CorrectTemplateTest, ATrueTemplateHasNoDifference) {
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator("testdata/fixtures/hf")) {
    if (!entry.is_directory()) continue;
    ++folders;
    for (const char* file : {"model/config.json", "config_both.json"}) {
      SCOPED_TRACE(Cat(entry.path().filename().string(), "/", file));
      const json::Object config = Template(entry.path().filename().string(), file);
      const CorrectedConfig corrected = CorrectTemplate(config, ReadConfig(config));
      for (const std::string& line : Lines(corrected)) EXPECT_TRUE(StartsWith(line, "added ")) << line;
      for (const auto& [name, value] : config.members()) {
        if (name == "time_step_limit") continue;  // 4.57 cannot read what 5 writes
        EXPECT_TRUE(*corrected.config.Find(name) == value) << name;
      }
      EXPECT_EQ(ConfigText(corrected.config), ConfigText(CorrectTemplate(corrected.config, ReadConfig(config)).config));
      EXPECT_TRUE(corrected.config.Find("rope_parameters") == nullptr ||
                  corrected.config.Find("rope_theta") != nullptr);
    }
  }
  EXPECT_EQ(folders, 59u);
}

TEST(CorrectTemplateTest, EachKindOfDifference) {
  struct Case {
    const char* folder;
    std::function<void(ModelConfig&)> change;
    Lines_ lines;
  };
  const Case cases[] = {
      {"llama_untied", [](ModelConfig& m) { m.vocab = 64; }, {"contradiction vocab_size 61 -> 64"}},
      {"llama_untied", [](ModelConfig& m) { m.tied = true; }, {"contradiction tie_word_embeddings false -> true"}},
      {"llama_untied", [](ModelConfig& m) { m.kv_heads = 4; }, {"contradiction num_key_value_heads 2 -> 4"}},
      {"llama_untied", [](ModelConfig& m) { m.biases.mlp = true; }, {"contradiction mlp_bias false -> true"}},
      {"llama_untied",
       [](ModelConfig& m) { m.dtype = "float32"; },
       {"corrected torch_dtype \"bfloat16\" -> \"float32\""}},
      {"llama_untied", [](ModelConfig& m) { m.norm_eps = 1e-6; }, {"corrected rms_norm_eps 3e-05 -> 1e-06"}},
      {"llama_untied", [](ModelConfig& m) { m.rope->theta = 5e5; }, {"corrected rope_theta 7000.0 -> 5e+05"}},
      {"deepseek_v3", [](ModelConfig& m) { m.mtp_layers = 0; }, {"corrected num_nextn_predict_layers 1 -> 0"}},
      {"qwen3_moe", [](ModelConfig& m) { m.experts->count = 8; }, {"contradiction num_experts 4 -> 8"}},
      {"gemma3", [](ModelConfig& m) { m.local_rope->theta = 800; }, {"corrected rope_local_base_freq 900.0 -> 800.0"}},
      {"gemma3",
       [](ModelConfig& m) { std::fill(m.layers.begin(), m.layers.end(), LayerKind::kSlidingAttention); },
       {"corrected layer_types [\"sliding_attention\",\"full_attention\",\"sliding_attention\"] -> "
        "[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\"]"}},
      {"qwen3_next",
       [](ModelConfig& m) { m.layers[0] = LayerKind::kFullAttention; },
       {"contradiction layer_types [\"linear_attention\",\"full_attention\",\"linear_attention\"] -> "
        "[\"full_attention\",\"full_attention\",\"linear_attention\"]"}},
      {"nemotron_h",
       [](ModelConfig& m) { m.layers[2] = LayerKind::kAttentionOnly; },
       {"contradiction hybrid_override_pattern \"M*-\" -> \"M**\""}},
      {"qwen2", [](ModelConfig& m) { m.head_dim = 6; }, {"contradiction head_dim 8 -> (absent)"}},
      {"llama_untied",
       [](ModelConfig& m) {
         m.architecture.head = Head::kTokenClassification;
         m.labels = 1;
       },
       {"corrected architectures [\"LlamaForCausalLM\"] -> [\"LlamaForTokenClassification\"]",
        "corrected id2label (absent) -> {\"0\":\"LABEL_0\"}", "corrected label2id (absent) -> {\"LABEL_0\":0}"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(Cat(c.folder, ": ", c.lines.front()));
    const json::Object config = Template(c.folder);
    ModelConfig written = ReadConfig(config);
    c.change(written);
    EXPECT_EQ(Lines(CorrectTemplate(config, written)), c.lines);
  }
}

// The spelling that the template has must not keep the old value: 5 would read it.
TEST(CorrectTemplateTest, BothSpellingsAreCorrected) {
  const json::Object config = Template("glm4_moe");
  ModelConfig written = ReadConfig(config);
  written.rope->theta = 1e6;
  written.rope->partial_factor = 0.25;
  written.dtype = "bfloat16";
  const json::Object out = CorrectTemplate(config, written).config;
  EXPECT_EQ(*out.Find("rope_parameters"),
            json::Value(
                json::Object().Set("partial_rotary_factor", 0.25).Set("rope_theta", 1e6).Set("rope_type", "default")));
  EXPECT_EQ(out.Find("rope_theta")->AsDouble(), 1e6);
  EXPECT_EQ(*out.Find("dtype")->AsString(), "bfloat16");
  EXPECT_EQ(*out.Find("torch_dtype")->AsString(), "bfloat16");
}

TEST(CorrectTemplateTest, WhatTheTemplateLacksIsAdded) {
  json::Object config = Template("llama_untied");
  config.Erase("dtype");
  config.Erase("tie_word_embeddings");
  ModelConfig written = ReadConfig(config);
  written.dtype = "bfloat16";
  EXPECT_EQ(Lines(CorrectTemplate(config, written)),
            (Lines_{"added torch_dtype (absent) -> \"bfloat16\"", "added tie_word_embeddings (absent) -> false"}));
}

}  // namespace
}  // namespace ck::huggingface
