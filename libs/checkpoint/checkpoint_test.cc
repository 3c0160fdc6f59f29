// What is refused, and how it is named.
#include "libs/checkpoint/checkpoint.h"

#include <filesystem>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/common_state.h"
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
      {R"({"sharded_backend":"torch_dist","sharded_backend_version":1,"common_backend":"torch"})",
       "", ""},
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

// ---- common state

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
    DcpBuilder builder = TwoFiles();
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
    DcpBuilder builder = TwoFiles();
    if (!c.key.empty()) builder.AddObject(c.key, c.object, "__0_0.distcp");
    builder.Save(directory / "x");
    if (!c.file.empty()) directory.Write("x/common.pt", c.file);
    const auto checkpoint = Checkpoint::Open(directory / "x");
    ExpectFault(Fault([&] { ReadCommonState(*checkpoint); }), c.id, "", c.what);
  }
}

}  // namespace
}  // namespace ck::checkpoint
