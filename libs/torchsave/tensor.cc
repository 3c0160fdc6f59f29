#include <algorithm>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/storage_id.h"

namespace ck::torchsave {
namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

// A parameter of a subclass of a tensor: three calls around one another. A cycle would have no end.
constexpr int kMaxWrappers = 16;

[[noreturn]] void BadTensor(const std::string& what) {
  throw InputError("torchsave.bad_tensor", Cat("a tensor ", what));
}

// A call whose function may stand in a node of its own or among the arguments of another call.
struct Call {
  Ref function = kNoRef;
  Ref args = kNoRef;
};

Call CallOf(const Graph& graph, Ref node) {
  if (graph.kind(node) != Kind::kObject) return {};
  return {graph.callable(node), graph.args(node)};
}

bool IsTuple(const Graph& graph, Ref ref) {
  return ref != kNoRef && graph.kind(ref) == Kind::kTuple;
}

// Argument i; torchsave.bad_tensor when there are fewer.
Ref Argument(const Graph& graph, const Call& call, size_t i) {
  if (!IsTuple(graph, call.args) || graph.items(call.args).size() <= i)
    BadTensor(Cat("lacks argument ", i, " of ", graph.name(call.function)));
  return graph.items(call.args)[i];
}

uint64_t Natural(const Graph& graph, Ref ref, std::string_view what) {
  if (graph.kind(ref) != Kind::kInt || graph.AsInt(ref) < 0)
    BadTensor(Cat("whose ", what, " is no natural number below 2^63"));
  return static_cast<uint64_t>(graph.AsInt(ref));
}

Dims Naturals(const Graph& graph, Ref ref, std::string_view what) {
  // torch.Size appears where a program made the call itself.
  if (graph.IsCall(ref, "torch", "Size")) ref = Argument(graph, CallOf(graph, ref), 0);
  if (!IsTuple(graph, ref)) BadTensor(Cat("whose ", what, " is no tuple"));
  if (graph.items(ref).size() > kMaxRank)
    BadTensor(Cat("with ", graph.items(ref).size(), " dimensions; torch allows ", kMaxRank));
  Dims out;
  for (const Ref item : graph.items(ref)) out.push_back(Natural(graph, item, what));
  return out;
}

bool Flag(const Graph& graph, Ref dict, std::string_view key) {
  const Ref value = graph.Find(dict, key);
  return value != kNoRef && graph.kind(value) == Kind::kBool && graph.AsBool(value);
}

DType UntypedDType(const Graph& graph, Ref ref) {
  if (graph.kind(ref) != Kind::kGlobal || graph.module(ref) != "torch")
    BadTensor("whose type is no attribute of torch");
  const auto dtype = DTypeFromTorchName(graph.name(ref));
  if (!dtype) BadTensor(Cat("of a type that ck does not know: ", Quote(graph.name(ref))));
  return *dtype;
}

// Every element that the shape and strides reach lies in the storage.
void CheckInside(const TensorView& view) {
  const uint64_t elements = view.storage.size_bytes / ElementSize(view.dtype);
  const auto volume = Volume(view.shape);
  const bool countable = volume && CheckedMul(*volume, ElementSize(view.dtype));
  std::optional<uint64_t> last = view.storage_offset;  // the highest element index reached
  for (size_t d = 0; volume != 0 && last && d < view.shape.size(); ++d) {
    const auto reach = CheckedMul(view.shape[d] - 1, view.strides[d]);
    last = reach ? CheckedAdd(*last, *reach) : std::nullopt;
  }
  const bool inside = last && (volume == 0 ? *last <= elements : *last < elements);
  if (countable && inside && view.storage.size_bytes % ElementSize(view.dtype) == 0) return;
  BadTensor(Cat("of shape ", FormatDims(view.shape), ", strides ", FormatDims(view.strides), " and offset ",
                view.storage_offset, " of type ", Name(view.dtype), " does not fit its storage ",
                Quote(view.storage.key), " of ", view.storage.size_bytes, " bytes"));
}

// _rebuild_tensor(storage, offset, size, stride), _v2(..., requires_grad, hooks[, metadata]), _v3(..., requires_grad,
// hooks, dtype[, metadata]).
TensorView Rebuild(const SavedObject& object, const Call& call) {
  const Graph& graph = object.graph;
  const bool is_v3 = graph.name(call.function) == "_rebuild_tensor_v3";
  const Ref storage_ref = Argument(graph, call, 0);
  if (graph.kind(storage_ref) != Kind::kPersistent) BadTensor("whose storage is no persistent id");
  const StorageId id = ParseStorageId(graph, storage_ref);
  const Storage* storage = object.FindStorage(id.key);
  if (storage == nullptr)
    throw InputError("torchsave.storage_missing", Cat("storage ", Quote(id.key), " is not in the file"));

  TensorView view;
  view.storage = *storage;
  view.storage_offset = Natural(graph, Argument(graph, call, 1), "storage offset");
  view.shape = Naturals(graph, Argument(graph, call, 2), "size");
  view.strides = Naturals(graph, Argument(graph, call, 3), "stride");
  if (view.shape.size() != view.strides.size())
    BadTensor(Cat("with ", view.shape.size(), " dimensions and ", view.strides.size(), " strides"));
  if (is_v3) {
    view.dtype = UntypedDType(graph, Argument(graph, call, 6));
  } else if (id.dtype) {
    view.dtype = *id.dtype;
  } else {
    BadTensor("whose storage has no type");
  }
  CheckInside(view);

  const size_t metadata = is_v3 ? 7 : 6;
  if (graph.items(call.args).size() > metadata && graph.kind(graph.items(call.args)[metadata]) == Kind::kDict) {
    view.conj = Flag(graph, graph.items(call.args)[metadata], "conj");
    view.neg = Flag(graph, graph.items(call.args)[metadata], "neg");
  }
  return view;
}

bool IsRebuild(const Graph& graph, Ref function) {
  return graph.IsGlobal(function, "torch._utils", "_rebuild_tensor_v2") ||
         graph.IsGlobal(function, "torch._utils", "_rebuild_tensor_v3") ||
         graph.IsGlobal(function, "torch._utils", "_rebuild_tensor");
}

// Calls whose first argument is the tensor.
bool IsParameter(const Graph& graph, Ref function) {
  return graph.IsGlobal(function, "torch._utils", "_rebuild_parameter") ||
         graph.IsGlobal(function, "torch._utils", "_rebuild_parameter_with_state") ||
         graph.IsGlobal(function, "torch.nn.parameter", "Parameter") ||
         graph.IsGlobal(function, "torch.nn.parameter", "Buffer");
}

// Of subclasses and of tensors with attributes: (function, class, args, state).
bool IsFromType(const Graph& graph, Ref function) {
  return graph.IsGlobal(function, "torch._tensor", "_rebuild_from_type_v2") ||
         graph.IsGlobal(function, "torch.tensor", "_rebuild_from_type_v2");
}

}  // namespace

bool TensorView::IsRowMajor() const {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  const Dims dense = RowMajorStrides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && strides[d] != dense[d]) return false;
  }
  return true;
}

std::optional<TensorView> AsTensor(const SavedObject& object, Ref node) {
  const Graph& graph = object.graph;
  Call call = CallOf(graph, node);
  for (int wrappers = 0; wrappers <= kMaxWrappers; ++wrappers) {
    if (call.function == kNoRef) return std::nullopt;
    if (IsRebuild(graph, call.function)) return Rebuild(object, call);
    if (IsParameter(graph, call.function)) {
      if (!IsTuple(graph, call.args) || graph.items(call.args).empty()) return std::nullopt;
      call = CallOf(graph, graph.items(call.args)[0]);
    } else if (IsFromType(graph, call.function)) {
      call = {Argument(graph, call, 0), Argument(graph, call, 2)};
    } else {
      return std::nullopt;
    }
  }
  BadTensor(Cat("inside more than ", kMaxWrappers, " parameters"));
}

}  // namespace ck::torchsave
