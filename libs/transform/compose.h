// Substitution of one view into another: a transform says where its tensors come from in terms of the tensors before it, and Compose says it in terms of
// the leaves, so that any number of steps is one pass over the inputs.
//
// Chunks.  A result is stored along the boundaries of what it is made of: row l of a stacked tensor has the chunks of that row, a stack has those of its
//          layers. So steps done in one pass or one after the other give the same files.
// Dtypes.  Compose keeps the source's dtype. A cast after a step that rounded would need two roundings, which a view cannot say.
#ifndef CK_TRANSFORM_COMPOSE_H_
#define CK_TRANSFORM_COMPOSE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/transform/view.h"

namespace ck::transform {

// A tensor in terms of the tensors of a view: Piece::leaf indexes source.tensors, and axes and offsets are those of that tensor.
struct Draft {
  std::string name;
  DType dtype = DType::kF32;
  Dims shape;
  std::vector<Piece> pieces;  // tile the shape
};

// The same tensor in terms of source.leaves, with the chunks that its sources have. Preconditions: every piece reads inside its tensor; all tensors read
// have the draft's dtype (else InternalError transform.compose_dtype).
Tensor Compose(const View& source, const Draft& draft);

// For a result without source boundaries: rows of at most kMaxFreshChunkBytes each.
inline constexpr uint64_t kMaxFreshChunkBytes = uint64_t{512} << 20;
std::vector<Box> ChunksByRows(const Dims& shape, DType dtype, uint64_t max_bytes = kMaxFreshChunkBytes);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_COMPOSE_H_
