// Compares, before anything is written, the tensors that all inputs must share to the byte.
#ifndef CK_RUN_IDENTICAL_H_
#define CK_RUN_IDENTICAL_H_

#include "libs/transform/view.h"

namespace ck::run {

// Reads every leaf of Arithmetic::kIdentical from all its inputs. Throws Error(kInput, "merge.not_identical") naming the tensors that differ and the first
// differing element of the first one.
void CheckIdentical(const transform::View& view);

}  // namespace ck::run

#endif  // CK_RUN_IDENTICAL_H_
