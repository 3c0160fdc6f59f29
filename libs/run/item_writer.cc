#include "libs/run/item_writer.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checksum/crc32.h"

namespace ck::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kWritebackTiles = 32;            // 8 MiB: often enough to keep the disk busy, seldom enough to cost nothing
constexpr uint64_t kCopyBytes = uint64_t{1} << 20;  // one step of copying a byte object

void TimedWrite(fs::OutputFile& file, uint64_t offset, std::string_view data, WorkerScratch& scratch) {
  const auto start = Clock::now();
  file.WriteAt(offset, data);
  scratch.save_seconds += std::chrono::duration<double>(Clock::now() - start).count();
}

uint64_t TileElements(const transform::View& view, const transform::Tensor& tensor, uint64_t tile_bytes) {
  uint64_t widest = ElementSize(tensor.dtype);
  for (const transform::Piece& piece : tensor.pieces) widest = std::max(widest, ElementSize(view.leaves[piece.leaf].dtype));
  return std::max<uint64_t>(1, tile_bytes / widest);
}

}  // namespace

void WriteObjectItem(const transform::View& view, const ObjectItem& item, fs::OutputFile& file, WorkerScratch& scratch) {
  const transform::Object& object = view.objects[item.object];
  if (object.literal) {
    TimedWrite(file, item.offset, *object.literal, scratch);
    return;
  }
  const checkpoint::Checkpoint& input = *view.inputs[object.input];
  const auto source = input.OpenItem(input.FindObject(object.source_name)->item);
  Check(source->size() == item.total_bytes, "a byte object has the size that was planned");
  if (scratch.out.size() < kCopyBytes) scratch.out.resize(kCopyBytes);
  for (uint64_t done = 0; done < item.total_bytes;) {
    const uint64_t step = std::min(kCopyBytes, item.total_bytes - done);
    source->ReadInto(done, step, scratch.out.data());
    TimedWrite(file, item.offset + done, std::string_view(scratch.out).substr(0, step), scratch);
    done += step;
  }
}

uint64_t TensorItemWriter::TileCount(const transform::View& view, const TensorItem& item, uint64_t tile_bytes) {
  const transform::Tensor& tensor = view.tensors[item.tensor];
  const uint64_t per_tile = TileElements(view, tensor, tile_bytes) * ElementSize(tensor.dtype);
  return std::max<uint64_t>(1, (item.data_bytes + per_tile - 1) / per_tile);  // an empty tensor has one empty tile
}

uint64_t TensorItemWriter::TileBytes(uint64_t index) const {
  const uint64_t begin = index * tile_elements_;
  return (std::min(elements_, begin + tile_elements_) - begin) * element_size_;
}

TensorItemWriter::TensorItemWriter(const transform::View& view, const SourceFinder& finder, const TensorItem& item, uint64_t tile_bytes)
    : tensor_(view.tensors[item.tensor]),
      chunk_(tensor_.chunks[item.chunk]),
      item_(item),
      element_size_(ElementSize(tensor_.dtype)),
      elements_(item.data_bytes / element_size_),
      tile_elements_(TileElements(view, tensor_, tile_bytes)),
      tiles_(TileCount(view, item, tile_bytes)),
      tiles_left_(tiles_) {
  if (item.framing == Framing::kTorchSave) {
    archive_ = torchsave::LayOutTensorItem(tensor_.dtype, chunk_.shape);
    Check(archive_.total_bytes == item.total_bytes, "an item has the size that was planned");
    tile_crcs_.resize(tiles_);
  }
  Check(archive_.head.size() == item.head_bytes, "an item has the head that was planned");
  if (elements_ > 0) sources_ = finder.Find(tensor_, chunk_);
}

uint32_t TensorItemWriter::DataCrc() const {
  uint32_t crc = 0;
  for (uint64_t i = 0; i < tiles_; ++i) {
    const uint64_t tile_end = std::min(elements_, (i + 1) * tile_elements_);
    crc = CombineCrc32(crc, tile_crcs_[i], (tile_end - i * tile_elements_) * element_size_);
  }
  return crc;
}

bool TensorItemWriter::WriteTile(uint64_t index, fs::OutputFile& file, WorkerScratch& scratch) {
  const uint64_t begin = index * tile_elements_;
  const uint64_t end = std::min(elements_, begin + tile_elements_);
  const uint64_t bytes = TileBytes(index);
  // The head goes in front of the first tile and the tail behind an only one, so that a small item is one write.
  const std::string_view head = index == 0 ? std::string_view(archive_.head) : std::string_view();
  const uint64_t largest_tail = item_.total_bytes - item_.head_bytes - item_.data_bytes;
  if (scratch.out.size() < head.size() + bytes + largest_tail) scratch.out.resize(head.size() + bytes + largest_tail);
  std::memcpy(scratch.out.data(), head.data(), head.size());
  char* data = scratch.out.data() + head.size();
  ComputeTile(tensor_, chunk_, sources_, begin, end, scratch.tile, data);
  const bool has_tail = item_.framing == Framing::kTorchSave, only_tile = tiles_ == 1;
  if (has_tail) tile_crcs_[index] = Crc32(std::string_view(data, bytes));
  uint64_t length = head.size() + bytes;
  if (has_tail && only_tile) {
    const std::string tail = archive_.Tail(tile_crcs_[0]);
    std::memcpy(scratch.out.data() + length, tail.data(), tail.size());
    length += tail.size();
  }
  const uint64_t offset = item_.offset + (index == 0 ? 0 : item_.head_bytes + begin * element_size_);
  if (length > 0) TimedWrite(file, offset, std::string_view(scratch.out).substr(0, length), scratch);
  if (scratch.durability == fs::Durability::kSync && index % kWritebackTiles == kWritebackTiles - 1) {
    const uint64_t batch = std::min(offset - item_.offset, (kWritebackTiles - 1) * tile_elements_ * element_size_);
    file.StartWriteback(offset - batch, batch + length);
  }
  if (tiles_left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return false;
  if (has_tail && !only_tile) TimedWrite(file, item_.offset + item_.head_bytes + item_.data_bytes, archive_.Tail(DataCrc()), scratch);
  return true;
}

}  // namespace ck::run
