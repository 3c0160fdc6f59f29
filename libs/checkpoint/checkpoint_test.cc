// What is refused, and how it is named.
#include "libs/checkpoint/checkpoint.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/data_files.h"
#include "libs/checkpoint/testing/dcp_builder.h"
#include "libs/checkpoint/testing/whole_tensor.h"
#include "libs/fs/test_directory.h"
#include "libs/safetensors/header.h"

namespace ck::checkpoint {
namespace {

namespace files = std::filesystem;

// "id: message" of what `act` throws, "" when it does not.
template <typename Act>
std::string Fault(Act act) {
  try {
    act();
    return "";
  } catch (const Error& error) {
    return Cat(error.id(), ": ", error.message());
  }
}

std::string OpenFault(const std::string& path) {
  return Fault([&] { Checkpoint::Open(path); });
}

void ExpectFault(const std::string& fault, const std::string& id, const std::string& part, const std::string& what) {
  EXPECT_TRUE(StartsWith(fault, id + ": ")) << what << ": " << fault;
  EXPECT_NE(fault.find(part), std::string::npos) << what << ": " << fault;
}

const std::string kSix(24, '\x01');  // six floats

DcpBuilder TwoFiles() {
  DcpBuilder builder;
  builder.AddTensor("decoder.a", DType::kF32, {2, 3}, kSix, "__0_0.distcp");
  builder.AddTensor("decoder.b", DType::kF32, {6}, kSix, "__1_0.distcp");
  builder.AddTensor("decoder.c", DType::kF32, {3, 2}, kSix, "__1_0.distcp");
  return builder;
}

TEST(Open, MetadataJson) {
  struct Case {
    const char* content;
    const char* id;    // "" when it opens
    const char* part;  // of the message
  };
  const Case cases[] = {
      {R"({"sharded_backend":"torch_dist","sharded_backend_version":1})", "", ""},
      {R"({"sharded_backend":"torch_dist","sharded_backend_version":1,"common_backend":"torch"})", "", ""},
      {R"({"sharded_backend":"torch_dist","sharded_backend_version":1,"later":{"x":[1]}})", "", ""},
      {R"({"sharded_backend":"torch_dist"})", "", ""},
      {R"({"sharded_backend":"torch_dist","sharded_backend_version":99})", "checkpoint.unsupported_format",
       "torch_dist version 99"},
      {R"({"sharded_backend":"zarr","sharded_backend_version":1})", "checkpoint.unsupported_format", "zarr"},
      {R"({"sharded_backend":"mystery","sharded_backend_version":1})", "checkpoint.unsupported_format", "'mystery'"},
      {"", "checkpoint.bad_metadata_json", "metadata.json"},
      {"null", "checkpoint.bad_metadata_json", "sharded_backend"},
      {"[]", "checkpoint.bad_metadata_json", "sharded_backend"},
      {"{}", "checkpoint.bad_metadata_json", "sharded_backend"},
      {R"({"sharded_backend":7})", "checkpoint.bad_metadata_json", "sharded_backend"},
      {R"({"sharded_backend":"torch_dist",)", "checkpoint.bad_metadata_json", "metadata.json"},
  };
  for (const Case& c : cases) {
    const fs::TestDirectory directory;
    TwoFiles().Save(directory / "x");
    directory.Write("x/metadata.json", c.content);
    if (*c.id == '\0') {
      EXPECT_EQ(OpenFault(directory / "x"), "") << c.content;
      EXPECT_EQ(Checkpoint::Open(directory / "x")->format(), Format::kTorchDist);
    } else {
      ExpectFault(OpenFault(directory / "x"), c.id, c.part, c.content);
    }
  }
}

TEST(Open, OtherLayoutsAreNamed) {
  const fs::TestDirectory directory;
  directory.Write("legacy/mp_rank_00/model_optim_rng.pt", "x");
  ExpectFault(OpenFault(directory / "legacy"), "checkpoint.unsupported_format", "mp_rank", "mp_rank");
  files::create_directories(directory / "empty");
  ExpectFault(OpenFault(directory / "empty"), "checkpoint.not_found", "looked for metadata.json", "empty");
  ExpectFault(OpenFault(directory / "none"), "checkpoint.not_found", "no such directory", "absent");
  directory.Write("x.distcp", "x");
  ExpectFault(OpenFault(directory / "x.distcp"), "checkpoint.not_a_directory", "is a file", "a file");
  directory.Write("half/metadata.json", R"({"sharded_backend":"torch_dist","sharded_backend_version":1})");
  ExpectFault(OpenFault(directory / "half"), "checkpoint.no_metadata", ".metadata", "no .metadata");

  DcpBuilder fsdp2 = TwoFiles();
  fsdp2.AddObject("args", SavedArgs("torch_dcp"), "__0_0.distcp");
  fsdp2.Save(directory / "fsdp2");
  ExpectFault(OpenFault(directory / "fsdp2"), "checkpoint.unsupported_format", "torch_dcp", "torch_dcp");

  DcpBuilder megatron_fsdp = TwoFiles();
  megatron_fsdp.AddObject("args", SavedArgs("fsdp_dtensor"), "__0_0.distcp");
  megatron_fsdp.Save(directory / "fsdp");
  EXPECT_EQ(Checkpoint::Open(directory / "fsdp")->format(), Format::kFsdpDtensor);

  DcpBuilder plain = TwoFiles();
  plain.AddObject("args", "no torch.save at all", "__0_0.distcp");  // some program's own object
  plain.Save(directory / "plain");
  EXPECT_EQ(Checkpoint::Open(directory / "plain")->format(), Format::kDcp);
}

TEST(Locate, MissingAndShortFilesAreNamed) {
  const fs::TestDirectory directory;
  TwoFiles().Save(directory / "x");
  const auto whole = Checkpoint::Open(directory / "x");
  EXPECT_EQ(WholeTensor(*whole, *whole->FindTensor("decoder.b")), kSix);
  EXPECT_EQ(whole->FindTensor("decoder.d"), nullptr);

  files::resize_file(directory / "x/__1_0.distcp", 1600);  // behind b, inside c
  const auto cut = Checkpoint::Open(directory / "x");
  EXPECT_EQ(WholeTensor(*cut, *cut->FindTensor("decoder.b")), kSix);
  const dcp::Tensor& c = *cut->FindTensor("decoder.c");
  ExpectFault(Fault([&] { cut->Locate(c, c.chunks[0]); }), "checkpoint.short_file", "has 1600 bytes", "short");

  files::remove(directory / "x/__1_0.distcp");
  const auto gone = Checkpoint::Open(directory / "x");
  EXPECT_FALSE(gone->files()[1].size_bytes.has_value());
  const dcp::Tensor& b = *gone->FindTensor("decoder.b");
  ExpectFault(Fault([&] { gone->Locate(b, b.chunks[0]); }), "checkpoint.missing_file", "'__1_0.distcp' is missing",
              "missing");
}

TEST(Locate, AnItemMustBeWhatTheMetadataSays) {
  struct Case {
    const char* what;
    void (*change)(dcp::Tensor&);
    const char* part;
  };
  const Case cases[] = {
      {"dtype", [](dcp::Tensor& tensor) { tensor.dtype = DType::kI32; },
       "the item is F32 [2, 3], the metadata says I32 [2, 3]"},
      {"shape",
       [](dcp::Tensor& tensor) {
         tensor.shape = {3, 2};
         tensor.chunks[0].box = Box::Whole({3, 2});
       },
       "the item is F32 [2, 3], the metadata says F32 [3, 2]"},
  };
  for (const Case& c : cases) {
    const fs::TestDirectory directory;
    DcpBuilder builder = TwoFiles();
    c.change(builder.metadata.tensors[0]);
    builder.Save(directory / "x");
    const auto checkpoint = Checkpoint::Open(directory / "x");
    const dcp::Tensor& tensor = checkpoint->tensors()[0];
    ExpectFault(Fault([&] { checkpoint->Locate(tensor, tensor.chunks[0]); }), "checkpoint.item_mismatch", c.part,
                c.what);
  }
}

// What torch.save writes for a lazy negative: the bytes are those of the positive.
std::string SavedNegativeView() {
  pickle::Graph graph;
  const auto ints = [&](int64_t a, int64_t b) { return graph.NewTuple({graph.NewInt(a), graph.NewInt(b)}); };
  const pickle::Ref storage =
      graph.NewPersistent(graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "FloatStorage"),
                                          graph.NewString("0"), graph.NewString("cpu"), graph.NewInt(6)}));
  const pickle::Ref hooks =
      graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("collections", "OrderedDict"), graph.NewTuple({}));
  const pickle::Ref metadata = graph.NewDict();
  graph.DictSet(metadata, "neg", graph.NewBool(true));
  const pickle::Ref arguments =
      graph.NewTuple({storage, graph.NewInt(0), ints(2, 3), ints(3, 1), graph.NewBool(false), hooks, metadata});
  const pickle::Ref tensor =
      graph.NewObject(pickle::Form::kReduce, graph.NewGlobal("torch._utils", "_rebuild_tensor_v2"), arguments);
  return torchsave::WriteObject(graph, tensor, "archive", [](const std::string&) { return kSix; });
}

TEST(Locate, ALazyNegativeIsRefused) {
  const fs::TestDirectory directory;
  DcpBuilder builder = TwoFiles();
  builder.AddObject("decoder.n", SavedNegativeView(), "__0_0.distcp");
  const dcp::Item item = builder.metadata.objects[0].item;
  builder.metadata.objects.clear();
  builder.metadata.tensors.push_back(
      {.name = "decoder.n", .dtype = DType::kF32, .shape = {2, 3}, .chunks = {{Box::Whole({2, 3}), item}}});
  builder.Save(directory / "x");
  const auto checkpoint = Checkpoint::Open(directory / "x");
  const dcp::Tensor& tensor = *checkpoint->FindTensor("decoder.n");
  ExpectFault(Fault([&] { checkpoint->Locate(tensor, tensor.chunks[0]); }), "checkpoint.unresolved_view",
              "negative view", "neg");
}

// Opens, checks, and reads everything that can be located. Anything but ck::Error ends the test.
void ReadAllOf(const std::string& path) {
  try {
    const auto checkpoint = Checkpoint::Open(path);
    Describe(CheckDataFiles(*checkpoint), *checkpoint);
    for (const dcp::Tensor& tensor : checkpoint->tensors()) {
      for (const dcp::Chunk& chunk : tensor.chunks) {
        const LocatedChunk located = checkpoint->Locate(tensor, chunk);
        uint64_t last = located.data_offset;
        for (size_t d = 0; d < located.shape.size(); ++d) {
          if (located.shape[d] == 0) return;
          last += located.strides[d] * (located.shape[d] - 1) * ElementSize(tensor.dtype);
        }
        // The contract of Locate: every element lies in the source.
        EXPECT_EQ(located.source->Read(last, ElementSize(tensor.dtype), 64).size(), ElementSize(tensor.dtype));
      }
    }
    for (const dcp::Object& object : checkpoint->objects()) checkpoint->ReadObject(object);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput) << error.message();
    EXPECT_NE(error.id(), "bytes.out_of_range") << error.message();
  }
}

TEST(Hostile, ChangedBytesGiveErrorsOrOtherValuesNeverACrash) {
  const fs::TestDirectory directory;
  DcpBuilder builder;
  builder.AddTensor("decoder.a", DType::kF32, {2, 3}, kSix, "__0_0.distcp");
  builder.AddObject("decoder.o", SavedIteration(1, InList::kNo), "__0_0.distcp");
  builder.Save(directory / "x");
  for (const std::string name : {"x/.metadata", "x/__0_0.distcp"}) {
    const std::string whole = fs::ReadAll(directory / name);
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      directory.Write(name, changed);
      ReadAllOf(directory / "x");
    }
    directory.Write(name, whole);
  }
  EXPECT_EQ(OpenFault(directory / "x"), "");
}

TEST(Hostile, NoBeginningOfTheMetadataOpens) {
  const fs::TestDirectory directory;
  TwoFiles().Save(directory / "x");
  const std::string whole = fs::ReadAll(directory / "x/.metadata");
  for (size_t size = 0; size < whole.size(); ++size) {
    directory.Write("x/.metadata", whole.substr(0, size));
    EXPECT_NE(OpenFault(directory / "x"), "") << size << " of " << whole.size() << " bytes";
  }
}

TEST(DataFiles, EveryMissingAndShortFileWithItsKeys) {
  const fs::TestDirectory directory;
  TwoFiles().Save(directory / "x");
  const auto describe = [&] {
    const auto checkpoint = Checkpoint::Open(directory / "x");
    return Describe(CheckDataFiles(*checkpoint), *checkpoint);
  };
  EXPECT_EQ(describe(), "");
  files::resize_file(directory / "x/__0_0.distcp", 0);
  EXPECT_EQ(describe(),
            "1 short of 2 data files, 33% of the bytes: '__0_0.distcp' has 0 bytes, needs 1577 (lost: 1577 bytes of 1 "
            "key: 'decoder.a')");
  files::remove(directory / "x/__1_0.distcp");
  EXPECT_EQ(describe(),
            "1 missing and 1 short of 2 data files, 100% of the bytes (on another node's disk?): '__0_0.distcp' has 0 "
            "bytes, needs 1577 "
            "(lost: 1577 bytes of 1 key: 'decoder.a'); '__1_0.distcp' is missing (3154 bytes of 2 keys: 'decoder.b', "
            "'decoder.c')");
}

// ---- safetensors directories

std::string SafetensorsFile(const std::vector<std::string>& names) {
  std::vector<safetensors::Tensor> tensors, placed;
  for (const std::string& name : names)
    tensors.push_back({.name = name, .dtype = DType::kF32, .shape = {6}, .begin = 0, .end = 0});
  std::string bytes = safetensors::WriteHeader(tensors, {}, placed);
  for (size_t i = 0; i < names.size(); ++i) bytes += kSix;
  return bytes;
}

std::string IndexOf(const std::vector<std::pair<std::string, std::string>>& map) {
  safetensors::Index index;
  for (const auto& [tensor, file] : map) index.weight_map[tensor] = file;
  return safetensors::WriteIndex(index);
}

TEST(Safetensors, IndexAndHeadersMustAgree) {
  struct Case {
    const char* what;
    std::vector<std::pair<std::string, std::vector<std::string>>> files;  // name -> tensors
    std::vector<std::pair<std::string, std::string>> index;               // empty: none
    const char* id;                                                       // "" when it opens
    const char* part;                                                     // of the message, or of the one note
  };
  const std::string one = "model-00001-of-00002.safetensors", two = "model-00002-of-00002.safetensors";
  const Case cases[] = {
      {"sound", {{one, {"a"}}, {two, {"b"}}}, {{"a", one}, {"b", two}}, "", ""},
      {"ghost entry",
       {{one, {"a"}}, {two, {"b"}}},
       {{"a", one}, {"b", two}, {"c", two}},
       "safetensors.index_ghost",
       "'c'"},
      {"another file", {{one, {"a"}}, {two, {"b"}}}, {{"a", two}, {"b", one}}, "safetensors.index_ghost", "'a'"},
      {"in two files",
       {{one, {"a"}}, {two, {"a", "b"}}},
       {{"a", one}, {"b", two}},
       "safetensors.duplicate_tensor",
       "'a'"},
      {"a missing file",
       {{one, {"a"}}},
       {{"a", one}, {"b", two}},
       "safetensors.index_missing_file",
       "1 of them are missing: "
       "model-00002-of-00002.safetensors"},
      {"not in the index", {{one, {"a", "x"}}, {two, {"b"}}}, {{"a", one}, {"b", two}}, "", "'x'"},
      {"a file beside",
       {{one, {"a"}}, {two, {"b"}}, {"extra.safetensors", {"a"}}},
       {{"a", one}, {"b", two}},
       "",
       "'extra.safetensors'"},
      {"single file and index", {{"model.safetensors", {"z"}}, {one, {"a"}}}, {{"a", one}}, "", "'model.safetensors'"},
      {"no index", {{one, {"a"}}, {two, {"b"}}}, {}, "safetensors.no_index", "2 .safetensors files"},
      {"only file", {{"weights.safetensors", {"a"}}}, {}, "", ""},
  };
  for (const Case& c : cases) {
    const fs::TestDirectory directory;
    for (const auto& [name, tensors] : c.files) directory.Write(name, SafetensorsFile(tensors));
    if (!c.index.empty()) directory.Write("model.safetensors.index.json", IndexOf(c.index));
    if (*c.id != '\0') {
      ExpectFault(OpenFault(directory.path()), c.id, c.part, c.what);
      continue;
    }
    ASSERT_EQ(OpenFault(directory.path()), "") << c.what;
    const auto checkpoint = Checkpoint::Open(directory.path());
    EXPECT_EQ(WholeTensor(*checkpoint, *checkpoint->FindTensor("a")), kSix) << c.what;
    const std::vector<std::string>& notes = checkpoint->metadata().notes;
    ASSERT_EQ(notes.size(), *c.part == '\0' ? 0u : 1u) << c.what;
    if (notes.empty()) continue;
    EXPECT_NE(notes[0].find(c.part), std::string::npos) << c.what << ": " << notes[0];
  }
}

TEST(Safetensors, AShortFileSaysBothNumbers) {
  const fs::TestDirectory directory;
  directory.Write("model.safetensors", SafetensorsFile({"a", "b"}));
  files::resize_file(directory / "model.safetensors", files::file_size(directory / "model.safetensors") - 24);
  ExpectFault(OpenFault(directory.path()), "safetensors.truncated", "model.safetensors", "truncated");
}

}  // namespace
}  // namespace ck::checkpoint
