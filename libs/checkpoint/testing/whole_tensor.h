// A whole tensor in memory, put together from its chunks the slow and obvious way: element by element, by the strides.
// Testonly.
#ifndef CK_CHECKPOINT_TESTING_WHOLE_TENSOR_H_
#define CK_CHECKPOINT_TESTING_WHOLE_TENSOR_H_

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/checkpoint/checkpoint.h"

namespace ck::checkpoint {

// Steps `index` through `shape` in row-major order; false at the end.
inline bool Next(Dims& index, const Dims& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

inline std::string WholeTensor(const Checkpoint& checkpoint, const dcp::Tensor& tensor) {
  const uint64_t element = ElementSize(tensor.dtype);
  const Dims whole_strides = RowMajorStrides(tensor.shape);
  std::string out(*Volume(tensor.shape) * element, '\x5A');
  std::vector<bool> seen(*Volume(tensor.shape));
  for (const dcp::Chunk& chunk : tensor.chunks) {
    const LocatedChunk located = checkpoint.Locate(tensor, chunk);
    EXPECT_EQ(located.shape, chunk.box.shape);
    if (chunk.box.IsEmpty()) continue;
    Dims index(chunk.box.rank(), 0);
    do {
      uint64_t from = 0, to = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        from += located.strides[d] * index[d];
        to += whole_strides[d] * (chunk.box.offset[d] + index[d]);
      }
      EXPECT_FALSE(seen[to]) << tensor.name << ": an element in two chunks";
      seen[to] = true;
      located.source->ReadInto(located.data_offset + from * element, element, out.data() + to * element);
    } while (Next(index, chunk.box.shape));
  }
  EXPECT_TRUE(std::find(seen.begin(), seen.end(), false) == seen.end()) << tensor.name << ": an element in no chunk";
  return out;
}

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_TESTING_WHOLE_TENSOR_H_
