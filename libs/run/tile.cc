#include "libs/run/tile.h"

#include <chrono>

#include "libs/base/error.h"
#include "libs/kernels/accumulate.h"
#include "libs/run/fill.h"

namespace ck::run {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A tile: elements [begin, end) of a chunk, as boxes in tensor coordinates.
struct Tile {
  const transform::Tensor& tensor;
  const Box& chunk;
  Dims strides;  // row-major, of the chunk
  uint64_t begin;
  uint64_t end;
  std::vector<Box> boxes;

  // The position of a tensor index in the tile's buffer, in elements.
  uint64_t Position(const Dims& index) const {
    uint64_t linear = 0;
    for (size_t d = 0; d < index.size(); ++d) linear += (index[d] - chunk.offset[d]) * strides[d];
    return linear - begin;
  }
};

Tile MakeTile(const transform::Tensor& tensor, const Box& chunk, uint64_t begin, uint64_t end) {
  Tile tile{.tensor = tensor, .chunk = chunk, .strides = RowMajorStrides(chunk.shape), .begin = begin, .end = end, .boxes = BoxesOfRange(chunk.shape, begin, end)};
  for (Box& box : tile.boxes) {
    for (size_t d = 0; d < box.offset.size(); ++d) box.offset[d] += chunk.offset[d];
  }
  return tile;
}

// Reads the part of `region` that lies in one source chunk into `buffer`, which holds the tile in the leaf's dtype.
void GatherFromChunk(const Tile& tile, const transform::Piece& piece, const SourceChunk& source, const Box& region, uint64_t element_size,
                     GatherScratch& scratch, char* buffer) {
  const auto part = TargetInside(piece, region, source.box);
  if (!part) return;
  const Box leaf = LeafRegion(piece, *part);
  uint64_t element = 0;
  StridedCopy copy{.element_size = element_size, .source_offset = 0, .extents = part->shape, .source_strides = Dims(part->rank(), 0), .target_strides = tile.strides};
  for (size_t d = 0; d < leaf.rank(); ++d) {
    const uint64_t stride = source.located.strides[d];
    element += (leaf.offset[d] - source.box.offset[d]) * stride;
    if (piece.axes[d].result_axis != transform::SourceAxis::kFixed) {
      copy.source_strides[static_cast<size_t>(piece.axes[d].result_axis)] += stride * piece.axes[d].step;
    }
  }
  copy.source_offset = source.located.data_offset + element * element_size;
  Gather(*source.located.source, std::move(copy), buffer + tile.Position(part->offset) * element_size, scratch);
}

// Reads one term's share of every piece in the tile.
void GatherTerm(const Tile& tile, const PieceSources& piece, size_t term, GatherScratch& scratch, char* buffer) {
  const uint64_t element_size = ElementSize(piece.leaf->dtype);
  for (const Box& box : tile.boxes) {
    const auto region = Intersect(box, piece.target);
    if (!region) continue;
    for (const SourceChunk& source : piece.inputs[term]) {
      GatherFromChunk(tile, *piece.piece, source, *region, element_size, scratch, buffer);
    }
  }
}

// The same, timed.
void LoadTerm(const Tile& tile, const PieceSources& piece, size_t term, TileScratch& scratch, char* buffer) {
  const auto start = Clock::now();
  GatherTerm(tile, piece, term, scratch.gather, buffer);
  const uint32_t input = piece.leaf->terms[term].input;
  if (scratch.load_seconds_of_input.size() <= input) scratch.load_seconds_of_input.resize(input + 1);
  scratch.load_seconds_of_input[input] += SecondsSince(start);
}

bool IsPlainCopy(const transform::Leaf& leaf, DType result) {
  return leaf.arithmetic != transform::Arithmetic::kWeightedSum && leaf.dtype == result;
}

// Calls visit(index, position, count) for each run of the region that is contiguous in the tile: the tensor index of its first element and its place there.
template <typename Visit>
void ForEachRun(const Tile& tile, const Box& region, Visit visit) {
  Dims index = region.offset;
  const size_t rank = region.rank();
  const uint64_t count = rank == 0 ? 1 : region.shape[rank - 1];
  while (true) {
    visit(index, tile.Position(index), count);
    size_t d = rank == 0 ? 0 : rank - 1;
    while (d > 0) {
      --d;
      if (++index[d] < region.offset[d] + region.shape[d]) break;
      index[d] = region.offset[d];
      if (d == 0) return;
    }
    if (rank <= 1) return;
  }
}

// Writes the elements of a piece that no input has.
void FillPiece(const Tile& tile, const PieceSources& sources, char* out) {
  const transform::Piece& piece = *sources.piece;
  const transform::Leaf& leaf = *sources.leaf;
  const Dims leaf_strides = RowMajorStrides(leaf.shape);
  for (const Box& box : tile.boxes) {
    const auto region = Intersect(box, piece.target);
    if (!region) continue;
    const size_t rank = region->rank();
    ForEachRun(tile, *region, [&](const Dims& index, uint64_t position, uint64_t count) {
      uint64_t first = 0, step = 0;  // of the run, in elements of the leaf
      for (size_t d = 0; d < leaf_strides.size(); ++d) {
        uint64_t at = piece.source_offset[d];
        if (const int32_t axis = piece.axes[d].result_axis; axis != transform::SourceAxis::kFixed) {
          const auto a = static_cast<size_t>(axis);
          at += piece.axes[d].step * (index[a] - piece.target.offset[a]);
          if (a + 1 == rank) step += piece.axes[d].step * leaf_strides[d];
        }
        first += at * leaf_strides[d];
      }
      FillElements(leaf, first, step, count, out + position * ElementSize(leaf.dtype));
    });
  }
}

// The inputs that are read: all of a sum, none of a fill, the first of anything else (identical ones were compared before).
size_t TermsRead(const transform::Leaf& leaf) {
  if (leaf.arithmetic == transform::Arithmetic::kFill) return 0;
  return leaf.arithmetic == transform::Arithmetic::kWeightedSum ? leaf.terms.size() : 1;
}

// Combines elements [first, first + count) of the tile from the input buffers into `out`.
void Combine(const transform::Leaf& leaf, DType result, TileScratch& scratch, uint64_t first, uint64_t count, char* out) {
  const uint64_t in_size = ElementSize(leaf.dtype);
  char* target = out + first * ElementSize(result);
  if (leaf.arithmetic != transform::Arithmetic::kWeightedSum) {
    kernels::Cast(leaf.dtype, result, scratch.inputs[0].data() + first * in_size, target, count);
    return;
  }
  std::vector<const char*> inputs;
  std::vector<double> weights;
  for (size_t k = 0; k < leaf.terms.size(); ++k) {
    inputs.push_back(scratch.inputs[k].data() + first * in_size);
    weights.push_back(leaf.terms[k].weight);
  }
  kernels::WeightedSum(leaf.dtype, result, inputs, weights, target, count);
}

void PrepareBuffers(const ChunkSources& sources, uint64_t elements, TileScratch& scratch) {
  for (const PieceSources& piece : sources.pieces) {
    if (scratch.inputs.size() < piece.leaf->terms.size()) scratch.inputs.resize(piece.leaf->terms.size());
    const uint64_t bytes = elements * ElementSize(piece.leaf->dtype);
    for (size_t k = 0; k < piece.leaf->terms.size(); ++k) {
      if (scratch.inputs[k].size() < bytes) scratch.inputs[k].resize(bytes);
    }
  }
}

// All pieces share one recipe: gather everything, then combine the whole tile once.
void ComputeUniform(const Tile& tile, const ChunkSources& sources, TileScratch& scratch, char* out) {
  const transform::Leaf& leaf = *sources.pieces[0].leaf;
  const bool plain = IsPlainCopy(leaf, tile.tensor.dtype);
  if (!plain) PrepareBuffers(sources, tile.end - tile.begin, scratch);
  const auto start = Clock::now();
  for (const PieceSources& piece : sources.pieces) {
    if (leaf.arithmetic == transform::Arithmetic::kFill) FillPiece(tile, piece, out);
    for (size_t k = 0; k < TermsRead(leaf); ++k) {
      LoadTerm(tile, piece, k, scratch, plain ? out : scratch.inputs[k].data());
    }
  }
  scratch.load_seconds += SecondsSince(start);
  if (plain) return;
  const auto loaded = Clock::now();
  Combine(leaf, tile.tensor.dtype, scratch, 0, tile.end - tile.begin, out);
  scratch.accumulation_seconds += SecondsSince(loaded);
}

// Pieces with different recipes: gather and combine piece by piece, run by run.
void ComputeMixed(const Tile& tile, const ChunkSources& sources, TileScratch& scratch, char* out) {
  PrepareBuffers(sources, tile.end - tile.begin, scratch);
  for (const PieceSources& piece : sources.pieces) {
    const bool plain = IsPlainCopy(*piece.leaf, tile.tensor.dtype);
    const auto start = Clock::now();
    if (piece.leaf->arithmetic == transform::Arithmetic::kFill) FillPiece(tile, piece, out);
    for (size_t k = 0; k < TermsRead(*piece.leaf); ++k) {
      LoadTerm(tile, piece, k, scratch, plain ? out : scratch.inputs[k].data());
    }
    scratch.load_seconds += SecondsSince(start);
    if (plain) continue;
    const auto loaded = Clock::now();
    for (const Box& box : tile.boxes) {
      const auto region = Intersect(box, piece.target);
      if (!region) continue;
      ForEachRun(tile, *region, [&](const Dims&, uint64_t first, uint64_t count) { Combine(*piece.leaf, tile.tensor.dtype, scratch, first, count, out); });
    }
    scratch.accumulation_seconds += SecondsSince(loaded);
  }
}

}  // namespace

void ComputeTile(const transform::Tensor& tensor, const Box& chunk, const ChunkSources& sources, uint64_t begin, uint64_t end,
                 TileScratch& scratch, char* out) {
  if (begin >= end) return;
  Check(!sources.pieces.empty(), "a chunk with elements has pieces");
  const Tile tile = MakeTile(tensor, chunk, begin, end);
  if (sources.uniform) {
    ComputeUniform(tile, sources, scratch, out);
  } else {
    ComputeMixed(tile, sources, scratch, out);
  }
  if (tensor.added == 0) return;
  scratch.before_addition.assign(out, (end - begin) * ElementSize(tensor.dtype));
  scratch.inexact_additions += kernels::AddConstant(tensor.dtype, tensor.added, scratch.before_addition.data(), out, end - begin);
}

}  // namespace ck::run
