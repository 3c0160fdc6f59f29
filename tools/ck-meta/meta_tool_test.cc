// What no real checkpoint of testdata has: odd names, wrappers, hostile common states.
#include "tools/ck-meta/meta_tool.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/text.h"
#include "libs/checkpoint/testing/dcp_builder.h"
#include "libs/cli/testing/string_streams.h"
#include "libs/dcp/testing/metadata_builder.h"
#include "libs/fs/test_directory.h"
#include "libs/json/value.h"
#include "libs/pickle/graph.h"
#include "libs/plan/testing/schema_validator.h"
#include "libs/tensor/box.h"
#include "libs/torchsave/write.h"
#include "tools/ck-meta/options.h"

namespace ck::meta {
namespace {

using checkpoint::DcpBuilder;

class MetaToolTest : public testing::Test {
 protected:
  std::string Path() const { return directory_ / "x"; }

  // A checkpoint with these names, each a tensor of two elements.
  void Save(const std::vector<std::string>& tensors) {
    for (const std::string& name : tensors) builder_.AddTensor(name, DType::kU8, {2}, "ab", "__0_0.distcp");
    builder_.Save(Path());
  }
  void SaveCommon(const pickle::Graph& graph, pickle::Ref root) {
    Save({"w"});
    directory_.Write("x/metadata.json", R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1})");
    directory_.Write("x/common.pt", torchsave::WriteObject(graph, root, "common", {}));
  }

  std::string Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Path());
    std::vector<const char*> argv = {"ck-meta"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    cli::StringStreams streams;
    EXPECT_EQ(cli::RunMain(CommandLine(), static_cast<int>(argv.size()), argv.data(), streams, meta::Run), 0);
    error_ = streams.error;
    return streams.output;
  }
  json::Value Document() {
    json::Value document = json::Parse(Run({"--json", "--chunks"}));
    const auto schema = plan::testing::SchemaValidator::Load("ck.meta");
    EXPECT_EQ(schema.Violations(document), std::vector<std::string>());
    return document;
  }
  const json::Value& StateOf(const json::Value& document) {
    return *document.AsObject()->Find("common")->AsObject()->Find("state");
  }
  bool ErrorHas(std::string_view text) const { return error_.find(text) != std::string::npos; }

  fs::TestDirectory directory_;
  DcpBuilder builder_;
  std::string error_;
};

TEST_F(MetaToolTest, NamesOfAnyBytesAreShownOnOneLine) {
  const std::string odd = "optimizer.dtype_(torch.bfloat16, torch.float32)/\"q\" \x1b[31m\n\xed\xa0\x80";
  Save({odd});
  const json::Value document = Document();
  const json::Object& tensor = *document.AsObject()->Find("tensors")->AsArray()->at(0).AsObject();
  EXPECT_EQ(*tensor.Find("name")->AsString(),
            "optimizer.dtype_(torch.bfloat16, torch.float32)/\"q\" \x1b[31m\n\\xed\\xa0\\x80");
  const std::string table = Run({"--table"});
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_NE(table.find(R"(/"q" \x1b[31m\x0a\xed\xa0\x80  U8)"), std::string::npos) << table;
}

TEST_F(MetaToolTest, WrappersAreNamed) {
  constexpr std::string_view kEmbedding = "embedding.word_embeddings.weight";
  constexpr std::string_view kLayer = "decoder.layers.0.mlp.linear_fc1.weight";
  const struct {
    std::vector<std::string> names;
    std::string_view line;  // "": none
  } kCases[] = {
      {{Cat(kEmbedding), Cat(kLayer), "decoder.final_layernorm.weight"}, ""},
      {{Cat("model.", kEmbedding), Cat("model.", kLayer)}, "names of the model begin with 'model.'\n"},
      {{Cat("model.module.", kEmbedding), Cat("optimizer.state.module.module.module.", kLayer)},
       "names of the model begin with 'model.module.'\n"},
      {{Cat("model.model.", kEmbedding), Cat("model.", kLayer)},
       "names of the model begin differently: 'model.' (1), 'model.model.' (1)\n"},
      {{"x.y", "my_decoder.layers.0.w"}, ""},
  };
  for (const auto& one : kCases) {
    builder_ = DcpBuilder();
    Save(one.names);
    const std::string table = Run({"--table"});
    if (one.line.empty()) {
      EXPECT_EQ(table.find("names of the model"), std::string::npos) << table;
    } else {
      EXPECT_NE(table.find(one.line), std::string::npos) << table;
    }
  }
}

TEST_F(MetaToolTest, AnUnknownClassIsNamedAndLosesNothing) {
  pickle::Graph graph;
  const pickle::Ref root = graph.NewDict();
  const pickle::Ref system = graph.NewGlobal("posix", "system");
  graph.DictSet(root, "evil",
                graph.NewObject(pickle::Form::kReduce, system, graph.NewTuple({graph.NewString("touch marker")})));
  graph.DictSet(root, "iteration", graph.NewInt(12));
  SaveCommon(graph, root);
  const json::Value document = Document();
  EXPECT_TRUE(ErrorHas("'posix.system'")) << error_;
  EXPECT_TRUE(ErrorHas("[meta.unknown_class]")) << error_;
  EXPECT_EQ(json::Write(StateOf(document), {.final_newline = false}),
            R"x({"evil":"<posix.system('touch marker',)>","iteration":12})x");
  const std::string globals = Run({"--show-globals", "--table"});
  EXPECT_NE(globals.find("posix.system  no     yes         1  common state"), std::string::npos) << globals;
  EXPECT_NE(globals.find("1 name, 1 that ck does not know"), std::string::npos) << globals;
}

TEST_F(MetaToolTest, OddMetadataIsAWarning) {
  Save({"w"});
  std::ofstream(Path() + "/.metadata", std::ios::binary | std::ios::app) << "more";
  const json::Value document = Document();
  EXPECT_TRUE(ErrorHas("[meta.odd_metadata]")) << error_;
  EXPECT_EQ(document.AsObject()->Find("tensors")->AsArray()->size(), 1u);
}

TEST_F(MetaToolTest, AnUnknownAttributeOfTheMetadataIsAWarning) {
  Save({"w"});
  dcp::MetadataBuilder metadata;
  metadata.AddTensor("w", "uint8", {2}, {Box::Whole({2})});
  const dcp::Item& item = builder_.metadata.tensors[0].chunks[0].item;
  metadata.AddItem("w", Dims{0}, "__0_0.distcp", item.offset, item.length);
  metadata.Set("future_field", metadata.NewObject("foo", "Bar"));
  directory_.Write("x/.metadata", metadata.Build());
  const json::Value document = Document();
  EXPECT_EQ(document.AsObject()->Find("tensors")->AsArray()->size(), 1u);
  EXPECT_TRUE(ErrorHas("'foo.Bar' [meta.unknown_class]")) << error_;
  EXPECT_TRUE(ErrorHas("'future_field'")) << error_;
  EXPECT_NE(Run({"--show-globals", "--table"}).find("foo.Bar  no     no          1  .metadata"), std::string::npos);
}

TEST_F(MetaToolTest, OnlyTheArgumentsAreCounted) {
  pickle::Graph graph;
  const pickle::Ref type = graph.NewGlobal("argparse", "Namespace");
  const auto make = [&] {
    const pickle::Ref made = graph.NewObject(pickle::Form::kNewObj, type, graph.NewTuple({}));
    graph.SetAttribute(made, "lr", graph.NewFloat(0.5));
    return made;
  };
  const pickle::Ref root = graph.NewDict();
  graph.DictSet(root, "args", make());
  graph.DictSet(root, "other", make());
  SaveCommon(graph, root);
  const std::string table = Run({"--table"});
  EXPECT_NE(table.find("args          Namespace of 1 argument (--args shows them)\n"), std::string::npos) << table;
  EXPECT_NE(table.find("other         Namespace(lr=0.5)\n"), std::string::npos) << table;
}

TEST_F(MetaToolTest, ABombIsCutAndTheRestIsThere) {
  pickle::Graph graph;
  pickle::Ref bomb = graph.NewList({});
  for (int i = 0; i < 60; ++i) bomb = graph.NewList({bomb, bomb, bomb});
  const pickle::Ref root = graph.NewDict();
  graph.DictSet(root, "bomb", bomb);
  graph.DictSet(root, "iteration", graph.NewInt(12));
  SaveCommon(graph, root);
  const json::Value document = Document();
  EXPECT_TRUE(ErrorHas("[meta.state_cut]")) << error_;
  EXPECT_EQ(StateOf(document).AsObject()->Find("iteration")->AsInt(), 12);
  EXPECT_EQ(document.AsObject()->Find("iteration")->AsInt(), 12);
}

TEST_F(MetaToolTest, ACommonStateThatIsNoDictIsAWarning) {
  pickle::Graph graph;
  const pickle::Ref root = graph.NewInt(3);
  SaveCommon(graph, root);
  const json::Value document = Document();
  EXPECT_TRUE(ErrorHas("[common.not_a_dict]")) << error_;
  EXPECT_TRUE(StateOf(document).is_null());
  EXPECT_EQ(document.AsObject()->Find("tensors")->AsArray()->size(), 1u);
}

TEST_F(MetaToolTest, AnObjectThatCannotBeReadIsSaidInItsRow) {
  builder_.AddObject("iteration", "no pickle", "__0_0.distcp");
  Save({"w"});
  EXPECT_NE(Run({"--table"}).find("<not readable: torchsave."), std::string::npos);
  const std::string globals = Run({"--show-globals"});
  EXPECT_TRUE(ErrorHas("[meta.unread_objects]")) << error_;
  EXPECT_TRUE(ErrorHas("[torchsave.")) << error_;
}

TEST_F(MetaToolTest, ExtraStatesAreCountedUnlessAskedFor) {
  for (const char* name : {"a._extra_state/shard_0_2", "a._extra_state/shard_1_2"})
    builder_.AddObject(name, checkpoint::SavedIteration(1, checkpoint::InList::kYes), "__0_0.distcp");
  Save({"a.weight", "b._extra_state"});
  const std::string collapsed = Run({"--table"});
  EXPECT_NE(collapsed.find("and 2 _extra_state objects, "), std::string::npos) << collapsed;
  EXPECT_NE(collapsed.find("and 1 _extra_state tensor, 2 B"), std::string::npos) << collapsed;
  EXPECT_EQ(collapsed.find("shard_0_2"), std::string::npos);
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--table", "--objects"}, {"--table", "--include", "*_extra_state*"}}) {
    const std::string all = Run(options);
    EXPECT_NE(all.find("shard_0_2"), std::string::npos) << all;
    EXPECT_NE(all.find("{'iteration': 1}"), std::string::npos) << all;
    EXPECT_NE(all.find("b._extra_state"), std::string::npos) << all;
    EXPECT_EQ(all.find("and 2"), std::string::npos) << all;
  }
}

}  // namespace
}  // namespace ck::meta
