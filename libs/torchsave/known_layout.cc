#include "libs/torchsave/known_layout.h"

#include <cstring>

#include "libs/base/error.h"
#include "libs/bytes/reader.h"
#include "libs/torchsave/write.h"

namespace ck::torchsave {
namespace {

constexpr uint64_t kDescriptorCrc = 4;      // of the CRC in a data descriptor
constexpr uint64_t kDirectoryCrc = 16;      // of the CRC in a central directory entry
constexpr uint64_t kDirectoryEntry = 46;    // bytes of an entry without its name; entries this small have no extra field
constexpr uint64_t kCrcBytes = 4;

// Marks the CRCs of record i in the mask of the tail, which begins at `tail_offset` of the archive.
void MaskCrc(const zip::Layout& layout, size_t i, uint64_t tail_offset, std::string& mask) {
  const auto hide = [&](uint64_t offset, uint64_t length) { mask.replace(offset - tail_offset, length, length, '\0'); };
  if (layout.records[i].size > 0) hide(layout.placed[i].descriptor_offset + kDescriptorCrc, kCrcBytes);
  uint64_t entry = layout.central_directory_offset;
  for (size_t before = 0; before < i; ++before) entry += kDirectoryEntry + layout.records[before].name.size();
  hide(entry + kDirectoryCrc, kCrcBytes);
}

size_t FindRecord(const zip::Layout& layout, std::string_view name) {
  for (size_t i = 0; i < layout.records.size(); ++i) {
    if (layout.records[i].name == name) return i;
  }
  throw InternalError("internal.check_failed", "a tensor item has its records");
}

}  // namespace

KnownLayout::KnownLayout(DType dtype, const Dims& shape) {
  const TensorItemLayout layout = LayOutTensorItem(dtype, shape);
  head_ = layout.head;
  tail_ = layout.Tail(0);
  mask_ = std::string(tail_.size(), '\xFF');
  const uint64_t tail_offset = head_.size() + layout.data_bytes;
  const size_t data = FindRecord(layout.zip, "archive/data/0"), id = FindRecord(layout.zip, "archive/.data/serialization_id");
  MaskCrc(layout.zip, data, tail_offset, mask_);
  MaskCrc(layout.zip, id, tail_offset, mask_);
  mask_.replace(layout.zip.placed[id].data_offset - tail_offset, layout.zip.records[id].size, layout.zip.records[id].size, '\0');
  view_.dtype = dtype;
  view_.shape = shape;
  view_.strides = RowMajorStrides(shape);
  view_.storage = {.key = "0", .offset = head_.size(), .size_bytes = layout.data_bytes, .crc = 0};
}

std::optional<TensorView> KnownLayout::Match(std::string_view item) const {
  if (item.size() != head_.size() + view_.storage.size_bytes + tail_.size() || item.substr(0, head_.size()) != head_) return std::nullopt;
  const std::string_view tail = item.substr(item.size() - tail_.size());
  uint8_t different = 0;
  for (size_t i = 0; i < tail.size(); ++i) different = static_cast<uint8_t>(different | ((tail[i] ^ tail_[i]) & mask_[i]));
  if (different != 0) return std::nullopt;
  TensorView view = view_;
  if (view.storage.size_bytes > 0) view.storage.crc = bytes::Reader(tail.substr(kDescriptorCrc), "torchsave.bad_tensor", "data descriptor").U32();
  return view;
}

}  // namespace ck::torchsave
