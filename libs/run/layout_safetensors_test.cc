#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/run/layout.h"
#include "libs/safetensors/header.h"

namespace ck::run {
namespace {

transform::View ViewOf(const std::vector<std::pair<std::string, uint64_t>>& names_and_bytes, DType dtype = DType::kU8) {
  transform::View view;
  view.format = checkpoint::Format::kSafetensors;
  for (const auto& [name, bytes] : names_and_bytes) {
    const Dims shape = {bytes / ElementSize(dtype)};
    view.tensors.push_back({.name = name, .dtype = dtype, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {}});
  }
  return view;
}

// The tensors of each file, by name: "a b | c".
std::string Shards(const transform::View& view, const Layout& layout) {
  std::vector<std::vector<std::string>> names(layout.files.size());
  for (const TensorItem& item : layout.tensors) names[item.file].push_back(view.tensors[item.tensor].name);
  std::vector<std::string> out;
  for (auto& shard : names) {
    std::sort(shard.begin(), shard.end());
    out.push_back(Join(shard, " "));
  }
  return Join(out, " | ");
}

TEST(LayOutSafetensors, ShardsByDataBytes) {
  struct Case {
    std::vector<std::pair<std::string, uint64_t>> tensors;
    uint64_t limit;
    std::string shards;
  };
  const std::vector<Case> cases = {
      {{{"a", 2000}, {"b", 400}, {"c", 400}, {"d", 400}}, 1000, "a | b c | d"},  // the first is larger than a shard: no empty one before it
      {{{"a", 400}, {"b", 2000}, {"c", 400}}, 1000, "a | b | c"},
      {{{"a", 600}, {"b", 400}, {"c", 1}}, 1000, "a b | c"},  // exactly full
      {{{"a", 600}, {"b", 400}}, 1000, "a b"},
      {{{"a", 600}, {"b", 401}}, 1000, "a | b"},
      {{{"a", 1}, {"b", 2}, {"c", 3}}, 0, "a | b | c"},  // smaller than everything
      {{{"a", 1000}, {"b", 0}, {"c", 0}}, 1000, "a b c"},
      {{{"a", 0}}, 1000, "a"},
  };
  for (const Case& c : cases) {
    const transform::View view = ViewOf(c.tensors);
    const Layout layout = LayOutSafetensors(view, {.max_shard_size = c.limit});
    EXPECT_EQ(Shards(view, layout), c.shards);
    for (const OutputFile& file : layout.files) EXPECT_GT(file.size_bytes, 8u);
  }
}

TEST(LayOutSafetensors, TheLimitCountsBytesNotElements) {
  const transform::View view = ViewOf({{"a", 600}, {"b", 600}}, DType::kF32);
  EXPECT_EQ(Shards(view, LayOutSafetensors(view, {.max_shard_size = 1000})), "a | b");
}

TEST(LayOutSafetensors, NamesOneFileAndSeveral) {
  const transform::View view = ViewOf({{"a", 10}, {"b", 10}, {"c", 10}});
  const Layout one = LayOutSafetensors(view, {.max_shard_size = 30});
  ASSERT_EQ(one.files.size(), 1u);
  EXPECT_EQ(one.files[0].name, "model.safetensors");
  EXPECT_FALSE(one.index);
  const Layout three = LayOutSafetensors(view, {.max_shard_size = 10});
  ASSERT_EQ(three.files.size(), 3u);
  EXPECT_EQ(three.files[0].name, "model-00001-of-00003.safetensors");
  EXPECT_EQ(three.files[2].name, "model-00003-of-00003.safetensors");
  ASSERT_TRUE(three.index);
  EXPECT_EQ(three.index->content, "{\n  \"metadata\": {\n    \"total_size\": 30\n  },\n  \"weight_map\": {\n    \"a\": \"model-00001-of-00003.safetensors\",\n"
                                  "    \"b\": \"model-00002-of-00003.safetensors\",\n    \"c\": \"model-00003-of-00003.safetensors\"\n  }\n}\n");
  uint64_t bytes = three.index->content.size();
  for (const OutputFile& file : three.files) bytes += file.size_bytes;
  EXPECT_EQ(three.total_bytes, bytes);
}

// What the header says, where the items lie and how large the file is must agree, with every tensor aligned and no byte unused.
TEST(LayOutSafetensors, ItemsFillTheFileAlignedAsTheHeaderSays) {
  transform::View view = ViewOf({{"a", 3}, {"c", 5}});
  const auto add = [&](const std::string& name, DType dtype, const Dims& shape) {
    view.tensors.push_back({.name = name, .dtype = dtype, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {}});
  };
  add("b", DType::kBF16, {3, 1});
  add("d", DType::kF32, {});
  add("e", DType::kI64, {2, 3, 5});
  add("f", DType::kF32, {0, 4});
  std::sort(view.tensors.begin(), view.tensors.end(), [](const auto& x, const auto& y) { return x.name < y.name; });
  const Layout layout = LayOutSafetensors(view, {});
  ASSERT_EQ(layout.files.size(), 1u);
  const OutputFile& file = layout.files[0];
  EXPECT_EQ(file.header.size() % 8, 0u);
  const safetensors::Header header = safetensors::ReadHeader(bytes::StringSource(file.header + std::string(file.size_bytes - file.header.size(), 'x')));
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
  uint64_t position = file.header.size();
  for (const TensorItem& item : layout.tensors) {
    const transform::Tensor& tensor = view.tensors[item.tensor];
    EXPECT_EQ(item.offset, position) << tensor.name;
    EXPECT_EQ(item.offset % ElementSize(tensor.dtype), 0u) << tensor.name;
    const auto at = std::find_if(header.tensors.begin(), header.tensors.end(), [&](const auto& t) { return t.name == tensor.name; });
    ASSERT_NE(at, header.tensors.end());
    EXPECT_EQ(at->begin, item.offset);
    EXPECT_EQ(at->end, item.offset + item.data_bytes);
    EXPECT_EQ(at->dtype, tensor.dtype);
    EXPECT_EQ(at->shape, tensor.shape);
    position += item.total_bytes;
  }
  EXPECT_EQ(position, file.size_bytes);
}

TEST(LayOutSafetensors, AHeaderThatWouldGrowTooLongCutsToo) {
  std::vector<std::pair<std::string, uint64_t>> tensors;
  for (int i = 0; i < 1000; ++i) tensors.emplace_back(Cat("layers.", 1000 + i, ".a\"quoted\" name"), 1);
  const transform::View view = ViewOf(tensors);
  const Layout layout = LayOutSafetensors(view, {.max_header_bytes = 20'000});
  EXPECT_GT(layout.files.size(), 4u);
  EXPECT_LT(layout.files.size(), 20u);
  for (const OutputFile& file : layout.files) EXPECT_LE(file.header.size(), 20'000u);
  EXPECT_EQ(layout.tensors.size(), 1000u);
}

TEST(LayOutSafetensors, TheDefaultKeepsHeadersUnderTheLimitOfReaders) {
  std::vector<std::pair<std::string, uint64_t>> tensors;
  for (int i = 0; i < 100'000; ++i) tensors.emplace_back(Cat("model.layers.", 100'000 + i, std::string(400, 'x')), 1);
  const Layout layout = LayOutSafetensors(ViewOf(tensors), {});
  EXPECT_EQ(layout.files.size(), 3u);
  for (const OutputFile& file : layout.files) EXPECT_LE(file.header.size(), 25'000'000u);
}

TEST(LayOutSafetensors, RefusesWhatTheFormatCannotHold) {
  const auto id = [](const transform::View& view) {
    try {
      LayOutSafetensors(view, {});
    } catch (const Error& error) {
      return error.id();
    }
    return std::string();
  };
  EXPECT_EQ(id(ViewOf({})), "layout.no_tensors");
  EXPECT_EQ(id(ViewOf({{"a\xff", 1}})), "layout.not_safetensors");
  EXPECT_EQ(id(ViewOf({{"__metadata__", 1}})), "safetensors.duplicate_key");
  transform::View large = ViewOf({{"a", 1}});
  large.tensors[0].shape = {uint64_t{1} << 62, 8};
  large.tensors[0].chunks = {Box::Whole(large.tensors[0].shape)};
  EXPECT_EQ(id(large), "layout.too_large");
}

}  // namespace
}  // namespace ck::run
