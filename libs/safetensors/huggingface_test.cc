// Headers and indexes that transformers wrote.
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/safetensors/header.h"

namespace ck::safetensors {
namespace {

using ck::testing::ListFixtures;
using ck::testing::ReadFixture;

const char kRoot[] = "testdata/fixtures/hf";

// "a/b/c" -> "a/b".
std::string Parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

// keys.tsv: "dtype, shape, file" by name; a shape is "2x3".
std::map<std::string, std::string> ExpectedKeys(const std::string& folder) {
  std::map<std::string, std::string> keys;
  const std::vector<std::string> lines = Split(ReadFixture(folder + "/keys.tsv"), '\n');
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = Split(lines[i], '\t');
    if (fields.size() == 4) keys[fields[0]] = Cat(fields[1], " ", fields[2], " ", fields[3]);
  }
  return keys;
}

std::string ShapeText(const Dims& shape) {
  std::vector<std::string> parts;
  for (const uint64_t dim : shape) parts.push_back(Cat(dim));
  return Join(parts, "x");
}

TEST(HuggingFace, HeadersHoldTheKeysOfTheList) {
  size_t folders = 0;
  for (const std::string& list : ListFixtures(kRoot, "keys.tsv")) {
    const std::string folder = Parent(list);
    std::map<std::string, std::string> found;
    for (const std::string& path : ListFixtures(folder + "/model", ".safetensors")) {
      const std::string bytes = ReadFixture(path);
      const Header header = ReadHeader(bytes::StringSource(bytes, path));
      EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
      for (const Tensor& tensor : header.tensors) {
        found[tensor.name] = Cat(Name(tensor.dtype), " ", ShapeText(tensor.shape), " ", path.substr(path.rfind('/') + 1));
      }
    }
    EXPECT_EQ(found, ExpectedKeys(folder)) << folder;
    ++folders;
  }
  EXPECT_EQ(folders, 59U);
}

TEST(HuggingFace, HeadersAreWrittenAsTheLibraryWritesThem) {
  for (const std::string& path : ListFixtures(kRoot, ".safetensors")) {
    const std::string bytes = ReadFixture(path);
    const Header header = ReadHeader(bytes::StringSource(bytes, path));
    ASSERT_LE(header.metadata.size(), 1U) << "the library's order of several members is random";
    std::vector<Tensor> placed;
    const std::string written = WriteHeader(header.tensors, header.metadata, placed);
    EXPECT_EQ(written, bytes.substr(0, written.size())) << path;
    EXPECT_EQ(header.data_begin, written.size()) << path;
  }
}

TEST(HuggingFace, IndexesAreWrittenAsTransformersWritesThem) {
  const std::vector<std::string> paths = ListFixtures(kRoot, ".safetensors.index.json");
  EXPECT_EQ(paths.size(), 4U);
  for (const std::string& path : paths) {
    const std::string text = ReadFixture(path);
    const Index index = ReadIndex(text);
    EXPECT_EQ(WriteIndex(index), text) << path;
    uint64_t total_bytes = 0;
    for (const std::string& shard : ListFixtures(Parent(path), ".safetensors")) {
      const std::string bytes = ReadFixture(shard);
      for (const Tensor& tensor : ReadHeader(bytes::StringSource(bytes)).tensors) {
        total_bytes += tensor.end - tensor.begin;
        EXPECT_EQ(index.weight_map.at(tensor.name), shard.substr(shard.rfind('/') + 1));
      }
    }
    EXPECT_EQ(index.total_size, total_bytes) << path;
  }
}

}  // namespace
}  // namespace ck::safetensors
