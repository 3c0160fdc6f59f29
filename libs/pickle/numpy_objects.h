// numpy arrays and scalars inside a pickle, as numpy 1 and 2 write them. Like torch_objects.h: nothing for other
// shapes.
//
// Source: docs/formats/pickle.md
#ifndef CK_PICKLE_NUMPY_OBJECTS_H_
#define CK_PICKLE_NUMPY_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/pickle/graph.h"

namespace ck::pickle {

struct NumpyType {
  char kind = 0;      // 'b' bool, 'i', 'u', 'f', 'c' complex
  uint64_t size = 0;  // bytes of one element
  bool big_endian = false;

  // "uint32", "float64", "bool".
  std::string name() const;
};
// A numpy.dtype of a number.
std::optional<NumpyType> AsNumpyType(const Graph& graph, Ref ref);

enum class NumpyForm { kArray, kScalar };

struct NumpyValue {
  NumpyForm form = NumpyForm::kArray;
  NumpyType type;
  std::vector<uint64_t> shape;  // empty for a scalar
  bool fortran_order = false;   // the first dimension varies fastest
  std::string data;             // as many bytes as type and shape say

  uint64_t size() const { return data.size() / type.size; }
  // Decimal text of one element, by its place in `data`.
  std::string Element(uint64_t index) const;
};
std::optional<NumpyValue> AsNumpyValue(const Graph& graph, Ref ref);

}  // namespace ck::pickle

#endif  // CK_PICKLE_NUMPY_OBJECTS_H_
