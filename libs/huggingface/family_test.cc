#include "libs/huggingface/family.h"

#include <gtest/gtest.h>

#include <set>

#include "libs/base/error.h"

namespace ck::huggingface {
namespace {

std::string IdOf(std::string_view name, std::string* message = nullptr) {
  try {
    ParseArchitecture(name);
  } catch (const Error& error) {
    if (message != nullptr) *message = error.message();
    return error.id();
  }
  return "";
}

TEST(FamilyTest, NamesAreThoseOfTransformers) {
  EXPECT_EQ(ClassName({Family::kQwen3Moe, Head::kTokenClassification}), "Qwen3MoeForTokenClassification");
  EXPECT_EQ(ClassName({Family::kGptNeox, Head::kCausalLm}), "GPTNeoXForCausalLM");
  EXPECT_EQ(ClassName({Family::kGemma3, Head::kSequenceClassification}), "Gemma3TextForSequenceClassification");
  EXPECT_EQ(ParseArchitecture("GPTNeoXForCausalLM"), (Architecture{Family::kGptNeox, Head::kCausalLm}));
  EXPECT_EQ(ParseArchitecture("LlamaForSequenceClassification"),
            (Architecture{Family::kLlama, Head::kSequenceClassification}));
}

TEST(FamilyTest, EveryClassReadsBack) {
  std::set<std::string_view> types;
  for (const FamilyRow& row : Families()) {
    EXPECT_TRUE(types.insert(row.model_type).second) << row.model_type;
    for (const Head head : {Head::kCausalLm, Head::kTokenClassification, Head::kSequenceClassification}) {
      if (!HasHead(row.family, head)) continue;
      EXPECT_EQ(ParseArchitecture(ClassName({row.family, head})), (Architecture{row.family, head})) << row.prefix;
    }
  }
  EXPECT_EQ(types.size(), 25u);
}

TEST(FamilyTest, AnUnknownNameNamesTheNearest) {
  std::string message;
  EXPECT_EQ(IdOf("LlamaForCasualLM", &message), "huggingface.unknown_architecture");
  EXPECT_NE(message.find("LlamaForCausalLM"), std::string::npos) << message;
  EXPECT_EQ(IdOf("", &message), "huggingface.unknown_architecture");
}

// A head that only one version has, or none, would load elsewhere with random weights.
TEST(FamilyTest, ClassesWithoutAHeadAreRefused) {
  for (const char* name :
       {"DeepseekV2ForTokenClassification", "Gemma3ForTokenClassification", "Glm4MoeForTokenClassification",
        "Glm4MoeForSequenceClassification", "NemotronHForTokenClassification", "OlmoeForSequenceClassification",
        "Olmo2ForSequenceClassification", "Mamba2ForTokenClassification"}) {
    EXPECT_EQ(IdOf(name), "huggingface.no_such_head") << name;
  }
}

}  // namespace
}  // namespace ck::huggingface
