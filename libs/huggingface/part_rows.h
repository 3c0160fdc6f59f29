// Which rows of a Megatron tensor are the rows of each of its Hugging Face tensors, for every transform of the tables. Read one way it is the export, read the
// other way the import.
#ifndef CK_HUGGINGFACE_PART_ROWS_H_
#define CK_HUGGINGFACE_PART_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libs/huggingface/rows.h"
#include "libs/huggingface/tables.h"

namespace ck::huggingface {

// What the rows of fused tensors depend on.
struct FusedSizes {
  Heads heads;
  DeltaHeads delta;
  uint64_t vocab_size = 0;  // without padding
};

// What is added to every element on the way to Hugging Face, and taken away on the way back: 0, 1 or -1. `zero_centered`: Megatron's norms are.
double AddedBy(Transform transform, NormForm norm_form, bool zero_centered);

// `part` is an index into Rule::hf; `rows` is the number of rows of the Megatron tensor (of one expert), or of all that are joined, one after
// the other. RowRange::source is there, RowRange::target in the
// part. The parts' ranges cover every row of the Megatron tensor but its padding. kAlternate and kTranspose are no rows: columns.h.
std::vector<RowRange> RowsOfPart(Transform transform, size_t part, uint64_t rows, const FusedSizes& sizes);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_PART_ROWS_H_
