// The values of a leaf that no input has.
#ifndef CK_RUN_FILL_H_
#define CK_RUN_FILL_H_

#include <cstdint>

#include "libs/transform/view.h"

namespace ck::run {

// Writes `count` elements of the leaf: those with row-major index first, first + step, ... Values are computed in double and
// rounded once to the leaf's dtype. Precondition: leaf.arithmetic is kFill.
void FillElements(const transform::Leaf& leaf, uint64_t first, uint64_t step, uint64_t count, char* out);

}  // namespace ck::run

#endif  // CK_RUN_FILL_H_
