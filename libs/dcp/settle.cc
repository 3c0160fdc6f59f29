#include "libs/dcp/settle.h"

#include <algorithm>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::dcp {
namespace {

template <typename Named>
void SortByName(std::vector<Named>& list) {
  const auto before = [](const Named& a, const Named& b) { return a.name < b.name; };
  if (!std::is_sorted(list.begin(), list.end(), before)) std::sort(list.begin(), list.end(), before);
}

void RequireItems(Metadata& metadata) {
  for (const Object& object : metadata.objects) {
    if (object.item.file == kNoFile) {
      throw InputError("dcp.chunk_without_item", Cat(Quote(object.name), ": storage_data has no item for the object"));
    }
  }
  for (Tensor& tensor : metadata.tensors) {
    for (Chunk& chunk : tensor.chunks) {
      if (chunk.item.file != kNoFile) continue;
      if (!chunk.box.IsEmpty()) {
        throw InputError("dcp.chunk_without_item",
                         Cat(Quote(tensor.name), ": storage_data has no item for the chunk ", FormatBox(chunk.box)));
      }
      chunk.item = {};
    }
  }
}

template <typename Function>
void ForEachItem(Metadata& metadata, Function function) {
  for (Object& object : metadata.objects) function(object.item);
  for (Tensor& tensor : metadata.tensors) {
    for (Chunk& chunk : tensor.chunks) function(chunk.item);
  }
}

void SortFiles(Metadata& metadata) {
  std::vector<bool> used(metadata.files.size());
  ForEachItem(metadata, [&](const Item& item) {
    if (item.file != kNoFile) used[item.file] = true;
  });
  std::vector<uint32_t> order;
  for (uint32_t file = 0; file < used.size(); ++file) {
    if (used[file]) order.push_back(file);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return metadata.files[a] < metadata.files[b]; });
  std::vector<uint32_t> numbers(used.size());  // by the old number
  std::vector<std::string> files;
  for (const uint32_t old : order) {
    numbers[old] = static_cast<uint32_t>(files.size());
    files.push_back(std::move(metadata.files[old]));
  }
  metadata.files = std::move(files);
  ForEachItem(metadata, [&](Item& item) {
    if (item.file != kNoFile) item.file = numbers[item.file];
  });
  decltype(metadata.transforms) transforms;
  for (auto& [place, descriptors] : metadata.transforms) {
    if (used[place.first]) transforms.emplace(std::pair(numbers[place.first], place.second), std::move(descriptors));
  }
  metadata.transforms = std::move(transforms);
}

}  // namespace

void SettleChunks(Tensor& tensor) {
  std::vector<Chunk>& chunks = tensor.chunks;
  const auto before = [](const Chunk& a, const Chunk& b) {
    const auto order = a.box.offset <=> b.box.offset;
    return order != 0 ? order < 0 : a.box.IsEmpty() < b.box.IsEmpty();
  };
  if (!std::is_sorted(chunks.begin(), chunks.end(), before)) std::stable_sort(chunks.begin(), chunks.end(), before);
  const auto twice = std::unique(chunks.begin(), chunks.end(), [](const Chunk& kept, const Chunk& next) {
    if (kept.box.offset != next.box.offset) return false;
    if (next.box.IsEmpty()) return true;
    throw InputError("dcp.duplicate_item", Cat("two chunks begin at ", FormatDims(kept.box.offset), ", with sizes ",
                                               FormatDims(kept.box.shape), " and ", FormatDims(next.box.shape)));
  });
  chunks.erase(twice, chunks.end());
}

void Settle(Metadata& metadata) {
  SortByName(metadata.tensors);
  SortByName(metadata.objects);
  SortFiles(metadata);
  RequireItems(metadata);
}

}  // namespace ck::dcp
