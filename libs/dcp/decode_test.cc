#include <functional>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/dcp/metadata.h"
#include "libs/dcp/testing/metadata_builder.h"

namespace ck::dcp {
namespace {

using pickle::Form;
using pickle::Graph;
using pickle::Ref;

const char kFile[] = "__0_0.distcp";

// The error of decoding, {} when there is none.
struct Fault {
  std::string id, message;
};

Fault FaultOf(const std::string& pickle) {
  try {
    DecodeMetadata(pickle);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput) << error.message();
    return {error.id(), error.message()};
  }
  return {};
}

// A tensor 'w' of [5, 3] in two chunks and an object 'o', with their items.
struct Sample {
  explicit Sample(const MetadataBuilder::Options& options = {}) : builder(options) {
    tensor = builder.AddTensor("w", "bfloat16", {5, 3}, {{{2, 0}, {3, 3}}, {{0, 0}, {2, 3}}});
    object = builder.AddObject("o");
    object_item = builder.AddItem("o", std::nullopt, kFile, 0, 7);
    late_item = builder.AddItem("w", Dims{2, 0}, "__1_0.distcp", uint64_t{5} << 32, 99);
    early_item = builder.AddItem("w", Dims{0, 0}, kFile, 7, 66);
  }
  Graph& graph() { return builder.graph(); }
  Ref chunks() { return graph().Attribute(tensor, "chunks"); }

  MetadataBuilder builder;
  Ref tensor, object;
  MetadataBuilder::ItemNodes object_item, early_item, late_item;
};

Metadata SampleMetadata() {
  Metadata expected;
  expected.tensors = {{"w", DType::kBF16, {5, 3}, {{{{0, 0}, {2, 3}}, {0, 7, 66}}, {{{2, 0}, {3, 3}}, {1, uint64_t{5} << 32, 99}}}}};
  expected.objects = {{"o", {0, 0, 7}}};
  expected.files = {kFile, "__1_0.distcp"};
  return expected;
}

TEST(DecodeMetadata, ReadsEverySpelling) {
  for (const Spelling spelling : {Spelling::kTorch23, Spelling::kTorch20, Spelling::kTorch112, Spelling::kMegatron015}) {
    for (const SizeForm sizes : {SizeForm::kTorchSize, SizeForm::kTuple, SizeForm::kList}) {
      for (const EnumForm enums : {EnumForm::kValue, EnumForm::kGetattr, EnumForm::kGetattrPython2}) {
        for (const pickle::Protocol protocol : {pickle::Protocol::k2, pickle::Protocol::k4}) {
          Sample sample({spelling, sizes, enums});
          EXPECT_EQ(DecodeMetadata(sample.builder.Build(protocol)), SampleMetadata())
              << static_cast<int>(spelling) << static_cast<int>(sizes) << static_cast<int>(enums) << static_cast<int>(protocol);
        }
      }
    }
  }
}

TEST(DecodeMetadata, IgnoresTheIndexHint) {
  Sample sample;
  sample.graph().SetAttribute(sample.early_item.index, "index", sample.graph().NewInt(1));
  sample.graph().SetAttribute(sample.late_item.index, "index", sample.graph().NewInt(0));
  EXPECT_EQ(DecodeMetadata(sample.builder.Build()), SampleMetadata());
}

TEST(DecodeMetadata, AnOffsetOfNoneIsNone) {
  Sample sample;
  sample.graph().SetAttribute(sample.object_item.index, "offset", sample.graph().NewNone());
  EXPECT_EQ(DecodeMetadata(sample.builder.Build()), SampleMetadata());
}

TEST(DecodeMetadata, ReadsScalarsAndEmptyTensors) {
  MetadataBuilder builder;
  builder.AddTensor("scalar", "float64", {}, {{{}, {}}});
  builder.AddTensor("empty", "int8", {0, 4}, {{{0, 0}, {0, 4}}});
  builder.AddTensor("nowhere", "int8", {4, 0}, {});
  builder.AddItem("scalar", Dims{}, kFile, 0, 5);
  const Metadata metadata = DecodeMetadata(builder.Build());
  ASSERT_EQ(metadata.tensors.size(), 3U);
  EXPECT_EQ(metadata.tensors[0], (Tensor{"empty", DType::kI8, {0, 4}, {{{{0, 0}, {0, 4}}, {0, 0, 0}}}}));
  EXPECT_EQ(metadata.tensors[1], (Tensor{"nowhere", DType::kI8, {4, 0}, {}}));
  EXPECT_EQ(metadata.tensors[2], (Tensor{"scalar", DType::kF64, {}, {{{{}, {}}, {0, 0, 5}}}}));
}

TEST(DecodeMetadata, EmptyChunksMayRepeatAndShareAnOffset) {
  MetadataBuilder builder;
  builder.AddTensor("w", "uint8", {3}, {{{0}, {0}}, {{3}, {0}}, {{0}, {3}}, {{3}, {0}}});
  builder.AddItem("w", Dims{0}, kFile, 0, 9);
  builder.AddItem("w", Dims{3}, kFile, 9, 8);
  const Metadata metadata = DecodeMetadata(builder.Build());
  EXPECT_EQ(metadata.tensors.at(0).chunks, (std::vector<Chunk>{{{{0}, {3}}, {0, 0, 9}}, {{{3}, {0}}, {0, 9, 8}}}));
}

TEST(DecodeMetadata, SortsFilesAndKeepsTransforms) {
  MetadataBuilder builder;
  builder.AddObject("a");
  builder.AddObject("b");
  const auto a = builder.AddItem("a", std::nullopt, "z.distcp", 3, 4);
  builder.AddItem("b", std::nullopt, "y.distcp", 5, 6);
  Graph& graph = builder.graph();
  graph.SetAttribute(a.info, "transform_descriptors", graph.NewList({graph.NewString("stream.zstd/1"), graph.NewString("x")}));
  const Metadata metadata = DecodeMetadata(builder.Build());
  EXPECT_EQ(metadata.files, (std::vector<std::string>{"y.distcp", "z.distcp"}));
  EXPECT_EQ(metadata.objects, (std::vector<Object>{{"a", {1, 3, 4}}, {"b", {0, 5, 6}}}));
  ASSERT_EQ(metadata.transforms.size(), 1U);
  EXPECT_EQ(metadata.transforms.at({1, 3}), (std::vector<std::string>{"stream.zstd/1", "x"}));
}

TEST(DecodeMetadata, ReadsPlannerDataAndMegatronsShapes) {
  Sample sample;
  Graph& graph = sample.graph();
  const Ref planner_data = graph.NewDict();
  graph.DictSet(planner_data, "w", graph.NewTuple({graph.NewString("a.b"), graph.NewInt(0), graph.NewString("0")}));
  sample.builder.Set("planner_data", planner_data);
  const Ref mcore_data = graph.NewDict();
  const Ref entry = graph.NewDict();
  graph.DictSet(entry, "nd_reformulated_orig_global_shape", graph.NewTuple({graph.NewInt(3), graph.NewInt(5)}));
  graph.DictSet(mcore_data, "w", entry);
  graph.DictSet(mcore_data, "o", graph.NewDict());
  sample.builder.Set("mcore_data", mcore_data);
  sample.builder.Set("version", graph.NewString("1.0.0"));
  Metadata expected = SampleMetadata();
  expected.planner_data = {{"w", {std::string("a.b"), int64_t{0}, std::string("0")}}};
  expected.original_shapes = {{"w", {3, 5}}};
  expected.version = "1.0.0";
  EXPECT_EQ(DecodeMetadata(sample.builder.Build()), expected);
}

TEST(DecodeMetadata, OptionalAttributesMayBeNoneOrAnything) {
  Sample sample;
  Graph& graph = sample.graph();
  for (const char* name : {"planner_data", "mcore_data", "version", "storage_meta", "all_local_plans"}) {
    sample.builder.Set(name, graph.NewNone());
  }
  EXPECT_EQ(DecodeMetadata(sample.builder.Build()), SampleMetadata());
  const Ref meta = sample.builder.NewObject("torch.distributed.checkpoint.metadata", "StorageMeta");
  const Ref parts = graph.NewTuple({graph.NewString("/"), graph.NewString("ck")});
  graph.SetAttribute(meta, "checkpoint_id", graph.NewObject(Form::kReduce, graph.NewGlobal("pathlib", "PosixPath"), parts));
  graph.SetAttribute(meta, "load_id", graph.NewString("x"));
  sample.builder.Set("storage_meta", meta);
  sample.builder.Set("version", graph.NewInt(2));
  EXPECT_EQ(DecodeMetadata(sample.builder.Build()), SampleMetadata());
}

TEST(DecodeMetadata, KeepsUnknownAttributesAsNames) {
  Sample sample;
  sample.builder.Set("future_field", sample.builder.NewObject("future.module", "Thing"));
  const Metadata metadata = DecodeMetadata(sample.builder.Build());
  EXPECT_EQ(metadata.unknown_attributes, (std::vector<std::string>{"future_field"}));
  EXPECT_EQ(metadata.unknown_globals, (std::vector<std::string>{"future.module.Thing"}));
  EXPECT_EQ(metadata.notes, (std::vector<std::string>{"ignored attribute 'future_field' of the metadata: ck does not know it"}));
  EXPECT_EQ(metadata.tensors, SampleMetadata().tensors);
}

TEST(DecodeMetadata, NotesAttributesOfNewerVersions) {
  Sample sample;
  sample.graph().SetAttribute(sample.late_item.info, "checksum", sample.graph().NewInt(1));
  sample.graph().SetAttribute(sample.early_item.info, "checksum", sample.graph().NewInt(2));
  EXPECT_EQ(DecodeMetadata(sample.builder.Build()).notes,
            (std::vector<std::string>{"ignored attribute 'checksum' of _StorageInfo: ck does not know it"}));
}

TEST(DecodeMetadata, NotesBytesAfterThePickle) {
  Sample sample;
  EXPECT_EQ(DecodeMetadata(sample.builder.Build() + "abc").notes, (std::vector<std::string>{"3 bytes follow the pickle"}));
}

struct Case {
  std::string id;
  std::string in_message;
  std::function<void(Sample&)> damage;
};

TEST(DecodeMetadata, NamesEachFault) {
  const auto set_chunk = [](std::string_view attribute, auto make) {
    return [=](Sample& s) { s.graph().SetAttribute(s.graph().items(s.chunks())[0], attribute, make(s)); };
  };
  const auto set_info = [](std::string_view attribute, auto make) {
    return [=](Sample& s) { s.graph().SetAttribute(s.late_item.info, attribute, make(s.graph())); };
  };
  const auto set_property = [](size_t place, auto make) {
    return [=](Sample& s) {
      const Ref properties = s.graph().Attribute(s.tensor, "properties");
      const auto old = s.graph().items(s.graph().state(properties));
      std::vector<Ref> members(old.begin(), old.end());
      members[place] = make(s.graph());
      s.graph().SetState(properties, s.graph().NewTuple(members));
    };
  };
  const auto text = [](const char* value) { return [=](Graph& g) { return g.NewString(value); }; };
  const auto number = [](int64_t value) { return [=](Graph& g) { return g.NewInt(value); }; };
  const auto call = [](const char* module, const char* name, const char* argument) {
    return [=](Graph& g) { return g.NewObject(Form::kReduce, g.NewGlobal(module, name), g.NewTuple({g.NewString(argument)})); };
  };
  const auto get_attribute = [](const char* module, const char* name, const char* attribute) {
    return [=](Graph& g) {
      const Ref args = g.NewTuple({g.NewGlobal(module, name), g.NewString(attribute)});
      return g.NewObject(Form::kReduce, g.NewGlobal("builtins", "getattr"), args);
    };
  };
  const std::string metadata_module = "torch.distributed.checkpoint.metadata";
  const Case cases[] = {
      // Items and chunks.
      {"dcp.item_without_chunk", "'v'", [](Sample& s) { s.builder.AddItem("v", Dims{0}, kFile, 0, 1); }},
      {"dcp.item_without_chunk", "[1, 0]", [](Sample& s) { s.builder.AddItem("w", Dims{1, 0}, kFile, 0, 1); }},
      {"dcp.item_without_chunk", "'w'", [](Sample& s) { s.builder.AddItem("w", Dims{0}, kFile, 0, 1); }},
      {"dcp.item_without_chunk", "'w'", [](Sample& s) { s.builder.AddItem("w", std::nullopt, kFile, 0, 1); }},
      {"dcp.item_without_chunk", "'o'", [](Sample& s) { s.builder.AddItem("o", Dims{}, kFile, 0, 1); }},
      {"dcp.duplicate_item", "[0, 0]", [](Sample& s) { s.builder.AddItem("w", Dims{0, 0}, kFile, 0, 1); }},
      {"dcp.duplicate_item", "'o'", [](Sample& s) { s.builder.AddItem("o", std::nullopt, kFile, 0, 1); }},
      {"dcp.duplicate_item", "'u'", [](Sample& s) { s.builder.AddTensor("u", "int8", {3}, {{{0}, {2}}, {{0}, {3}}}); }},
      {"dcp.chunk_without_item", "[0, 2] + [3, 1]", [](Sample& s) { s.builder.AddTensor("x", "int8", {3, 3}, {{{0, 2}, {3, 1}}}); }},
      {"dcp.chunk_without_item", "'p'", [](Sample& s) { s.builder.AddObject("p"); }},
      {"dcp.chunk_without_item", "'o'", [](Sample& s) { s.builder.Set("storage_data", s.graph().NewNone()); }},
      // Numbers.
      {"dcp.bad_metadata", "-1", set_info("offset", number(-1))},
      {"dcp.bad_metadata", "-2", set_info("length", number(-2))},
      {"dcp.bad_metadata", "a str", set_info("length", text("9"))},
      {"dcp.bad_metadata", "beyond 64 bits", set_info("offset", [](Graph& g) { return g.NewBigInt(std::string(9, '\x7f')); })},
      {"dcp.bad_metadata", "a bool", set_info("offset", [](Graph& g) { return g.NewBool(true); })},
      {"dcp.bad_metadata", "'w'", set_chunk("sizes", [](Sample& s) { return s.builder.NewSize({3}); })},
      {"dcp.bad_metadata", "'w'", set_chunk("offsets", [](Sample& s) { return s.builder.NewSize({0, 0, 0}); })},
      {"dcp.bad_metadata", "-9223372036854775808", set_chunk("offsets", [](Sample& s) { return s.builder.NewSize({0, uint64_t{1} << 63}); })},
      {"dcp.bad_metadata", "65 dimensions", [](Sample& s) { s.builder.AddTensor("x", "int8", Dims(65, 1), {}); }},
      {"dcp.bad_metadata", "2^64-1 bytes", [](Sample& s) { s.builder.AddTensor("x", "float32", Dims(2, uint64_t{1} << 31), {}); }},
      // Paths.
      {"dcp.unsafe_path", "'w'", set_info("relative_path", text("../../x.distcp"))},
      {"dcp.unsafe_path", "'w'", set_info("relative_path", text("/etc/passwd"))},
      {"dcp.unsafe_path", "'w'", set_info("relative_path", text(""))},
      {"dcp.unsafe_path", "'w'", set_info("relative_path", text(".."))},
      {"dcp.unsafe_path", "'w'", set_info("relative_path", text("a\nb"))},
      {"dcp.bad_metadata", "relative_path is nothing", set_info("relative_path", [](Graph& g) { return g.NewNone(); })},
      {"dcp.bad_metadata", "transform", set_info("transform_descriptors", number(1))},
      // Properties.
      {"dcp.unknown_dtype", "'torch.quint8'", set_property(0, [](Graph& g) { return g.NewGlobal("torch", "quint8"); })},
      {"dcp.bad_metadata", "'os.system'", set_property(0, [](Graph& g) { return g.NewGlobal("os", "system"); })},
      {"dcp.bad_metadata", "'os.system'", set_property(1, call("os", "system", "torch.strided"))},
      {"dcp.bad_metadata", "layout", set_property(1, call("torch.serialization", "_get_layout", "torch.sparse_coo"))},
      {"dcp.bad_metadata", "'os.system'", set_property(2, call("os", "system", "x"))},
      {"dcp.bad_metadata", "memory format", set_property(3, number(3))},
      {"dcp.bad_metadata", "'builtins.getattr'", set_property(3, get_attribute(metadata_module.c_str(), "Metadata", "__reduce__"))},
      {"dcp.bad_metadata", "'builtins.getattr'", set_property(3, get_attribute(metadata_module.c_str(), "_MEM_FORMAT_ENCODING", "__class__"))},
      {"dcp.bad_metadata", "pin_memory", set_property(4, text("x"))},
      // Classes.
      {"dcp.bad_metadata", "'evil.Thing'", [](Sample& s) { s.graph().SetAttribute(s.late_item.info, "x", s.builder.NewObject("evil", "Thing")); }},
      {"dcp.bad_metadata", "'evil.Thing'", [](Sample& s) { s.graph().SetAttribute(s.tensor, "size", s.builder.NewObject("evil", "Thing")); }},
      {"dcp.bad_metadata", "'w'", [](Sample& s) { s.graph().SetAttribute(s.tensor, "chunks", s.graph().NewNone()); }},
      {"dcp.bad_metadata", "a list", [](Sample& s) { s.builder.Set("state_dict_metadata", s.graph().NewList({})); }},
      {"dcp.bad_metadata", "a list", [](Sample& s) { s.builder.Set("storage_data", s.graph().NewList({})); }},
      {"dcp.bad_metadata", "planner_data", [](Sample& s) { s.builder.Set("planner_data", s.graph().NewInt(1)); }},
      {"dcp.bad_metadata", "mcore_data", [](Sample& s) { s.builder.Set("mcore_data", s.graph().NewInt(1)); }},
      {"dcp.bad_metadata", "nothing", [](Sample& s) { s.graph().DictErase(s.graph().state(s.builder.root()), "state_dict_metadata"); }},
  };
  for (const Case& test : cases) {
    Sample sample;
    test.damage(sample);
    const Fault fault = FaultOf(sample.builder.Build());
    EXPECT_EQ(fault.id, test.id) << fault.message;
    EXPECT_NE(fault.message.find(test.in_message), std::string::npos) << fault.message << "\nlacks " << test.in_message;
  }
}

// A list of 10,000 chunks that 10,000 tensors share: some 200 kB that would unfold to 10^8 chunks.
TEST(DecodeMetadata, BoundsWhatSharedPartsUnfoldTo) {
  std::vector<Box> rows;
  for (uint64_t row = 0; row < 10'000; ++row) rows.push_back({{row}, {1}});
  MetadataBuilder builder;
  const Ref tensor = builder.AddTensor("w", "int8", {10'000}, rows);
  const Ref names = builder.graph().Attribute(builder.root(), "state_dict_metadata");
  for (int i = 0; i < 10'000; ++i) builder.graph().DictSet(names, std::to_string(i), tensor);
  const Fault fault = FaultOf(builder.Build());
  EXPECT_EQ(fault.id, "dcp.bad_metadata");
  EXPECT_NE(fault.message.find("again and again"), std::string::npos) << fault.message;
}

TEST(DecodeMetadata, BoundsSharedPaths) {
  Sample sample;
  Graph& graph = sample.graph();
  const Ref path = graph.NewTuple(std::vector<Ref>(10'000, graph.NewString(std::string(1'000, 'x'))));
  const Ref planner_data = graph.NewDict();
  for (int i = 0; i < 1'000; ++i) graph.DictSet(planner_data, std::to_string(i), path);
  sample.builder.Set("planner_data", planner_data);
  const Fault fault = FaultOf(sample.builder.Build());
  EXPECT_EQ(fault.id, "dcp.bad_metadata");
  EXPECT_NE(fault.message.find("again and again"), std::string::npos) << fault.message;
}

TEST(DecodeMetadata, RefusesOtherPickles) {
  Graph graph;
  const auto id = [&](Ref root) { return FaultOf(pickle::Pickle(graph, root, pickle::Protocol::k4)).id; };
  EXPECT_EQ(id(graph.NewNone()), "dcp.not_metadata");
  EXPECT_EQ(id(graph.NewDict()), "dcp.not_metadata");
  EXPECT_EQ(id(graph.NewGlobal("torch.distributed.checkpoint.metadata", "Metadata")), "dcp.not_metadata");
  EXPECT_EQ(id(graph.NewObject(Form::kReduce, graph.NewGlobal("os", "system"), graph.NewTuple({}))), "dcp.not_metadata");
}

TEST(DecodeMetadata, RefusesEveryPrefix) {
  for (const pickle::Protocol protocol : {pickle::Protocol::k2, pickle::Protocol::k4}) {
    const std::string whole = Sample().builder.Build(protocol);
    EXPECT_EQ(FaultOf(whole).id, "");
    for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(FaultOf(whole.substr(0, length)).id, "") << length;
  }
}

TEST(DecodeMetadata, SurvivesFlippedBits) {
  for (const pickle::Protocol protocol : {pickle::Protocol::k2, pickle::Protocol::k4}) {
    const std::string whole = Sample().builder.Build(protocol);
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string broken = whole;
      broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
      FaultOf(broken);
    }
    std::mt19937 random(3);
    for (size_t round = 0; round < 2000; ++round) {
      std::string broken = whole;
      for (size_t i = 0; i < 1 + round % 16; ++i) broken[random() % whole.size()] = static_cast<char>(random());
      FaultOf(broken);
    }
  }
}

}  // namespace
}  // namespace ck::dcp
