// Computes a range of elements of one result chunk: reads each input's share, combines, and leaves the bytes in a buffer.
#ifndef CK_RUN_TILE_H_
#define CK_RUN_TILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/run/gather.h"
#include "libs/run/sources.h"
#include "libs/transform/view.h"

namespace ck::run {

// Buffers of one thread, reused for every tile: one per input of a sum, and the scratch of scattered reads. Memory is (inputs + 2) x tile.
struct TileScratch {
  std::vector<std::string> inputs;
  GatherScratch gather;
  // Seconds spent, summed over tiles.
  double load_seconds = 0;
  std::vector<double> load_seconds_of_input;  // as far as any was read
  double accumulation_seconds = 0;
  std::string before_addition;
  uint64_t inexact_additions = 0;  // elements that taking Tensor::added away again would not restore
};

// Writes elements [begin, end) of the row-major result chunk to `out`, in the tensor's dtype.
void ComputeTile(const transform::Tensor& tensor, const Box& chunk, const ChunkSources& sources, uint64_t begin, uint64_t end,
                 TileScratch& scratch, char* out);

}  // namespace ck::run

#endif  // CK_RUN_TILE_H_
