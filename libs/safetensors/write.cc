#include <algorithm>
#include <optional>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"
#include "libs/json/value.h"
#include "libs/safetensors/file_dtype.h"
#include "libs/safetensors/header.h"

namespace ck::safetensors {
namespace {

constexpr uint64_t kAlignment = 8;  // the JSON text is padded with blanks, so that the data begins at a multiple of this

int RankOf(const Tensor& tensor) {
  const std::optional<int> rank = FileRank(tensor.dtype);
  if (!rank) {
    throw InputError("safetensors.unknown_dtype",
                     Cat("tensor ", Quote(tensor.name), " is ", Name(tensor.dtype), ", which safetensors cannot hold"));
  }
  return *rank;
}

uint64_t BytesOf(const Tensor& tensor) {
  const std::optional<uint64_t> elements = Volume(tensor.shape);
  const std::optional<uint64_t> bytes = elements ? CheckedMul(*elements, ElementSize(tensor.dtype)) : std::nullopt;
  if (!bytes) {
    throw InputError("safetensors.bad_shape",
                     Cat("tensor ", Quote(tensor.name), ": shape ", FormatDims(tensor.shape), " has more than 2^64-1 bytes"));
  }
  return *bytes;
}

void CheckNames(const std::vector<Tensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const Tensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw InputError("safetensors.duplicate_key", Cat("two tensors are named ", Quote(*twice)));
  if (std::binary_search(names.begin(), names.end(), "__metadata__")) {
    throw InputError("safetensors.duplicate_key", "a tensor cannot be named __metadata__, the format's own key");
  }
}

// In file order, with offsets from the start of the data.
std::vector<Tensor> Place(const std::vector<Tensor>& tensors) {
  CheckNames(tensors);
  std::vector<std::pair<int, const Tensor*>> order;
  order.reserve(tensors.size());
  for (const Tensor& tensor : tensors) order.emplace_back(-RankOf(tensor), &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->name < b.second->name;
  });
  std::vector<Tensor> placed;
  placed.reserve(tensors.size());
  uint64_t position = 0;
  for (const auto& [rank, tensor] : order) {
    const std::optional<uint64_t> end = CheckedAdd(position, BytesOf(*tensor));
    if (!end) throw InputError("safetensors.bad_offsets", Cat("tensor ", Quote(tensor->name), " ends past byte 2^64-1"));
    placed.push_back(*tensor);
    placed.back().begin = position;
    placed.back().end = *end;
    position = *end;
  }
  return placed;
}

json::Value Entry(const Tensor& tensor) {
  json::Array shape(tensor.shape.begin(), tensor.shape.end());
  if (tensor.dtype == DType::kF4) {
    const std::optional<uint64_t> values = tensor.shape.empty() ? std::nullopt : CheckedMul(tensor.shape.back(), 2);
    if (!values) {
      throw InputError("safetensors.bad_shape",
                       Cat("tensor ", Quote(tensor.name), ": shape ", FormatDims(tensor.shape), " of F4 has no last dimension to count values in"));
    }
    shape.back() = *values;
  }
  json::Object entry;
  entry.Set("dtype", Name(tensor.dtype));
  entry.Set("shape", std::move(shape));
  entry.Set("data_offsets", json::Array{tensor.begin, tensor.end});
  return entry;
}

}  // namespace

std::string WriteHeader(const std::vector<Tensor>& tensors, const std::map<std::string, std::string>& metadata,
                        std::vector<Tensor>& placed) {
  placed = Place(tensors);
  json::Object root;
  if (!metadata.empty()) {
    json::Object members;
    for (const auto& [key, value] : metadata) members.Set(key, value);
    root.Set("__metadata__", std::move(members));
  }
  for (const Tensor& tensor : placed) root.Set(tensor.name, Entry(tensor));

  std::string text = json::Write(std::move(root), {.indent = 0, .final_newline = false});
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  if (text.size() > kMaxHeaderBytes) {
    throw InputError("safetensors.header_too_long", Cat("header of ", text.size(), " bytes for ", tensors.size(),
                                                        " tensors, the format allows ", kMaxHeaderBytes, ": write more shards"));
  }
  std::string out;
  bytes::PutU64(out, text.size());
  out += text;
  for (Tensor& tensor : placed) {
    const std::optional<uint64_t> end = CheckedAdd(tensor.end, out.size());
    if (!end) throw InputError("safetensors.bad_offsets", Cat("tensor ", Quote(tensor.name), " ends past byte 2^64-1"));
    tensor.begin += out.size();
    tensor.end = *end;
  }
  return out;
}

}  // namespace ck::safetensors
