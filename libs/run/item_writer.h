// Writes the items of a layout: byte objects as they are, tensor items tile by tile, with what stands around the data of each.
#ifndef CK_RUN_ITEM_WRITER_H_
#define CK_RUN_ITEM_WRITER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "libs/fs/write.h"
#include "libs/run/layout.h"
#include "libs/run/sources.h"
#include "libs/run/tile.h"
#include "libs/torchsave/write.h"

namespace ck::run {

// Everything one thread needs, reused for all its tiles.
struct WorkerScratch {
  TileScratch tile;
  std::string out;
  double save_seconds = 0;
  fs::Durability durability = fs::Durability::kSync;
};

// Copies one byte object into its place.
void WriteObjectItem(const transform::View& view, const ObjectItem& item, fs::OutputFile& file, WorkerScratch& scratch);

// A tensor item in flight. Tiles may be written by any threads in any order; the last one writes the tail.
class TensorItemWriter {
 public:
  TensorItemWriter(const transform::View& view, const SourceFinder& finder, const TensorItem& item, uint64_t tile_bytes);

  // Computes and writes tile `index`. Returns true when this was the item's last tile. A file that will be synced is sent on its way to the
  // disk as it grows, so that the sync has little left to wait for.
  bool WriteTile(uint64_t index, fs::OutputFile& file, WorkerScratch& scratch);

  // Bytes of the result in a tile.
  uint64_t TileBytes(uint64_t index) const;

  // The number of tiles of an item. A tile has at most `tile_bytes` bytes in each buffer: the widest dtype among the result and its leaves decides.
  static uint64_t TileCount(const transform::View& view, const TensorItem& item, uint64_t tile_bytes);

 private:
  // The CRC of the whole data, from those of the tiles.
  uint32_t DataCrc() const;

  const transform::Tensor& tensor_;
  const Box& chunk_;
  const TensorItem& item_;
  uint64_t element_size_;
  uint64_t elements_;
  uint64_t tile_elements_;
  torchsave::TensorItemLayout archive_;  // of Framing::kTorchSave
  ChunkSources sources_;
  uint64_t tiles_;
  std::vector<uint32_t> tile_crcs_;      // of Framing::kTorchSave
  std::atomic<uint64_t> tiles_left_;
};

}  // namespace ck::run

#endif  // CK_RUN_ITEM_WRITER_H_
