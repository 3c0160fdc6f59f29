#include "libs/checkpoint/common_state.h"

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/testing/dcp_builder.h"
#include "libs/fs/test_directory.h"

namespace ck::checkpoint {
namespace {

DcpBuilder OneTensor() {
  DcpBuilder builder;
  builder.AddTensor("decoder.a", DType::kF32, {1}, std::string(4, '\x01'), "__0_0.distcp");
  return builder;
}

std::string FaultId(const Checkpoint& checkpoint) {
  try {
    ReadCommonState(checkpoint);
    return "";
  } catch (const Error& error) {
    return error.id();
  }
}

TEST(CommonState, Forms) {
  struct Case {
    const char* what;
    std::string file;         // of common.pt, "" for none
    std::string key, object;  // of the embedded form, "" for none
    CommonForm form;
    bool both;
    int64_t iteration;
  };
  const std::string key(kEmbeddedCommonKey);
  const Case cases[] = {
      {"neither", "", "", "", CommonForm::kNone, false, -1},
      {"file", SavedIteration(7, InList::kNo), "", "", CommonForm::kCommonPt, false, 7},
      {"embedded", "", key, SavedIteration(8, InList::kYes), CommonForm::kEmbedded, false, 8},
      {"both: the file wins", SavedIteration(7, InList::kNo), key, SavedIteration(8, InList::kYes),
       CommonForm::kCommonPt, true, 7},
  };
  for (const Case& c : cases) {
    const fs::TestDirectory directory;
    DcpBuilder builder = OneTensor();
    if (!c.key.empty()) builder.AddObject(c.key, c.object, "__0_0.distcp");
    builder.Save(directory / "x");
    if (!c.file.empty()) directory.Write("x/common.pt", c.file);
    const CommonState state = ReadCommonState(*Checkpoint::Open(directory / "x"));
    EXPECT_EQ(state.form, c.form) << c.what;
    EXPECT_EQ(state.both_forms, c.both) << c.what;
    EXPECT_EQ(state.iteration().value_or(-1), c.iteration) << c.what;
    EXPECT_EQ(state.args(), pickle::kNoRef) << c.what;
  }
}

TEST(CommonState, UnknownLayoutsAreRefused) {
  pickle::Graph graph;
  const pickle::Ref two = graph.NewList({graph.NewDict(), graph.NewDict()});
  const std::string list_of_two = torchsave::WriteObject(graph, two, "archive", {});
  struct Case {
    const char* what;
    std::string key, object, file, id;
  };
  const std::string key(kEmbeddedCommonKey), bare = SavedIteration(8, InList::kNo),
                                             listed = SavedIteration(8, InList::kYes);
  const Case cases[] = {
      {"sharded in two", "common_state/shard_0_2", listed, "", "common.unknown_layout"},
      {"another name", "common_state/x", listed, "", "common.unknown_layout"},
      {"a bare dict", key, bare, "", "common.unknown_layout"},
      {"two dicts", key, list_of_two, "", "common.unknown_layout"},
      {"a list in common.pt", "", "", listed, "common.not_a_dict"},
      {"no torch.save", "", "", "hello", "torchsave.not_torch"},
  };
  for (const Case& c : cases) {
    const fs::TestDirectory directory;
    DcpBuilder builder = OneTensor();
    if (!c.key.empty()) builder.AddObject(c.key, c.object, "__0_0.distcp");
    builder.Save(directory / "x");
    if (!c.file.empty()) directory.Write("x/common.pt", c.file);
    const auto checkpoint = Checkpoint::Open(directory / "x");
    EXPECT_EQ(FaultId(*checkpoint), c.id) << c.what;
  }
}

}  // namespace
}  // namespace ck::checkpoint
