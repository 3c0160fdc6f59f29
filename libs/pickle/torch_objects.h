// What common calls and globals inside a pickle stand for. Each function looks at one node and gives nothing when it
// has another shape: odd input is no error here. Nothing recurses, and nothing is copied but the result.
//
// Source: docs/formats/pickle.md
#ifndef CK_PICKLE_TORCH_OBJECTS_H_
#define CK_PICKLE_TORCH_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/tensor/dtype.h"

namespace ck::pickle {

// True for a global of module `builtins`, by its Python 2 name `__builtin__` too.
bool IsBuiltin(const Graph& graph, Ref ref, std::string_view name);
// True for a call of one.
bool IsBuiltinCall(const Graph& graph, Ref ref, std::string_view name);

// bytes and bytearrays in all their spellings: kBytes, _codecs.encode(text, 'latin1'), builtins.bytes(),
// builtins.bytearray(bytes) or builtins.bytearray(text, 'latin-1').
std::optional<std::string> BytesValue(const Graph& graph, Ref ref);

// A torch.Size, or a plain tuple or list, of integers that are not negative.
std::optional<std::vector<uint64_t>> DimsValue(const Graph& graph, Ref ref);

// The global torch.<dtype>.
std::optional<DType> DTypeValue(const Graph& graph, Ref ref);

// The text of a str or of a pathlib path: PosixPath('/', 'data', 'x') or PosixPath('/data/x'), pathlib or
// pathlib._local.
std::optional<std::string> PathValue(const Graph& graph, Ref ref);

// A member of an enumeration: Class(value), or getattr(Class, 'NAME') as some releases of Python 3.11 write it.
struct EnumValue {
  std::string_view module, name;  // of the class; views into the graph
  Ref value = kNoRef;             // a kInt or kString; kNoRef when written by name
  std::string_view member;        // the NAME; "" when written by value
};
// Any call of a global with one int or str as its argument looks like a member: the caller compares the class.
std::optional<EnumValue> AsEnum(const Graph& graph, Ref ref);

// A tensor as torch.save pickles it: _rebuild_tensor_v2 or _v3 (also inside of _rebuild_parameter). Where its data is,
// libs/torchsave says.
struct TensorValue {
  std::optional<DType> dtype;  // none for quantized and other types that ck does not know
  std::vector<uint64_t> shape;
};
std::optional<TensorValue> AsTensorValue(const Graph& graph, Ref ref);

}  // namespace ck::pickle

#endif  // CK_PICKLE_TORCH_OBJECTS_H_
