#include "libs/pickle/torch_objects.h"

#include <span>

#include "libs/pickle/literal.h"

namespace ck::pickle {
namespace {

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

bool IsString(const Graph& graph, Ref ref) {
  return graph.kind(ref) == Kind::kString;
}

// The arguments of a call without state or items; nothing for other nodes.
std::span<const Ref> PlainArgs(const Graph& graph, Ref ref) {
  if (graph.kind(ref) != Kind::kObject || graph.form(ref) != Form::kReduce) return {};
  return graph.items(graph.args(ref));
}

// Text whose code points are all below 256, as the bytes they stand for.
std::optional<std::string> FromLatin1(std::string_view utf8) {
  std::string out;
  for (size_t position = 0; position < utf8.size();) {
    const uint32_t code_point = NextCodePoint(utf8, position);
    if (code_point > 0xFF) return std::nullopt;
    out.push_back(static_cast<char>(code_point));
  }
  return out;
}

// (text, 'latin1')
std::optional<std::string> EncodedText(const Graph& graph, std::span<const Ref> args) {
  if (args.size() != 2 || !IsString(graph, args[0]) || !IsString(graph, args[1])) return std::nullopt;
  if (!IsOneOf(graph.bytes(args[1]), {"latin1", "latin-1"})) return std::nullopt;
  return FromLatin1(graph.bytes(args[0]));
}

// The class of a storage in a persistent id ('storage', class, key, location, numel).
Ref StorageClass(const Graph& graph, Ref persistent) {
  if (graph.kind(persistent) != Kind::kPersistent) return kNoRef;
  const Ref id = graph.args(persistent);
  if (graph.kind(id) != Kind::kTuple || graph.items(id).size() < 5) return kNoRef;
  const Ref storage_class = graph.items(id)[1];
  return graph.kind(storage_class) == Kind::kGlobal ? storage_class : kNoRef;
}

}  // namespace

bool IsBuiltin(const Graph& graph, Ref ref, std::string_view name) {
  return graph.IsGlobal(ref, "builtins", name) || graph.IsGlobal(ref, "__builtin__", name);
}

bool IsBuiltinCall(const Graph& graph, Ref ref, std::string_view name) {
  return graph.kind(ref) == Kind::kObject && IsBuiltin(graph, graph.callable(ref), name);
}

std::optional<std::string> BytesValue(const Graph& graph, Ref ref) {
  if (IsBuiltinCall(graph, ref, "bytearray")) {
    const auto args = PlainArgs(graph, ref);
    if (args.empty()) return "";
    if (args.size() == 2) return EncodedText(graph, args);
    if (args.size() != 1) return std::nullopt;
    ref = args[0];
  }
  if (graph.kind(ref) == Kind::kBytes) return std::string(graph.bytes(ref));
  const auto args = PlainArgs(graph, ref);
  if (IsBuiltinCall(graph, ref, "bytes") && args.empty()) return "";
  if (graph.IsCall(ref, "_codecs", "encode")) return EncodedText(graph, args);
  return std::nullopt;
}

std::optional<std::vector<uint64_t>> DimsValue(const Graph& graph, Ref ref) {
  if (graph.IsCall(ref, "torch", "Size")) {
    const auto args = PlainArgs(graph, ref);
    if (args.size() != 1) return std::nullopt;
    ref = args[0];
  }
  if (graph.kind(ref) != Kind::kTuple && graph.kind(ref) != Kind::kList) return std::nullopt;
  std::vector<uint64_t> dims;
  for (const Ref item : graph.items(ref)) {
    if (graph.kind(item) != Kind::kInt || graph.AsInt(item) < 0) return std::nullopt;
    dims.push_back(static_cast<uint64_t>(graph.AsInt(item)));
  }
  return dims;
}

std::optional<DType> DTypeValue(const Graph& graph, Ref ref) {
  if (graph.kind(ref) != Kind::kGlobal || graph.module(ref) != "torch") return std::nullopt;
  return DTypeFromTorchName(graph.name(ref));
}

std::optional<std::string> PathValue(const Graph& graph, Ref ref) {
  if (IsString(graph, ref)) return std::string(graph.bytes(ref));
  if (graph.kind(ref) != Kind::kObject || graph.kind(graph.callable(ref)) != Kind::kGlobal) return std::nullopt;
  const Ref path_class = graph.callable(ref);
  const std::string_view name = graph.name(path_class);
  if (!IsOneOf(graph.module(path_class), {"pathlib", "pathlib._local"})) return std::nullopt;
  const bool windows = IsOneOf(name, {"WindowsPath", "PureWindowsPath"});
  if (!windows && !IsOneOf(name, {"PosixPath", "PurePosixPath"})) return std::nullopt;
  const std::string_view separator = windows ? "\\" : "/";
  std::string path;
  for (const Ref part : PlainArgs(graph, ref)) {
    if (!IsString(graph, part)) return std::nullopt;
    const bool glued = path.empty() || path.ends_with(separator);
    path.append(glued ? "" : separator).append(graph.bytes(part));
  }
  return path.empty() ? "." : path;
}

std::optional<EnumValue> AsEnum(const Graph& graph, Ref ref) {
  const auto args = PlainArgs(graph, ref);
  if (args.empty()) return std::nullopt;
  if (IsBuiltinCall(graph, ref, "getattr")) {
    if (args.size() != 2 || graph.kind(args[0]) != Kind::kGlobal || !IsString(graph, args[1])) return std::nullopt;
    return EnumValue{graph.module(args[0]), graph.name(args[0]), kNoRef, graph.bytes(args[1])};
  }
  const Ref callable = graph.callable(ref);
  const bool scalar = graph.kind(args[0]) == Kind::kInt || IsString(graph, args[0]);
  if (args.size() != 1 || !scalar || graph.kind(callable) != Kind::kGlobal) return std::nullopt;
  return EnumValue{graph.module(callable), graph.name(callable), args[0], ""};
}

std::optional<TensorValue> AsTensorValue(const Graph& graph, Ref ref) {
  for (const std::string_view parameter : {"_rebuild_parameter", "_rebuild_parameter_with_state"}) {
    if (graph.IsCall(ref, "torch._utils", parameter) && !PlainArgs(graph, ref).empty()) ref = PlainArgs(graph, ref)[0];
  }
  const bool v2 = graph.IsCall(ref, "torch._utils", "_rebuild_tensor_v2");
  const bool v3 = graph.IsCall(ref, "torch._utils", "_rebuild_tensor_v3");
  const auto args = PlainArgs(graph, ref);
  if ((!v2 && !v3) || args.size() < (v3 ? 7 : 6)) return std::nullopt;
  std::optional<std::vector<uint64_t>> shape = DimsValue(graph, args[2]);
  if (!shape) return std::nullopt;
  if (v3) return TensorValue{DTypeValue(graph, args[6]), *std::move(shape)};
  const Ref storage_class = StorageClass(graph, args[0]);
  if (storage_class == kNoRef) return std::nullopt;
  return TensorValue{DTypeFromTorchStorageName(graph.name(storage_class)), *std::move(shape)};
}

}  // namespace ck::pickle
