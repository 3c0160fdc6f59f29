// Every config.json of the zoo: 59 models that transformers 4.57.6 or 5.24.0 wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/config.h"
#include "libs/huggingface/testing/summary.h"

namespace ck::huggingface {
namespace {

constexpr char kZoo[] = "testdata/fixtures/hf";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ModelConfig Read(const std::string& text) {
  try {
    return ReadConfig(ParseConfig(text));
  } catch (const Error& error) {
    ADD_FAILURE() << error.id() << ": " << error.message();
    return {};
  }
}

std::vector<std::string> Folders() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kZoo)) {
    if (entry.is_directory()) out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(ConfigZooTest, BothSpellingsSayTheSame) {
  const auto folders = Folders();
  ASSERT_EQ(folders.size(), 59u);
  for (const std::string& folder : folders) {
    SCOPED_TRACE(folder);
    const auto path = std::filesystem::path(kZoo) / folder;
    const ModelConfig written = Read(ReadText(path / "model" / "config.json"));
    EXPECT_EQ(written, Read(ReadText(path / "config_both.json")));
    EXPECT_EQ(written.vocab, 61u);
  }
}

TEST(ConfigZooTest, WhatIsWrittenReadsBackAndIsStable) {
  for (const std::string& folder : Folders()) {
    SCOPED_TRACE(folder);
    const ModelConfig model = Read(ReadText(std::filesystem::path(kZoo) / folder / "model" / "config.json"));
    const std::string text = ConfigText(WriteConfig(model));
    const ModelConfig back = Read(text);
    EXPECT_EQ(back, model) << text;
    EXPECT_EQ(ConfigText(WriteConfig(back)), text);
  }
}

struct Expected {
  const char *folder, *summary;
};

// One model a class, and each speciality once. Written from the README of the zoo and the fields of config.json.
const Expected kExpected[] = {
    {"llama_untied", "FFF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) bfloat16"},
    {"llama_tied", "FFF 24 ffn40 4/2x8 61 silu 3e-05 tied rope(7000.0) float32"},
    {"llama_attnbias", "FFF 24 ffn40 4/2x8 61 silu 3e-05 bias(qo) rope(7000.0) float32"},
    {"llama_bias", "FFF 24 ffn40 4/2x8 61 silu 3e-05 bias(qom) rope(7000.0) bfloat16"},
    {"llama_rope3", "FFF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0,llama3,x8.0,lo1.0,hi4.0,o16) float32"},
    {"llama_value", "FF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) labels1 bfloat16"},
    {"llama_seqcls", "FF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) labels1 float32"},
    {"mistral", "SS 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) win4 bfloat16"},
    {"mistral_nowin", "FF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) float32"},
    {"qwen2", "FFF 24 ffn40 4/2x8 61 silu 3e-05 bias(q) rope(7000.0) bfloat16"},
    {"qwen2_tied", "FF 24 ffn40 4/2x6 61 silu 3e-05 tied bias(q) rope(7000.0) float32"},
    {"qwen3", "FFF 24 ffn40 4/2x8 61 silu 3e-05 qk rope(7000.0) float32"},
    {"qwen2_moe", "ff 24 ffn40 4/2x6 61 silu 3e-05 bias(q) rope(7000.0) moe(2of4 w48 s18g softmax) bfloat16"},
    {"qwen3_moe", "ff 24 ffn40 4/2x8 61 silu 3e-05 qk rope(7000.0) moe(2of4 w28 softmax/sum) float32"},
    {"qwen3_moe_mixed", "fFf 24 ffn40 4/2x8 61 silu 3e-05 qk rope(7000.0) moe(2of4 w48 softmax/sum) bfloat16"},
    {"qwen3_moe_value", "ff 24 ffn40 4/2x8 61 silu 3e-05 qk rope(7000.0) moe(2of4 w48 softmax/sum) labels1 bfloat16"},
    {"mixtral", "ff 24 ffn48 4/2x8 61 silu 3e-05 rope(7000.0) moe(2of4 w48 softmax/sum) bfloat16"},
    {"deepseek_v2",
     "Ff 24 ffn40 4/4x6 61 silu 3e-05 rope(7000.0,yarn,x4.0,bf32.0,bs1.0,m0.707,ma0.707,o24) moe(2of4 w28 s56 n2 "
     "softmax g1of2 *1.7 "
     "group_limited_greedy) mla(17 20 10 6 12) float32"},
    {"deepseek_v2_lite",
     "Fff 24 ffn40 4/4x6 61 silu 3e-05 rope(7000.0) moe(2of4 w16 s32 n2 softmax *1.7 greedy) mla(- 20 10 6 12) "
     "bfloat16"},
    {"deepseek_v3",
     "Fff 24 ffn40 4/4x6 61 silu 3e-05 rope(7000.0) moe(2of6 w16 s32 n2 sigmoid+b/sum g1of2 *1.7) mla(17 20 10 6 12) "
     "mtp1 bfloat16"},
    {"gemma", "FF 24 ffn40 4/2x8 61 tanh 3e-05 tied rope(7000.0) float32"},
    {"gemma2", "SF 24 ffn40 4/2x8 61 tanh 3e-05 tied rope(7000.0) win4 scalar10.0 cap30.0 fcap20.0 bfloat16"},
    {"gemma3", "SFS 24 ffn40 4/2x8 61 tanh 3e-05 tied qk rope(7000.0) local(900.0) win4 scalar10.0 float32"},
    {"phi3", "FF 24 ffn40 4/2x8 61 silu 3e-05 rope(7000.0) bfloat16"},
    {"phi3_longrope", "FF 24 ffn40 4/2x6 61 silu 3e-05 rope(7000.0,longrope,o24,1.0,1.1,1.3/1.5/2.0/3.0) float32"},
    {"nemotron", "FF 24 ffn40 4/2x8 61 relu2 3e-05 rope(7000.0*0.5) bfloat16"},
    {"nemotron_h", "M*- 24 ffn40 4/2x8 61 relu2 3e-05 bias(c) mamba(6x7 2x10 4 4) bfloat16"},
    {"nemotron_h_moe",
     "ME* 24 ffn40 4/2x8 61 relu2 3e-05 bias(c) moe(2of4 w28 s18 n1 sigmoid+b/sum *1.3) mamba(6x7 2x10 4 4) float32"},
    {"nemotron_h_latent",
     "ME 24 ffn40 4/2x8 61 relu2 3e-05 bias(c) moe(2of4 w48 s18 n1 sigmoid+b/sum *1.3 latent16) mamba(6x7 2x10 4 4) "
     "bfloat16"},
    {"qwen3_next",
     "lfl 24 ffn40 4/2x16 61 silu 3e-05 qk rope(7000.0*0.25) moe(2of5 w40 s18g softmax/sum) gdn(2x5 4x9 3) bfloat16"},
    {"gpt_oss",
     "sf 24 ffn40 4/2x8 61 clamped 3e-05 bias(qom) rope(7000.0,yarn,x4.0,bf32.0,bs1.0,o24,uncut) win4 moe(2of6 w40 "
     "softmax/sum) bfloat16"},
    {"glm4", "FF 24 ffn40 4/2x8 61 silu 3e-05 bias(q) rope(7000.0*0.5) bfloat16"},
    {"glm4_moe",
     "Fff 24 ffn40 4/2x8 61 silu 3e-05 bias(q) qk rope(7000.0*0.5) moe(2of4 w28 s28 n1 sigmoid+b/sum g1of2 *1.5) mtp1 "
     "float32"},
    {"starcoder2", "FF 24 ffn40 4/2x8 61 tanh 3e-05 tied bias(qom) rope(7000.0) float32"},
    {"mamba2", "MM 24 ffn0 0/0x0 61 silu 3e-05 bias(c) mamba(6x8 1x10 4 4) float32"},
    {"mamba2_tied_g2", "MM 24 ffn0 0/0x0 61 silu 3e-05 tied bias(pc) mamba(6x8 2x10 4 4) bfloat16"},
    {"olmoe", "ff 24 ffn28 4/2x6 61 silu 3e-05 qkfull rope(7000.0) moe(2of4 w28 softmax) float32"},
    {"olmo2", "FF 24 ffn40 4/2x8 61 silu 3e-05 qkfull rope(7000.0) bfloat16"},
    {"gpt_neox", "FF 24 ffn40 4/4x6 61 gelu 3e-05 bias(qom) rope(7000.0*0.5) bfloat16"},
    {"falcon", "FF 32 ffn128 4/4x8 61 gelu 3e-05 tied bias(qom) rope(7000.0) float32"},
};

TEST(ConfigZooTest, EveryClassAsReadByHand) {
  std::set<Family> families;
  for (const Expected& expected : kExpected) {
    const ModelConfig model = Read(ReadText(std::filesystem::path(kZoo) / expected.folder / "model" / "config.json"));
    EXPECT_EQ(Summary(model), expected.summary) << expected.folder;
    families.insert(model.architecture.family);
  }
  EXPECT_EQ(families.size(), Families().size());
}

// Whether a name with one of these endings is among the tensors that transformers itself wrote.
bool HasTensor(const std::string& keys, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* ending) { return keys.find(Cat(ending, "\t")) != std::string::npos; });
}

// One more than the largest number behind `marker`.
uint64_t CountOf(const std::string& keys, const std::string& marker) {
  uint64_t count = 0;
  for (size_t at = keys.find(marker); at != std::string::npos; at = keys.find(marker, at + 1)) {
    const size_t begin = at + marker.size();
    const auto number = ParseUint64(std::string_view(keys).substr(begin, keys.find('.', begin) - begin));
    if (number) count = std::max(count, *number + 1);
  }
  return count;
}

// The tensors are the independent witness: biases, ties, norms, layers and experts are as the config was understood.
TEST(ConfigZooTest, TensorsAgree) {
  for (const std::string& folder : Folders()) {
    SCOPED_TRACE(folder);
    const ModelConfig m = Read(ReadText(std::filesystem::path(kZoo) / folder / "model" / "config.json"));
    const std::string keys = ReadText(std::filesystem::path(kZoo) / folder / "keys.tsv");
    EXPECT_EQ(HasTensor(keys, {"q_proj.bias", "qkv_proj.bias", "query_key_value.bias", "q_a_proj.bias"}), m.biases.qkv);
    EXPECT_EQ(HasTensor(keys, {"o_proj.bias", "attention.dense.bias"}), m.biases.attention_out);
    EXPECT_EQ(HasTensor(keys, {"up_proj.bias", "c_fc.bias", "gate_up_proj_bias", "dense_h_to_4h.bias"}), m.biases.mlp);
    EXPECT_EQ(HasTensor(keys, {"in_proj.bias"}), m.biases.mamba);
    EXPECT_EQ(HasTensor(keys, {"conv1d.bias"}), m.biases.conv);
    EXPECT_EQ(HasTensor(keys, {"self_attn.q_norm.weight"}), m.qk_norm != QkNorm::kNone);
    EXPECT_EQ(HasTensor(keys, {"lm_head.weight", "embed_out.weight"}), !m.tied && m.labels == 0);
    EXPECT_EQ(HasTensor(keys, {"score.weight"}), m.labels != 0);
    EXPECT_EQ(HasTensor(keys, {"e_score_correction_bias"}), m.experts && m.experts->correction_bias);
    EXPECT_EQ(HasTensor(keys, {"shared_expert_gate.weight"}), m.experts && m.experts->shared_gate);
    EXPECT_EQ(HasTensor(keys, {"q_a_proj.weight"}), m.mla && m.mla->q_rank);
    EXPECT_EQ(CountOf(keys, m.architecture.family == Family::kFalcon ? ".h." : ".layers."), m.layer_count());
    if (m.architecture.family == Family::kGptOss) continue;  // experts are fused
    EXPECT_EQ(CountOf(keys, ".experts."), m.experts ? m.experts->count : 0);
  }
}

}  // namespace
}  // namespace ck::huggingface
