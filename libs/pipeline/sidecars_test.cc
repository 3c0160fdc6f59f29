#include "libs/pipeline/sidecars.h"

#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/testing/tiny_checkpoint.h"
#include "libs/fs/test_directory.h"

namespace ck::pipeline {
namespace {

using checkpoint::TinyCheckpoint;

TinyCheckpoint Model(const std::string& path) {
  TinyCheckpoint checkpoint(path);
  checkpoint.Tensor("decoder.weight", DType::kF32, {2}).CommonPt(1);
  return checkpoint;
}

std::vector<std::string> CopiedNames(const transform::View& view) {
  std::vector<std::string> names;
  for (const transform::SidecarFile& file : view.sidecars) names.push_back(file.name);
  return names;
}

std::string IdOf(const checkpoint::Checkpoint& source) {
  transform::View view;
  try {
    AddSidecars(source, SidecarRule::kCopy, view);
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

TEST(Sidecars, WhatGoesAlongAndWhatStays) {
  const fs::TestDirectory directory;
  TinyCheckpoint model = Model(directory / "iter_0000001");
  for (const char* name : {"run_config.yaml", "train_state.pt", "tokenizer/tokenizer.json", "tokenizer/deep/er/vocab.txt", "integrity.json", "ck-plan.json", "__9_9.distcp",
                           "x.tmp", "x.bck", ".hidden"}) {
    model.File(name, name);
  }
  const auto source = model.Open();
  transform::View copy, changed;
  AddSidecars(*source, SidecarRule::kCopy, copy);
  AddSidecars(*source, SidecarRule::kChanged, changed);
  EXPECT_EQ(CopiedNames(copy), (std::vector<std::string>{"run_config.yaml", "tokenizer/deep/er/vocab.txt", "tokenizer/tokenizer.json", "train_state.pt"}));
  EXPECT_EQ(CopiedNames(changed), (std::vector<std::string>{"run_config.yaml", "tokenizer/deep/er/vocab.txt", "tokenizer/tokenizer.json"}));
  EXPECT_EQ(copy.sidecars[1].source_path, directory / "iter_0000001/tokenizer/deep/er/vocab.txt");
  EXPECT_EQ(copy.sidecars[1].bytes, std::string("tokenizer/deep/er/vocab.txt").size());
  // Every one that stays is named.
  const std::string notes = Join(changed.notes, "\n");
  for (const char* name : {"train_state.pt", "integrity.json", "ck-plan.json", "__9_9.distcp", "x.tmp", "x.bck"}) {
    EXPECT_NE(notes.find(Cat("left out: '", name, "'")), std::string::npos) << name << "\n" << notes;
  }
}

TEST(Sidecars, ModelOptIsRefused) {
  const fs::TestDirectory directory;
  EXPECT_EQ(IdOf(*Model(directory / "a").File("modelopt_state/x", "").Open()), "pipeline.modelopt_state");
}

TEST(Sidecars, FoldersNestToALimit) {
  const fs::TestDirectory directory;
  std::string deep = "f";
  for (size_t i = 1; i < kMaxSidecarDepth; ++i) deep += "/f";
  EXPECT_EQ(IdOf(*Model(directory / "at").File(deep + "/file", "").Open()), "");
  EXPECT_EQ(IdOf(*Model(directory / "over").File(deep + "/f/file", "").Open()), "pipeline.sidecar_limit");
}

TEST(Sidecars, FilesAreCountedToALimit) {
  const fs::TestDirectory directory(fs::MemoryBase());
  TinyCheckpoint model = Model(directory / "many");
  for (size_t i = 0; i <= kMaxSidecarFiles; ++i) model.File(Cat("folder/", i), "");
  EXPECT_EQ(IdOf(*model.Open()), "pipeline.sidecar_limit");
}

TEST(Sidecars, AFolderThatHoldsALinkToItselfEnds) {
  const fs::TestDirectory directory;
  const auto source = Model(directory / "a").File("folder/file", "").Open();
  std::filesystem::create_directory_symlink("..", directory / "a/folder/up");
  EXPECT_EQ(IdOf(*source), "pipeline.sidecar_limit");
}

}  // namespace
}  // namespace ck::pipeline
