// Whole tensors as bytes, for comparing in tests.
#ifndef CK_RUN_TESTING_READ_TENSOR_H_
#define CK_RUN_TESTING_READ_TENSOR_H_

#include <map>
#include <string>

#include "libs/checkpoint/checkpoint.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::run {

struct WholeTensor {
  DType dtype = DType::kF32;
  Dims shape;
  std::string bytes;  // row-major
  friend bool operator==(const WholeTensor&, const WholeTensor&) = default;
};

// Puts the chunks together by the definition of their offsets and strides, element by element: slow, and independent of the engine.
inline WholeTensor ReadTensor(const checkpoint::Checkpoint& checkpoint, const dcp::Tensor& tensor) {
  const uint64_t size = ElementSize(tensor.dtype);
  WholeTensor out{.dtype = tensor.dtype, .shape = tensor.shape, .bytes = std::string(*Volume(tensor.shape) * size, '\x5A')};
  const Dims strides = RowMajorStrides(tensor.shape);
  for (const dcp::Chunk& chunk : tensor.chunks) {
    if (chunk.box.IsEmpty()) continue;
    const checkpoint::LocatedChunk located = checkpoint.Locate(tensor, chunk);
    const std::string item = located.source->Read(0, located.source->size(), uint64_t{1} << 30);
    const uint64_t count = *Volume(chunk.box.shape);
    for (uint64_t n = 0; n < count; ++n) {
      uint64_t rest = n, from = 0, to = 0;
      for (size_t d = chunk.box.rank(); d-- > 0;) {
        const uint64_t i = rest % chunk.box.shape[d];
        rest /= chunk.box.shape[d];
        from += i * located.strides[d];
        to += (chunk.box.offset[d] + i) * strides[d];
      }
      out.bytes.replace(to * size, size, item, located.data_offset + from * size, size);
    }
  }
  return out;
}

inline std::map<std::string, WholeTensor> ReadTensors(const checkpoint::Checkpoint& checkpoint) {
  std::map<std::string, WholeTensor> out;
  for (const dcp::Tensor& tensor : checkpoint.tensors()) out[tensor.name] = ReadTensor(checkpoint, tensor);
  return out;
}

}  // namespace ck::run

#endif  // CK_RUN_TESTING_READ_TENSOR_H_
