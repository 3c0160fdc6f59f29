#include <algorithm>
#include <filesystem>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/pickle/graph.h"
#include "libs/pickle/testing/same_graph.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/testing/fixtures.h"
#include "libs/torchsave/write.h"
#include "libs/zip/archive.h"

namespace ck::torchsave {
namespace {

using pickle::Form;
using pickle::Graph;
using pickle::Ref;

SavedObject Read(const std::string& file) {
  return ReadObject(bytes::StringSource(file));
}

std::string BytesOf(const std::string& file, const Storage& storage) {
  return file.substr(storage.offset, storage.size_bytes);
}

std::string Rewrite(const std::string& file, const std::string& root_name) {
  const SavedObject object = Read(file);
  return WriteObject(object.graph, object.root, root_name,
                     [&](const std::string& key) { return BytesOf(file, *object.FindStorage(key)); });
}

std::vector<std::string> CommonStates() {
  std::vector<std::string> files = {"t113_common.pt", "t26_common.pt", "t214_common.pt", "mcore_0153_t26/common.pt"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator("testdata/fixtures/megatron")) {
    if (entry.path().filename() == "common.pt")
      files.push_back(std::filesystem::relative(entry.path(), "testdata/fixtures").string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(WriteObject, CommonStatesRoundTrip) {
  size_t with_storages = 0;
  const std::vector<std::string> files = CommonStates();
  for (const std::string& name : files) {
    const std::string file = testing::Fixture(name);
    const std::string again = Rewrite(file, "common");
    const SavedObject before = Read(file), after = Read(again);
    EXPECT_EQ(pickle::Difference(before.graph, before.root, after.graph, after.root), "") << name;
    EXPECT_EQ(after.root_name, "common");
    ASSERT_EQ(after.storages.size(), before.storages.size()) << name;
    for (size_t i = 0; i < before.storages.size(); ++i) {
      EXPECT_EQ(after.storages[i].key, before.storages[i].key);
      EXPECT_EQ(BytesOf(again, after.storages[i]), BytesOf(file, before.storages[i])) << name;
    }
    EXPECT_EQ(Rewrite(again, "common"), again) << name << ": writing is deterministic";
    with_storages += !before.storages.empty();
  }
  EXPECT_GE(files.size(), 30u);
  EXPECT_GE(with_storages, 3u);
}

// The optimizer's step count is a tensor without dimensions inside common.pt.
TEST(WriteObject, AScalarTensorSurvives) {
  const std::string file = testing::Fixture("megatron/full_nodistopt/ckpt/iter_0000010/common.pt");
  const std::string again = Rewrite(file, "common");
  const SavedObject before = Read(file), after = Read(again);
  size_t scalars = 0;
  for (Ref ref = 0; ref < after.graph.size(); ++ref) {
    const auto view = AsTensor(after, ref);
    if (!view || !view->shape.empty()) continue;
    EXPECT_EQ(view->dtype, DType::kF32);
    EXPECT_EQ(BytesOf(again, view->storage), BytesOf(file, *before.FindStorage(view->storage.key)));
    EXPECT_EQ(view->storage.size_bytes, 4u);
    ++scalars;
  }
  EXPECT_GE(scalars, 1u);
}

TEST(WriteObject, RecordsStandInTheOrderOfTorch) {
  Graph graph;
  const auto storage = [&](const char* key, int64_t elements) {
    return graph.NewPersistent(graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "ShortStorage"),
                                               graph.NewString(key), graph.NewString("cpu"), graph.NewInt(elements)}));
  };
  // Used in the order 10, 2, 7; "2" twice.
  const Ref two = storage("2", 2);
  const Ref root = graph.NewDict();
  graph.DictSet(root, "a", graph.NewTuple({storage("10", 1), two}));
  const Ref call = graph.NewObject(Form::kReduce, graph.NewGlobal("a", "b"), graph.NewTuple({two}));
  graph.SetState(call, storage("7", 0));
  graph.DictSet(root, "b", call);

  std::vector<std::string> asked;
  const std::string file = WriteObject(graph, root, "archive", [&](const std::string& key) {
    asked.push_back(key);
    return std::string(key == "10" ? "xy" : key == "2" ? "abcd" : "");
  });
  EXPECT_EQ(asked, (std::vector<std::string>{"10", "2", "7"}));
  std::vector<std::string> names;
  for (const zip::Record& record : zip::ReadArchive(bytes::StringSource(file)).records) names.push_back(record.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"archive/data.pkl", "archive/.format_version", "archive/.storage_alignment",
                                      "archive/byteorder", "archive/data/10", "archive/data/2", "archive/data/7",
                                      "archive/version", "archive/.data/serialization_id"}));
  const SavedObject object = Read(file);
  EXPECT_EQ(BytesOf(file, *object.FindStorage("2")), "abcd");
  EXPECT_EQ(object.FindStorage("3"), nullptr);
}

TEST(WriteObject, AStorageOfAnotherSizeIsOurBug) {
  Graph graph;
  const Ref root =
      graph.NewPersistent(graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "FloatStorage"),
                                          graph.NewString("0"), graph.NewString("cpu"), graph.NewInt(2)}));
  EXPECT_THROW(WriteObject(graph, root, "archive", [](const std::string&) { return std::string(7, 'x'); }), Error);
}

// Its storages have ids of six fields, which torch's zip reader does not take.
TEST(WriteObject, AnObjectOfALegacyFileIsRefused) {
  try {
    Rewrite(testing::Fixture("t214_legacy.pt"), "new");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "torchsave.legacy_object");
  }
}

}  // namespace
}  // namespace ck::torchsave
