// What one stored chunk of the result is made of: which chunks of which inputs, located and ready to be read.
#ifndef CK_RUN_SOURCES_H_
#define CK_RUN_SOURCES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"
#include "libs/run/gather.h"
#include "libs/transform/piece.h"
#include "libs/transform/view.h"

namespace ck::run {

// A source chunk that a piece reads.
struct SourceChunk {
  Box box;  // of the leaf
  checkpoint::LocatedChunk located;
};

// One piece of the result chunk, with the source chunks of each term.
struct PieceSources {
  const transform::Piece* piece = nullptr;
  const transform::Leaf* leaf = nullptr;
  Box target;                                    // the piece's target cut to the result chunk; in tensor coordinates
  std::vector<std::vector<SourceChunk>> inputs;  // by position in leaf->terms
};

struct ChunkSources {
  std::vector<PieceSources> pieces;
  // True when all pieces have the same arithmetic, dtype and terms: a tile is then combined in one go.
  bool uniform = true;
};

// Finds the source chunks of result chunks. Thread-safe; opening item headers is the only I/O.
class SourceFinder {
 public:
  explicit SourceFinder(const transform::View& view);

  ChunkSources Find(const transform::Tensor& tensor, const Box& chunk) const;

 private:
  std::vector<SourceChunk> FindChunks(const transform::Leaf& leaf, const transform::Term& term, const Box& region) const;

  const transform::View& view_;
  // Per input and tensor: the largest extent of a chunk along dimension 0, which bounds how far back a sorted chunk list must be searched.
  std::vector<std::map<std::string, uint64_t, std::less<>>> first_extents_;
};

using transform::LeafRegion;
using transform::TargetInside;

// Splits the row-major element range [begin, end) of a box of this shape into boxes, in order. At most 2 * rank - 1 of them, 1 for rank 0.
std::vector<Box> BoxesOfRange(const Dims& shape, uint64_t begin, uint64_t end);

}  // namespace ck::run

#endif  // CK_RUN_SOURCES_H_
