#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/json/value.h"
#include "libs/run/layout.h"
#include "libs/safetensors/header.h"

namespace ck::run {
namespace {

// Tensors [begin, end) of the view, which one file holds.
struct Shard {
  size_t begin = 0;
  size_t end = 0;
};

void CheckExpressible(const transform::View& view) {
  Check(view.objects.empty() && !view.common, "a safetensors view holds tensors only");
  if (view.tensors.empty()) throw InputError("layout.no_tensors", "the result has no tensors, so there is no safetensors file to write");
  for (const transform::Tensor& tensor : view.tensors) {
    Check(tensor.chunks.size() == 1 && tensor.chunks[0] == Box::Whole(tensor.shape), "a safetensors tensor is stored whole");
    if (!IsUtf8(tensor.name)) {
      throw InputError("layout.not_safetensors", Cat("tensor ", Quote(tensor.name), ": its name is not UTF-8, which a safetensors header cannot hold"));
    }
  }
}

uint64_t DataBytesOf(const transform::Tensor& tensor) {
  const auto elements = Volume(tensor.shape);
  const auto bytes = elements ? CheckedMul(*elements, ElementSize(tensor.dtype)) : std::nullopt;
  if (!bytes) throw InputError("layout.too_large", Cat("tensor ", Quote(tensor.name), " passes 2^64 bytes"));
  return *bytes;
}

// No less than what the tensor's entry takes in a header.
uint64_t EntryBytes(const transform::Tensor& tensor) {
  constexpr std::string_view kLongest = R"(:{"dtype":"F8_E4M3FNUZ","shape":[],"data_offsets":[18446744073709551615,18446744073709551615]},)";
  constexpr uint64_t kLongestDimension = 21;  // 20 digits and a comma
  return json::Write(json::Value(tensor.name), {.indent = 0, .final_newline = false}).size() + kLongest.size() + kLongestDimension * tensor.FileShape().size();
}

std::vector<Shard> CutIntoShards(const transform::View& view, const SafetensorsLimits& limits) {
  std::vector<Shard> shards;
  uint64_t data = 0, header = 0;
  for (size_t i = 0; i < view.tensors.size(); ++i) {
    const uint64_t tensor_bytes = DataBytesOf(view.tensors[i]), entry_bytes = EntryBytes(view.tensors[i]);
    const auto sum = CheckedAdd(data, tensor_bytes);
    if (shards.empty() || !sum || *sum > limits.max_shard_size || header + entry_bytes > limits.max_header_bytes) {
      shards.push_back({.begin = i, .end = i});
      data = header = 0;
    }
    shards.back().end = i + 1;
    data += tensor_bytes;
    header += entry_bytes;
  }
  return shards;
}

std::string FiveDigits(size_t number) {
  const std::string digits = Cat(number);
  return digits.size() >= 5 ? digits : std::string(5 - digits.size(), '0') + digits;
}

std::string ShardName(size_t index, size_t count) {
  if (count == 1) return kSingleSafetensorsFile;
  return Cat("model-", FiveDigits(index + 1), "-of-", FiveDigits(count), ".safetensors");
}

// Adds the file of one shard and its items.
void PlaceShard(const transform::View& view, const Shard& shard, std::string name, Layout& out) {
  std::vector<safetensors::Tensor> tensors, placed;
  std::map<std::string_view, uint32_t> numbers;
  for (size_t i = shard.begin; i < shard.end; ++i) {
    const transform::Tensor& tensor = view.tensors[i];
    tensors.push_back({.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.FileShape()});
    numbers.emplace(tensor.name, static_cast<uint32_t>(i));
  }
  OutputFile file{.name = std::move(name), .size_bytes = 0, .header = safetensors::WriteHeader(tensors, {{"format", "pt"}}, placed)};
  file.size_bytes = std::max<uint64_t>(placed.back().end, file.header.size());
  const auto number = static_cast<uint32_t>(out.files.size());
  for (const safetensors::Tensor& tensor : placed) {
    const uint64_t bytes = tensor.end - tensor.begin;
    out.tensors.push_back({.tensor = numbers.at(tensor.name), .chunk = 0, .file = number, .offset = tensor.begin, .framing = Framing::kRaw, .head_bytes = 0,
                           .data_bytes = bytes, .total_bytes = bytes});
  }
  out.files.push_back(std::move(file));
}

SmallFile PlanIndex(const transform::View& view, const Layout& layout) {
  safetensors::Index index;
  for (const TensorItem& item : layout.tensors) {
    index.weight_map.emplace(view.tensors[item.tensor].name, layout.files[item.file].name);
    index.total_size += item.data_bytes;
  }
  return {.name = kSafetensorsIndexFile, .content = safetensors::WriteIndex(index)};
}

}  // namespace

Layout LayOutSafetensors(const transform::View& view, const SafetensorsLimits& limits) {
  CheckExpressible(view);
  const std::vector<Shard> shards = CutIntoShards(view, limits);
  Layout out;
  for (size_t i = 0; i < shards.size(); ++i) PlaceShard(view, shards[i], ShardName(i, shards.size()), out);
  if (shards.size() > 1) out.index = PlanIndex(view, out);
  for (const OutputFile& file : out.files) {
    const auto total = CheckedAdd(out.total_bytes, file.size_bytes);
    if (!total) throw InputError("layout.too_large", "the output passes 2^64 bytes");
    out.total_bytes = *total;
  }
  if (out.index) out.total_bytes += out.index->content.size();
  for (const transform::TextFile& file : view.text_files) {
    out.total_bytes += file.content.size();
    out.small_files.push_back({.name = file.name, .content = file.content});
  }
  return out;
}

}  // namespace ck::run
