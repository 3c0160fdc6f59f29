#include "libs/dcp/properties.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::dcp {
namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

constexpr std::string_view kMemoryFormats[] = {"TORCH_CONTIGUOUS_FORMAT", "TORCH_CHANNELS_LAST", "TORCH_PRESERVE_FORMAT"};

bool IsMemoryFormatClass(const Graph& graph, Ref ref) {
  return graph.IsGlobal(ref, "torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING") ||
         graph.IsGlobal(ref, "torch.distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING");
}

bool IsMemoryFormatValue(const Graph& graph, Ref ref) {
  if (graph.kind(ref) != Kind::kInt) return false;
  const int64_t value = graph.AsInt(ref);
  return value >= 0 && value < static_cast<int64_t>(std::size(kMemoryFormats));
}

// An enum member: its class called with its value, or, as Python 3.11.2 writes it, getattr called with class and name.
bool IsMemoryFormat(const Graph& graph, Ref ref) {
  if (IsMemoryFormatValue(graph, ref)) return true;
  if (graph.kind(ref) != Kind::kObject) return false;
  const std::span<const Ref> args = graph.items(graph.args(ref));
  const Ref callable = graph.callable(ref);
  if (IsMemoryFormatClass(graph, callable)) return args.size() == 1 && IsMemoryFormatValue(graph, args[0]);
  const bool is_getattr = graph.IsGlobal(callable, "builtins", "getattr") || graph.IsGlobal(callable, "__builtin__", "getattr");
  if (!is_getattr || args.size() != 2 || !IsMemoryFormatClass(graph, args[0]) || graph.kind(args[1]) != Kind::kString) return false;
  return std::find(std::begin(kMemoryFormats), std::end(kMemoryFormats), graph.bytes(args[1])) != std::end(kMemoryFormats);
}

bool IsStrided(const Graph& graph, Ref ref) {
  if (!graph.IsCall(ref, "torch.serialization", "_get_layout")) return false;
  const std::span<const Ref> args = graph.items(graph.args(ref));
  return args.size() == 1 && graph.kind(args[0]) == Kind::kString && graph.bytes(args[0]) == "torch.strided";
}

bool IsFlag(const Graph& graph, Ref ref) { return graph.kind(ref) == Kind::kBool || graph.kind(ref) == Kind::kNone; }

DType DTypeOf(const Nodes& nodes, Ref ref) {
  const Graph& graph = nodes.graph();
  if (graph.kind(ref) != Kind::kGlobal || graph.module(ref) != "torch") nodes.Unexpected(ref, "dtype", "a dtype of torch");
  const std::optional<DType> dtype = DTypeFromTorchName(graph.name(ref));
  if (!dtype) throw InputError("dcp.unknown_dtype", Cat("dtype ", Quote(Cat("torch.", graph.name(ref))), " is not one that ck reads"));
  return *dtype;
}

}  // namespace

DType ReadDType(Nodes& nodes, Ref properties) {
  nodes.ExpectInstance(properties, Class::kProperties);
  const Graph& graph = nodes.graph();
  const Ref state = graph.state(properties);
  if (state == kNoRef || graph.kind(state) != Kind::kTuple || graph.items(state).size() != 5) {
    nodes.Unexpected(state, "state of TensorProperties", "a tuple of dtype, layout, requires_grad, memory format, pin_memory");
  }
  const std::span<const Ref> members = graph.items(state);
  const DType dtype = DTypeOf(nodes, members[0]);
  if (!IsStrided(graph, members[1])) nodes.Unexpected(members[1], "layout", "torch.strided");
  if (!IsFlag(graph, members[2])) nodes.Unexpected(members[2], "requires_grad", "a bool");
  if (!IsMemoryFormat(graph, members[3])) nodes.Unexpected(members[3], "memory format", "a member of torch's enumeration");
  if (!IsFlag(graph, members[4])) nodes.Unexpected(members[4], "pin_memory", "a bool");
  return dtype;
}

}  // namespace ck::dcp
