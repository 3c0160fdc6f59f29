// Metadata that PyTorch and Megatron-Core wrote.
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/testing/fixture.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/dcp/metadata.h"
#include "libs/safetensors/header.h"

namespace ck::dcp {
namespace {

using ck::testing::ListFixtures;
using ck::testing::ReadFixture;

const std::string kRoot = "testdata/fixtures/";

Metadata Decode(const std::string& folder) { return DecodeMetadata(ReadFixture(kRoot + folder + "/.metadata")); }

// One line for each tensor and object: "name dtype shape: box@file:offset+length; ...".
std::vector<std::string> Lines(const Metadata& metadata) {
  const auto place = [&](const Item& item) { return Cat("@", metadata.files.at(item.file), ":", item.offset, "+", item.length); };
  std::vector<std::string> lines;
  for (const Tensor& tensor : metadata.tensors) {
    std::string line = Cat(tensor.name, " ", Name(tensor.dtype), " ", FormatDims(tensor.shape), ":");
    for (const Chunk& chunk : tensor.chunks) line += Cat(" ", FormatBox(chunk.box), place(chunk.item));
    lines.push_back(line);
  }
  for (const Object& object : metadata.objects) lines.push_back(Cat(object.name, place(object.item)));
  return lines;
}

struct Table {
  std::string folder;
  std::vector<std::string> lines;
};

TEST(Fixtures, HoldWhatTorchReads) {
  const Table tables[] = {
      {"t214_basic",
       {"b BF16 [5]: [0] + [5]@__0_0.distcp:6621+1577", "e F32 [0, 4]: [0, 0] + [0, 4]@__0_0.distcp:11352+1513",
        "n.x.2 F32 [2]: [0] + [2]@__0_0.distcp:8198+1577", "sc F32 []: [] + []@__0_0.distcp:9775+1577",
        "w F32 [3, 4]: [0, 0] + [3, 4]@__0_0.distcp:5044+1577", "it@__0_0.distcp:2522+1261", "n.x.0@__0_0.distcp:0+1261",
        "n.x.1@__0_0.distcp:1261+1261", "s@__0_0.distcp:3783+1261"}},
      {"t214_two_ranks",
       {"one F32 [1, 2]: [0, 0] + [1, 2]@__0_0.distcp:1577+1577 [1, 0] + [0, 2]@__1_0.distcp:2838+1513",
        "p F32 [4]: [0] + [4]@__1_0.distcp:5928+1577", "r F32 [3]: [0] + [3]@__1_0.distcp:4351+1577",
        "s F32 [5, 2]: [0, 0] + [3, 2]@__0_0.distcp:0+1577 [3, 0] + [2, 2]@__1_0.distcp:1261+1577", "it@__1_0.distcp:0+1261"}},
      {"t214_4threads",
       {"b BF16 [5]: [0] + [5]@__0_1.distcp:0+1577", "w F32 [3, 4]: [0, 0] + [3, 4]@__0_0.distcp:1261+1577",
        "it@__0_0.distcp:0+1261"}},
      {"t214_filepertensor_tuplesizes",
       {"b BF16 [5]: [0] + [5]@__0_1.distcp:0+1577", "w F32 [3, 4]: [0, 0] + [3, 4]@__0_0.distcp:0+1577",
        "it@__0_2.distcp:0+1261"}},
      {"t214_zstd",
       {"b BF16 [5]: [0] + [5]@__0_0.distcp:1762+631", "w F32 [3, 4]: [0, 0] + [3, 4]@__0_0.distcp:448+663",
        "wt F32 [3, 2]: [0, 0] + [3, 2]@__0_0.distcp:1111+651", "it@__0_0.distcp:0+448"}},
      {"t214_safetensors_fmt",
       {"b BF16 [5]: [0] + [5]@__0_0.distcp:1261+10", "w F32 [3, 4]: [0, 0] + [3, 4]@__0_0.distcp:1261+48",
        "it@__0_0.distcp:0+1261"}},
      {"mcore_head_t214",
       {"decoder.layers.w BF16 [2, 2, 3]: [0, 0, 0] + [1, 2, 3]@__0_0.distcp:29160+1577 [1, 0, 0] + [1, 2, 3]@__0_0.distcp:30737+1577",
        "embedding.weight F32 [4, 3]: [0, 0] + [4, 3]@__0_0.distcp:32314+1577", "common_state/shard_0_1@__0_0.distcp:27451+1709",
        "decoder.layers._extra_state/shard_0_2@__0_0.distcp:0+1261", "decoder.layers._extra_state/shard_1_2@__0_0.distcp:1261+1261",
        "rng_state/shard_0.0_1.1@__0_0.distcp:2522+24929"}},
  };
  for (const Table& table : tables) EXPECT_EQ(Lines(Decode(table.folder)), table.lines) << table.folder;
}

TEST(Fixtures, AllOfThemAreUnderstoodWithoutNotes) {
  size_t count = 0;
  for (const std::string& path : ListFixtures(kRoot, ".metadata")) {
    const Metadata metadata = DecodeMetadata(ReadFixture(path));
    EXPECT_EQ(metadata.notes, std::vector<std::string>()) << path;
    EXPECT_EQ(metadata.unknown_attributes, std::vector<std::string>()) << path;
    EXPECT_EQ(metadata.unknown_globals, std::vector<std::string>()) << path;
    EXPECT_FALSE(metadata.tensors.empty()) << path;
    for (const Tensor& tensor : metadata.tensors) {
      std::vector<Box> boxes;
      for (const Chunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
      EXPECT_TRUE(CheckCoverage(tensor.shape, boxes).empty()) << path << " " << tensor.name;
    }
    ++count;
  }
  EXPECT_EQ(count, 54U);
}

TEST(Fixtures, ZstdItemsHaveTheirTransform) {
  const Metadata metadata = Decode("t214_zstd");
  EXPECT_EQ(metadata.transforms.size(), 4U);
  for (const auto& [place, descriptors] : metadata.transforms) EXPECT_EQ(descriptors, std::vector<std::string>{"stream.zstd/1"});
}

TEST(Fixtures, PlannerDataKeepsDotsAndIndexes) {
  const Metadata fsdp = Decode("t214_fsdp_dtensor_like");
  ASSERT_TRUE(fsdp.planner_data);
  EXPECT_EQ(fsdp.planner_data->size(), fsdp.tensors.size() + fsdp.objects.size());
  EXPECT_EQ(fsdp.planner_data->at("model.module.decoder.layers.0.w"), (Path{std::string("model"), std::string("module.decoder.layers.0.w")}));
  EXPECT_EQ(fsdp.planner_data->at("rng_state.(0, 0).0.torch_rng_state"),
            (Path{std::string("rng_state"), std::string("(0, 0)"), int64_t{0}, std::string("torch_rng_state")}));
  EXPECT_FALSE(Decode("mcore_head_t214").planner_data);
}

TEST(Fixtures, FlattenedOptimizerTensorsHaveTheirOriginalShape) {
  const std::map<std::string, Dims> expected = {{"optimizer.state.exp_avg.decoder.layers.w", {2, 2, 3}}, {"optimizer.state.exp_avg.ln", {3}}};
  EXPECT_EQ(Decode("mcore_0153_t26").original_shapes, expected);
}

TEST(Fixtures, RankLocalMetadataDecodes) {
  const Metadata metadata = DecodeMetadata(ReadFixture(kRoot + "t214_no_collectives/__0.metadata"));
  EXPECT_EQ(MergeRankLocal({metadata}), metadata);
  for (const std::string& file : metadata.files) EXPECT_TRUE(StartsWith(file, "__0_")) << file;
}

// dtype and shape by name, of all tensors.
using Summary = std::map<std::string, std::string>;

Summary TruthOf(const std::string& path) {
  const std::string bytes = ReadFixture(path);
  Summary summary;
  for (const safetensors::Tensor& tensor : safetensors::ReadHeader(bytes::StringSource(bytes)).tensors) {
    if (StartsWith(tensor.name, "state.")) summary[tensor.name.substr(6)] = Cat(Name(tensor.dtype), " ", FormatDims(tensor.shape));
  }
  return summary;
}

TEST(Fixtures, MegatronsTensorsAreThoseThatTorchReadBack) {
  size_t count = 0;
  for (const std::string& path : ListFixtures(kRoot + "megatron", ".metadata")) {
    Summary found;
    for (const Tensor& tensor : DecodeMetadata(ReadFixture(path)).tensors) {
      found[tensor.name] = Cat(Name(tensor.dtype), " ", FormatDims(tensor.shape));
    }
    // .../NAME/ckpt/iter_0000010/.metadata -> .../NAME/truth.safetensors, or truth_iter_0000010.safetensors in a window.
    const std::vector<std::string> parts = Split(path, '/');
    const std::string folder = kRoot + "megatron/" + parts[3];
    const bool is_window = StartsWith(parts[3], "window");
    EXPECT_EQ(found, TruthOf(folder + (is_window ? Cat("/truth_", parts[5], ".safetensors") : "/truth.safetensors"))) << path;
    ++count;
  }
  EXPECT_EQ(count, 43U);
}

TEST(Fixtures, EncodingAndDecodingGivesTheSameBack) {
  for (const std::string& path : ListFixtures(kRoot, ".metadata")) {
    Metadata metadata = DecodeMetadata(ReadFixture(path));
    metadata.version = "1.0.0";
    const std::string encoded = EncodeMetadata(metadata);
    EXPECT_EQ(DecodeMetadata(encoded), metadata) << path;
    EXPECT_EQ(EncodeMetadata(DecodeMetadata(encoded)), encoded) << path;
    EXPECT_LT(encoded.size(), ReadFixture(path).size() + 100) << path;
  }
}

TEST(Fixtures, EveryPrefixFailsAndFlippedBitsDoNotCrash) {
  for (const std::string folder : {"t214_two_ranks", "mcore_0153_t26"}) {
    const std::string whole = ReadFixture(kRoot + folder + "/.metadata");
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_THROW(DecodeMetadata(std::string_view(whole).substr(0, length)), Error) << folder << " " << length;
    }
    for (size_t bit = 0; bit < whole.size() * 8; bit += 7) {
      std::string broken = whole;
      broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
      try {
        DecodeMetadata(broken);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInput) << error.message();
      }
    }
  }
}

}  // namespace
}  // namespace ck::dcp
