// Checkpoints that PyTorch, Megatron-Core and transformers wrote, read through one model.
#include <filesystem>
#include <map>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/checkpoint/data_files.h"
#include "libs/checkpoint/testing/whole_tensor.h"
#include "libs/safetensors/header.h"

namespace ck::checkpoint {
namespace {

using ck::testing::ListFixtures;
using ck::testing::ReadFixture;

const std::string kRoot = "testdata/fixtures/";

// Name -> dtype, shape and bytes of the tensors of a safetensors file whose names begin with `prefix`, which is cut.
std::map<std::string, std::string> Contents(const std::string& path, const std::string& prefix) {
  const std::string bytes = ReadFixture(path);
  std::map<std::string, std::string> out;
  for (const safetensors::Tensor& tensor : safetensors::ReadHeader(bytes::StringSource(bytes)).tensors) {
    if (!StartsWith(tensor.name, prefix)) continue;
    out[tensor.name.substr(prefix.size())] =
        Cat(Name(tensor.dtype), FormatDims(tensor.shape), bytes.substr(tensor.begin, tensor.end - tensor.begin));
  }
  return out;
}

// The same of a checkpoint.
std::map<std::string, std::string> Contents(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> out;
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    out[tensor.name] = Cat(Name(tensor.dtype), FormatDims(tensor.shape), WholeTensor(checkpoint, tensor));
  }
  return out;
}

// EXPECT_EQ would print megabytes.
void ExpectSame(const std::map<std::string, std::string>& found, const std::map<std::string, std::string>& expected,
                const std::string& where) {
  for (const auto& [name, content] : expected) {
    const auto at = found.find(name);
    ASSERT_NE(at, found.end()) << where << ": " << name << " is missing";
    EXPECT_TRUE(at->second == content) << where << ": " << name << " differs";
  }
  EXPECT_EQ(found.size(), expected.size()) << where;
}

std::string Bytes(std::initializer_list<float> values) {
  std::string out;
  for (const float value : values) out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return out;
}

std::shared_ptr<const Checkpoint> Open(const std::string& name) {
  return Checkpoint::Open(kRoot + name);
}

std::string TensorBytes(const Checkpoint& checkpoint, const std::string& name) {
  const dcp::Tensor* tensor = checkpoint.FindTensor(name);
  EXPECT_NE(tensor, nullptr) << name;
  return tensor ? WholeTensor(checkpoint, *tensor) : "";
}

TEST(Fixtures, EveryTensorOfEveryMegatronFolderHasTheBytesThatTorchReadBack) {
  size_t count = 0;
  for (const std::string& path : ListFixtures(kRoot + "megatron", ".metadata")) {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    const std::vector<std::string> parts =
        Split(path, '/');  // testdata/fixtures/megatron/NAME/ckpt/iter_0000010/.metadata
    const std::string truth =
        StartsWith(parts[3], "window") ? Cat("truth_", parts[5], ".safetensors") : "truth.safetensors";
    const auto checkpoint = Checkpoint::Open(directory);
    ExpectSame(Contents(*checkpoint), Contents(kRoot + "megatron/" + parts[3] + "/" + truth, "state."), directory);
    EXPECT_EQ(checkpoint->format(), StartsWith(parts[3], "fsdp_dtensor") ? Format::kFsdpDtensor : Format::kTorchDist)
        << directory;
    EXPECT_EQ(checkpoint->iteration(), IterationFromName(parts[5])) << directory;
    EXPECT_TRUE(CheckDataFiles(*checkpoint).problems.empty()) << directory;
    for (const dcp::Object& object : checkpoint->objects()) {
      EXPECT_EQ(checkpoint->ReadObject(object).size(), object.item.length) << directory << " " << object.name;
    }
    ++count;
  }
  EXPECT_EQ(count, 43u);
}

TEST(Fixtures, EveryMegatronFolderHasItsCommonState) {
  for (const std::string& path : ListFixtures(kRoot + "megatron", ".metadata")) {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    const auto checkpoint = Checkpoint::Open(directory);
    const CommonState common = ReadCommonState(*checkpoint);
    if (checkpoint->format() == Format::kFsdpDtensor) {
      EXPECT_EQ(common.form, CommonForm::kNone) << directory;
      continue;
    }
    const bool main = Split(path, '/')[3].rfind("main_", 0) == 0;
    EXPECT_EQ(common.form, main ? CommonForm::kEmbedded : CommonForm::kCommonPt) << directory;
    EXPECT_FALSE(common.both_forms) << directory;
    ASSERT_NE(common.args(), pickle::kNoRef) << directory;
    EXPECT_NE(common.object.graph.Attribute(common.args(), "num_layers"), pickle::kNoRef) << directory;
    // The release checkpoint was saved at iteration 10.
    EXPECT_EQ(common.iteration(), static_cast<int64_t>(checkpoint->iteration().number.value_or(10))) << directory;
  }
}

TEST(Fixtures, EveryHuggingFaceModelHasItsFilesTensors) {
  size_t count = 0;
  for (const auto& folder : std::filesystem::directory_iterator(kRoot + "hf")) {
    if (!folder.is_directory()) continue;
    const std::string model = folder.path().string() + "/model";
    std::map<std::string, std::string> expected;
    for (const std::string& file : ListFixtures(model, ".safetensors")) expected.merge(Contents(file, ""));
    const auto checkpoint = Checkpoint::Open(model);
    EXPECT_EQ(checkpoint->format(), Format::kSafetensors);
    ExpectSame(Contents(*checkpoint), expected, model);
    EXPECT_TRUE(checkpoint->metadata().notes.empty()) << model;
    ++count;
  }
  EXPECT_GE(count, 50u);
}

TEST(Fixtures, PlainDcp) {
  for (const char* name : {"t26_basic", "t214_basic", "t214_4threads", "t214_filepertensor_tuplesizes", "t214_zstd"}) {
    const auto checkpoint = Open(name);
    EXPECT_EQ(checkpoint->format(), Format::kDcp) << name;
    EXPECT_FALSE(checkpoint->rank_local()) << name;
    EXPECT_TRUE(CheckDataFiles(*checkpoint).problems.empty()) << name;
    EXPECT_EQ(TensorBytes(*checkpoint, "w"), Bytes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})) << name;
    EXPECT_EQ(TensorBytes(*checkpoint, "b"), std::string("\x80\x3f\x80\x3f\x80\x3f\x80\x3f\x80\x3f", 10)) << name;
    EXPECT_TRUE(StartsWith(checkpoint->ReadObject(*checkpoint->FindObject("it")), "PK")) << name;
  }
  EXPECT_EQ(TensorBytes(*Open("t214_basic"), "sc"), std::string("\x00\x00\x40\x40", 4));
  EXPECT_EQ(TensorBytes(*Open("t214_basic"), "e"), "");
}

TEST(Fixtures, ATransposedTensorIsReadByItsStrides) {
  size_t transposed = 0;
  for (const char* name : {"t26_basic", "t214_zstd", "t214_no_collectives"}) {
    const auto checkpoint = Open(name);
    for (const dcp::Tensor& tensor : checkpoint->tensors()) {
      for (const dcp::Chunk& chunk : tensor.chunks) {
        const LocatedChunk located = checkpoint->Locate(tensor, chunk);
        EXPECT_EQ(located.compressed, std::string(name) == "t214_zstd");
        if (located.strides != RowMajorStrides(located.shape)) ++transposed;
      }
      WholeTensor(*checkpoint, tensor);
    }
  }
  const auto zstd = Open("t214_zstd");
  EXPECT_EQ(TensorBytes(*zstd, "wt"), Bytes({0, 3, 1, 4, 2, 5}));
  EXPECT_GE(transposed, 1u);
}

TEST(Fixtures, RankLocalMetadataIsMerged) {
  const auto checkpoint = Open("t214_no_collectives");
  EXPECT_TRUE(checkpoint->rank_local());
  EXPECT_EQ(checkpoint->format(), Format::kDcp);
  EXPECT_FALSE(checkpoint->tensors().empty());
  EXPECT_EQ(TensorBytes(*checkpoint, "w"), Bytes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(Fixtures, EveryChunkOfTheSmallFoldersIsReadable) {
  for (const char* name : {"t214_two_ranks", "t214_fsdp_dtensor_like", "mcore_head_t214", "mcore_0153_t26"}) {
    const auto checkpoint = Open(name);
    EXPECT_EQ(checkpoint->files().size(), std::string(name) == "t214_two_ranks" ? 2u : 1u) << name;
    // Also checks that the chunks tile each tensor.
    for (const dcp::Tensor& tensor : checkpoint->tensors()) WholeTensor(*checkpoint, tensor);
    for (const dcp::Object& object : checkpoint->objects()) checkpoint->ReadObject(object);
  }
}

TEST(Fixtures, FsdpDtensorIsToldApart) {
  EXPECT_EQ(Open("t214_fsdp_dtensor_like")->format(), Format::kFsdpDtensor);
  EXPECT_EQ(Open("t214_basic")->format(), Format::kDcp);
}

TEST(Fixtures, SidecarsAreWhatIsLeft) {
  const auto checkpoint = Open("mcore_head_t214");
  ASSERT_EQ(checkpoint->sidecars().size(), 1u);
  EXPECT_EQ(checkpoint->sidecars()[0].name, "integrity.json");
  EXPECT_EQ(checkpoint->sidecars()[0].size_bytes, 306u);
}

TEST(Fixtures, SafetensorsItemsAreRefusedByName) {
  try {
    Open("t214_safetensors_fmt");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "checkpoint.unsupported_format");
    EXPECT_NE(error.message().find("SerializationFormat.SAFETENSORS"), std::string::npos) << error.message();
  }
}

// Megatron keeps the optimizer's step as a 0-d tensor in common.pt, whose bytes are a storage of that file.
TEST(Fixtures, StoragesOfTheCommonStateAreReadable) {
  const CommonState common = ReadCommonState(*Open("megatron/full_nodistopt/ckpt/iter_0000010"));
  ASSERT_FALSE(common.object.storages.empty());
  for (const torchsave::Storage& storage : common.object.storages) {
    const std::string bytes = common.StorageBytes(storage.key);
    EXPECT_EQ(bytes.size(), storage.size_bytes);
    EXPECT_EQ(bytes, common.stored.substr(storage.offset, storage.size_bytes));
  }
  try {
    common.StorageBytes("no such key");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "torchsave.storage_missing");
  }
}

TEST(Fixtures, CommonStateOfBothForms) {
  const CommonState embedded = ReadCommonState(*Open("mcore_head_t214"));
  EXPECT_EQ(embedded.form, CommonForm::kEmbedded);
  EXPECT_TRUE(embedded.iteration().has_value());
  const CommonState file = ReadCommonState(*Open("mcore_0153_t26"));
  EXPECT_EQ(file.form, CommonForm::kCommonPt);
  EXPECT_FALSE(file.both_forms);
  const CommonState none = ReadCommonState(*Open("t214_basic"));
  EXPECT_EQ(none.form, CommonForm::kNone);
  EXPECT_EQ(none.dict, pickle::kNoRef);
  EXPECT_EQ(none.args(), pickle::kNoRef);
  EXPECT_FALSE(none.iteration().has_value());
}

}  // namespace
}  // namespace ck::checkpoint
