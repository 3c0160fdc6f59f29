// Tensors of all experts at once whose Hugging Face form has other dimensions: kAlternate and kTranspose of the tables.
//
// Shapes.  Megatron: fc1 [E, 2m, h] with the gate in the first half of the rows, its bias [E, 2m], fc2 [E, h, m]. Hugging Face: [E, h, 2m] whose even columns are
//          the gate, its bias [E, 2m] likewise, [E, m, h].
// Source.  docs/formats/huggingface.md
#ifndef CK_HUGGINGFACE_COLUMNS_H_
#define CK_HUGGINGFACE_COLUMNS_H_

#include <optional>
#include <vector>

#include "libs/huggingface/tables.h"
#include "libs/tensor/box.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

// A tensor as boxes of one other tensor; Piece::leaf is 0.
struct Columns {
  Dims shape;                       // of the result; kAlternate of an export: one dimension more, [.., m, 2], whose last two are one in the file
  std::optional<Dims> file_shape;   // where it differs
  std::vector<transform::Piece> pieces;
};

// The Hugging Face tensor of a Megatron tensor of this shape. Preconditions: `transform` is kAlternate with an even dimension 1, or kTranspose with three dimensions.
Columns ToColumns(Transform transform, const Dims& megatron);
// The Megatron tensor of a Hugging Face tensor of this shape: the inverse. kAlternate: the last dimension is even.
Columns FromColumns(Transform transform, const Dims& hf);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_COLUMNS_H_
