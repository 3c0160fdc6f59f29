// Every config.json of the zoo: 59 models that transformers 4.57.6 or 5.24.0 wrote.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "libs/base/error.h"
#include "libs/huggingface/config.h"

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

}  // namespace
}  // namespace ck::huggingface
