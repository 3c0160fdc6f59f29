#include "libs/huggingface/tables.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/testing/fixture.h"

namespace ck::huggingface {
namespace {

// A model that transformers wrote, as far as its names depend on it. By hand, from its config.json.
struct Model {
  std::string folder;
  std::string class_name;
  uint64_t layers = 0;
  uint64_t experts = 0;
  std::vector<uint64_t> dense_layers = {};  // of a model with experts
  std::vector<std::string> fields = {};     // When::kField that are true
  bool untied = true;
};

const std::vector<Model>& Models() {
  static const std::vector<Model> models = {
      {"llama_untied", "LlamaForCausalLM", 3},
      {"llama_untied_v457", "LlamaForCausalLM", 3},
      {"llama_sharded", "LlamaForCausalLM", 3},
      {"llama_tied", "LlamaForCausalLM", 3, 0, {}, {}, false},
      {"llama_bias", "LlamaForCausalLM", 3, 0, {}, {"attention_bias", "mlp_bias"}},
      {"llama_attnbias", "LlamaForCausalLM", 3, 0, {}, {"attention_bias"}},
      {"llama_rope3", "LlamaForCausalLM", 3},
      {"llama_value", "LlamaForTokenClassification", 2},
      {"llama_seqcls", "LlamaForSequenceClassification", 2},
      {"mistral", "MistralForCausalLM", 2},
      {"mistral_nowin", "MistralForCausalLM", 2},
      {"mixtral", "MixtralForCausalLM", 2, 4},
      {"mixtral_v457", "MixtralForCausalLM", 2, 4},
      {"qwen2", "Qwen2ForCausalLM", 3},
      {"qwen2_tied", "Qwen2ForCausalLM", 2, 0, {}, {}, false},
      {"qwen2_value", "Qwen2ForTokenClassification", 2},
      {"qwen2_moe", "Qwen2MoeForCausalLM", 2, 4, {}, {"qkv_bias"}},
      {"qwen2_moe_v457", "Qwen2MoeForCausalLM", 2, 4, {}, {"qkv_bias"}},
      {"qwen3", "Qwen3ForCausalLM", 3},
      {"qwen3_tied", "Qwen3ForCausalLM", 2, 0, {}, {}, false},
      {"qwen3_moe", "Qwen3MoeForCausalLM", 2, 4},
      {"qwen3_moe_v457", "Qwen3MoeForCausalLM", 2, 4},
      {"qwen3_moe_mixed", "Qwen3MoeForCausalLM", 3, 4, {1}},
      {"deepseek_v3", "DeepseekV3ForCausalLM", 3, 6, {0}, {"q_lora_rank", "n_shared_experts"}},
      {"deepseek_v3_v457", "DeepseekV3ForCausalLM", 3, 6, {0}, {"q_lora_rank", "n_shared_experts"}},
      {"deepseek_v3_noq", "DeepseekV3ForCausalLM", 2, 4, {0}, {"q_proj", "n_shared_experts"}},
      {"deepseek_v2", "DeepseekV2ForCausalLM", 2, 4, {0}, {"q_lora_rank", "n_shared_experts"}},
      {"deepseek_v2_lite", "DeepseekV2ForCausalLM", 3, 4, {0}, {"q_proj", "n_shared_experts"}},
      {"nemotron", "NemotronForCausalLM", 2},
      {"qwen3_moe_value", "Qwen3MoeForTokenClassification", 2, 4},
  };
  return models;
}

std::string Replace(std::string text, const std::string& mark, uint64_t number) {
  const size_t at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), std::to_string(number));
}

bool Holds(const Rule& rule, const Model& model, uint64_t layer) {
  if (!rule.field.empty() && std::count(model.fields.begin(), model.fields.end(), rule.field) == 0) return false;
  const bool dense = model.experts == 0 || std::count(model.dense_layers.begin(), model.dense_layers.end(), layer) > 0;
  switch (rule.when) {
    case When::kAlways:
    case When::kPresent:
      return true;
    case When::kDense:
      return dense;
    case When::kMoe:
      return !dense;
    case When::kUntied:
      return model.untied;
    case When::kField:
      return true;
    case When::kTied:
    case When::kAttention:
    case When::kDeltaNet:
    case When::kMamba:
    case When::kMlp:
      break;  // of classes in family_keys_test.cc
  }
  return false;
}

std::set<std::string> NamesOfTable(const Model& model) {
  std::set<std::string> out;
  for (const Rule& rule : RulesOf(ParseArchitecture(model.class_name))) {
    for (const std::string_view pattern : rule.hf) {
      const bool per_layer = pattern.find("{i}") != std::string_view::npos, per_expert = pattern.find("{e}") != std::string_view::npos;
      for (uint64_t i = 0; i < (per_layer ? model.layers : 1); ++i) {
        if (!Holds(rule, model, i)) continue;
        for (uint64_t e = 0; e < (per_expert ? model.experts : 1); ++e) {
          EXPECT_TRUE(out.insert(Replace(Replace(std::string(pattern), "{i}", i), "{e}", e)).second) << pattern;
        }
      }
    }
  }
  return out;
}

// The names that transformers itself wrote.
std::set<std::string> NamesOnDisk(const std::string& folder) {
  std::set<std::string> out;
  for (const std::string& line : Split(testing::ReadFixture(Cat("testdata/fixtures/hf/", folder, "/keys.tsv")), '\n')) {
    const std::string name = line.substr(0, line.find('\t'));
    if (!name.empty() && name != "name") out.insert(name);
  }
  return out;
}

TEST(Tables, NameWhatTransformersWrites) {
  for (const Model& model : Models()) EXPECT_EQ(NamesOfTable(model), NamesOnDisk(model.folder)) << model.folder;
}

TEST(Tables, EveryRuleIsWellFormed) {
  for (const Table& table : Tables()) {
    for (const Rule& rule : table.rules) {
      SCOPED_TRACE(rule.megatron[0]);
      const bool query_key_value = rule.transform == Transform::kQkv || rule.transform == Transform::kGatedQkv;
      const size_t results = query_key_value ? 3 : rule.transform == Transform::kGateUp ? 2 : 1;
      EXPECT_EQ(rule.hf.size(), results);
      EXPECT_TRUE(rule.when != When::kField || !rule.field.empty());
      const bool layer = rule.megatron[0].find("{i}") != std::string_view::npos;
      for (const std::string_view hf : rule.hf) EXPECT_EQ(hf.find("{i}") != std::string_view::npos, layer);
      for (const std::string_view key : rule.megatron) EXPECT_EQ(key.find("{i}") != std::string_view::npos, layer);
      EXPECT_EQ(Split(rule.shape, ',').size(), JoinsTensors(rule.transform) ? rule.megatron.size() : 1);
      EXPECT_NE(Describe(rule), "");
      EXPECT_NE(Name(rule.transform), "");
    }
  }
}

TEST(Tables, EveryFamilyHasOne) {
  for (const FamilyRow& row : Families()) EXPECT_EQ(TableOf(row.family).family, row.family);
  EXPECT_EQ(Tables().size(), Families().size());
}

}  // namespace
}  // namespace ck::huggingface
