// The data.pkl that torch.save writes for one row-major CPU tensor in a storage of its own, opcode for opcode.
// Source: docs/formats/torch_save.md.
#ifndef CK_TORCHSAVE_TENSOR_PICKLE_H_
#define CK_TORCHSAVE_TENSOR_PICKLE_H_

#include <string>

#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::torchsave {

// Throws torchsave.bad_tensor for a tensor that torch cannot have: more than kMaxRank dimensions, or a size, stride or
// number of bytes of 2^63 or more.
std::string TensorPickle(DType dtype, const Dims& shape);
// ElementSize times Volume, or torchsave.bad_tensor.
uint64_t TensorBytes(DType dtype, const Dims& shape);

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_TENSOR_PICKLE_H_
