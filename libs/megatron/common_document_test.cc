#include "libs/megatron/common_document.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/pickle/testing/same_graph.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/write.h"

namespace ck::megatron {
namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::Ref;

// Every fixture checkpoint that has a common state, in either form.
std::vector<checkpoint::CommonState> AllCommonStates(std::vector<std::string>& names) {
  std::vector<checkpoint::CommonState> out;
  for (const char* folder : {"testdata/fixtures", "testdata/checkpoints/run"}) {
    for (const std::string& file : testing::ListFixtures(folder, "metadata.json")) {
      const std::string directory = file.substr(0, file.rfind('/'));
      const auto opened = checkpoint::Checkpoint::Open(directory);
      if (opened->format() != checkpoint::Format::kTorchDist) continue;
      checkpoint::CommonState state = checkpoint::ReadCommonState(*opened);
      if (state.form == checkpoint::CommonForm::kNone) continue;
      names.push_back(directory);
      out.push_back(std::move(state));
    }
  }
  return out;
}

// What torch would load from the file that a merge writes.
torchsave::SavedObject WrittenAndRead(const CommonDocument& document) {
  const std::string file =
      torchsave::WriteObject(document.graph, document.root, "common", [&](const std::string& key) { return document.storages.at(key); });
  return torchsave::ReadObject(bytes::StringSource(file));
}

TEST(CommonDocument, EveryOtherValueOfEveryFixtureStaysAsItIs) {
  std::vector<std::string> names;
  std::vector<checkpoint::CommonState> states = AllCommonStates(names);
  ASSERT_GE(states.size(), 30u);
  size_t with_args = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    SCOPED_TRACE(names[i]);
    checkpoint::CommonState& source = states[i];
    CommonDocument document = CopyCommonState(source);
    EXPECT_EQ(pickle::Difference(source.object.graph, source.dict, document.graph, document.root), "");

    SetIteration(document, 7654321);
    const torchsave::SavedObject read = WrittenAndRead(document);
    EXPECT_EQ(read.graph.AsInt(read.graph.Find(read.root, "iteration")), 7654321);
    // The same change made by hand to the source must give the whole of what was read.
    Graph& graph = source.object.graph;
    const Ref args = source.args();
    graph.DictSet(source.dict, "iteration", graph.NewInt(7654321));
    if (args != pickle::kNoRef && graph.Attribute(args, "iteration") != pickle::kNoRef) {
      EXPECT_EQ(read.graph.AsInt(read.graph.Attribute(read.graph.Find(read.root, "args"), "iteration")), 7654321);
      graph.SetAttribute(args, "iteration", graph.NewInt(7654321));
      ++with_args;
    }
    EXPECT_EQ(pickle::Difference(graph, source.dict, read.graph, read.root), "");
    EXPECT_EQ(read.storages.size(), source.object.storages.size());
  }
  EXPECT_GT(with_args, 0u);
}

TEST(CommonDocument, AnIterationIsAddedButNeverToArgs) {
  CommonDocument document = CopyCommonState({});
  Graph& graph = document.graph;
  const Ref args = graph.NewObject(pickle::Form::kNewObj, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
  graph.SetAttribute(args, "hidden_size", graph.NewInt(16));
  graph.DictSet(document.root, "args", args);
  SetIteration(document, 5);
  EXPECT_EQ(graph.AsInt(graph.Find(document.root, "iteration")), 5);
  EXPECT_EQ(graph.Attribute(args, "iteration"), pickle::kNoRef);
}

TEST(CommonDocument, ArgsThatAreNoNamespaceStay) {
  CommonDocument document = CopyCommonState({});
  Graph& graph = document.graph;
  // A state of two parts, as classes with __slots__ have.
  const Ref slots = graph.NewDict();
  graph.DictSet(slots, "iteration", graph.NewInt(1));
  const Ref args = graph.NewObject(pickle::Form::kNewObj, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
  graph.SetState(args, graph.NewTuple({graph.NewNone(), slots}));
  graph.DictSet(document.root, "args", args);
  SetIteration(document, 5);
  EXPECT_EQ(graph.AsInt(graph.Find(slots, "iteration")), 1);
  graph.DictSet(document.root, "args", graph.NewString("none"));
  SetIteration(document, 6);
  EXPECT_EQ(graph.AsInt(graph.Find(document.root, "iteration")), 6);
}

TEST(CommonDocument, TrainingStateIsDroppedByName) {
  CommonDocument document = CopyCommonState({});
  Graph& graph = document.graph;
  for (const char* key : {"args", "optimizer", "rng_state", "opt_param_scheduler", "rerun_state_machine", "iteration"}) {
    graph.DictSet(document.root, key, graph.NewInt(1));
  }
  EXPECT_EQ(DropTrainingState(document), (std::vector<std::string>{"optimizer", "rng_state", "rerun_state_machine"}));
  EXPECT_EQ(graph.entries(document.root).size(), 3u);
  EXPECT_TRUE(DropTrainingState(document).empty());
}

// Readers of the program replaced exist: names, types and order are a contract.
TEST(CommonDocument, ProvenanceHasEveryMemberWithItsType) {
  CommonDocument document = CopyCommonState({});
  MergeProvenance provenance;
  provenance.input_paths = {"/a", "/b"};
  provenance.source_iterations = {10, std::nullopt};
  provenance.weights = {0.1, -2};
  provenance.normalize = true;
  provenance.merge_style = "manual";
  provenance.output_iteration = 20;
  provenance.output_dtype = "bfloat16";
  provenance.extra_state_source_index = 1;
  provenance.extra_state_source_path = "/b";
  provenance.common_state_source_path = "/a";
  provenance.producer = "ck 1";
  SetProvenance(document, provenance);
  const torchsave::SavedObject read = WrittenAndRead(document);
  const Graph& graph = read.graph;
  const Ref dict = graph.Find(read.root, "weighted_merge_provenance");
  const struct {
    const char* key;
    Kind kind;
  } members[] = {
      {"format_version", Kind::kInt},
      {"input_paths", Kind::kList},
      {"source_iterations", Kind::kList},
      {"weights", Kind::kList},
      {"normalize", Kind::kBool},
      {"merge_style", Kind::kString},
      {"output_iteration", Kind::kInt},
      {"output_dtype", Kind::kString},
      {"extra_state_source_index", Kind::kInt},
      {"extra_state_source_path", Kind::kString},
      {"common_state_source_path", Kind::kString},
      {"implementation_mode", Kind::kString},
      {"balance_rank_work", Kind::kBool},
      {"strict", Kind::kString},
      {"code_revision", Kind::kNone},
      {"optimizer_merged", Kind::kBool},
      {"rng_merged", Kind::kBool},
      {"producer", Kind::kString},
  };
  ASSERT_EQ(graph.entries(dict).size(), std::size(members));
  for (const auto& member : members) {
    const Ref value = graph.Find(dict, member.key);
    ASSERT_NE(value, pickle::kNoRef) << member.key;
    EXPECT_EQ(graph.kind(value), member.kind) << member.key;
  }
  const auto text = [&](const char* key) { return graph.bytes(graph.Find(dict, key)); };
  EXPECT_EQ(graph.AsInt(graph.Find(dict, "format_version")), 1);
  EXPECT_EQ(text("implementation_mode"), "dcp-metadata-same-layout");
  EXPECT_EQ(text("strict"), "assume_ok_unexpected");
  EXPECT_FALSE(graph.AsBool(graph.Find(dict, "optimizer_merged")));
  EXPECT_FALSE(graph.AsBool(graph.Find(dict, "rng_merged")));
  EXPECT_TRUE(graph.AsBool(graph.Find(dict, "normalize")));
  const auto weights = graph.items(graph.Find(dict, "weights"));
  ASSERT_EQ(weights.size(), 2u);
  EXPECT_EQ(graph.AsFloat(weights[0]), 0.1);
  EXPECT_EQ(graph.AsFloat(weights[1]), -2.0);
  const auto iterations = graph.items(graph.Find(dict, "source_iterations"));
  EXPECT_EQ(graph.AsInt(iterations[0]), 10);
  EXPECT_EQ(graph.kind(iterations[1]), Kind::kNone);
  EXPECT_EQ(graph.bytes(graph.items(graph.Find(dict, "input_paths"))[1]), "/b");
}

TEST(RefusedClasses, NamesWhatARestrictedLoadRefusesAndOnlyWhatIsReachable) {
  CommonDocument document;
  pickle::Graph& graph = document.graph;
  document.root = graph.NewDict();
  const auto call = [&](const char* module, const char* name) {
    return graph.NewObject(pickle::Form::kReduce, graph.NewGlobal(module, name), graph.NewTuple({}));
  };
  graph.DictSet(document.root, "args", call("argparse", "Namespace"));
  graph.DictSet(document.root, "dtype", graph.NewGlobal("torch", "bfloat16"));
  EXPECT_TRUE(RefusedClasses(document).empty());
  call("foo", "Unreachable");
  EXPECT_TRUE(RefusedClasses(document).empty());
  graph.DictSet(document.root, "loss", call("numpy._core.multiarray", "scalar"));
  graph.DictSet(document.root, "thing", call("foo.bar", "Thing"));
  EXPECT_EQ(RefusedClasses(document), (std::vector<std::string>{"foo.bar.Thing", "numpy._core.multiarray.scalar"}));
}

}  // namespace
}  // namespace ck::megatron
