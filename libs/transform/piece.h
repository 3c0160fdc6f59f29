// The geometry of one piece: which indices of its source belong to which indices of its target.
#ifndef CK_TRANSFORM_PIECE_H_
#define CK_TRANSFORM_PIECE_H_

#include <optional>

#include "libs/tensor/box.h"
#include "libs/transform/view.h"

namespace ck::transform {

// The box of the leaf that the target box (in tensor coordinates, inside piece.target) reads: the smallest box around it when steps are larger than 1.
Box LeafRegion(const Piece& piece, const Box& target);

// The part of `target` (in tensor coordinates, inside piece.target) whose source indices lie in `leaf_box`; nullopt when there is none.
std::optional<Box> TargetInside(const Piece& piece, const Box& target, const Box& leaf_box);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_PIECE_H_
