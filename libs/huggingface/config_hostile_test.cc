// Every member of one config.json of each class, replaced by values that no library writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/compare_config.h"
#include "libs/huggingface/megatron_config.h"

namespace ck::huggingface {
namespace {

constexpr const char* kValues[] = {
    "null",
    "true",
    "false",
    "-1",
    "0",
    "1",
    "3",
    "2147483648",
    "9223372036854775807",
    "18446744073709551615",
    "1.5",
    "1e300",
    "1e-300",
    "-0.0",
    "NaN",
    "Infinity",
    "\"\"",
    "\"x\"",
    "[]",
    "[null]",
    "[1, 2]",
    "[\"full_attention\"]",
    "{}",
    R"({"rope_type": "yarn"})",
    R"({"rope_type": "yarn", "factor": 1e300, "rope_theta": 7000.0})",
    R"({"rope_type": "linear", "factor": 1e300, "rope_theta": 7000.0})",
    R"({"full_attention": {}, "sliding_attention": 1})",
    R"({"0": "a", "1": "b"})",
};

size_t accepted = 0;

// Reads it and does with it all that is done with a model. A refusal is fine, a fault of ours is not.
void Use(const json::Object& config) {
  const auto guarded = [](const auto& step) {
    try {
      step();
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInput) << error.id() << ": " << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
      return false;
    }
  };
  ModelConfig model;
  if (!guarded([&] { model = ReadConfig(config); })) return;
  ++accepted;
  guarded([&] { EXPECT_FALSE(ConfigText(WriteConfig(model)).empty()); });
  guarded([&] { EXPECT_FALSE(CorrectTemplate(config, model).config.empty()); });
  guarded([&] { EXPECT_FALSE(ArgsFromConfig(model, {}).arguments.empty()); });
}

TEST(ConfigHostileTest, NoValueIsAFaultOfOurs) {
  size_t tried = 0, members = 0;
  std::set<Family> classes;
  for (const auto& entry : std::filesystem::directory_iterator("testdata/fixtures/hf")) {
    if (!entry.is_directory()) continue;
    std::ifstream stream(entry.path() / "model" / "config.json", std::ios::binary);
    const json::Object config = ParseConfig(std::string(std::istreambuf_iterator<char>(stream), {}));
    if (!classes.insert(ReadConfig(config).architecture.family).second) continue;
    for (const auto& [name, value] : config.members()) {
      ++members;
      for (size_t i = members % 2; i < std::size(kValues); i += 2) {  // every second value: the tries are many enough
        const char* text = kValues[i];
        SCOPED_TRACE(Cat(entry.path().filename().string(), " ", name, " = ", text));
        json::Object changed = config;
        changed.Set(name, json::Parse(text, json::Extensions::kPythonNumbers));
        Use(changed);
        ++tried;
      }
      json::Object shorter = config;
      shorter.Erase(name);
      Use(shorter);
    }
  }
  EXPECT_EQ(classes.size(), Families().size());
  EXPECT_GT(tried, 10'000u);
  EXPECT_GT(accepted, tried / 10);
}

TEST(ConfigHostileTest, TextThatIsNoConfig) {
  for (const char* text : {"", "[]", "1", "{", "{\"a\":1}", "{\"architectures\":[]}", "{\"architectures\":[1]}",
                           "{\"architectures\":\"LlamaForCausalLM\"}"}) {
    EXPECT_THROW(ReadConfig(ParseConfig(text)), Error) << text;
  }
}

}  // namespace
}  // namespace ck::huggingface
