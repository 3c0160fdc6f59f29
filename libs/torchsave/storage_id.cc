#include "libs/torchsave/storage_id.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::torchsave {
namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::Ref;

[[noreturn]] void BadId(std::string_view what) {
  throw InputError("torchsave.bad_tensor", Cat("a persistent id that is no storage: ", what));
}

bool IsString(const Graph& graph, Ref ref, std::string_view text) {
  return graph.kind(ref) == Kind::kString && graph.bytes(ref) == text;
}

// Storage classes without a DType: bytes, and quantized values (packed ones count bytes).
std::optional<uint64_t> OtherElementBytes(std::string_view name) {
  if (name == "UntypedStorage" || name == "QInt8Storage" || name == "QUInt8Storage" || name == "QUInt4x2Storage" ||
      name == "QUInt2x4Storage")
    return 1;
  if (name == "QInt32Storage") return 4;
  return std::nullopt;
}

void ReadClass(const Graph& graph, Ref ref, StorageId& id) {
  if (graph.kind(ref) != Kind::kGlobal) BadId("its second field is no class");
  const std::string_view module = graph.module(ref), name = graph.name(ref);
  if (module == "torch" || module == "torch.cuda" || module == "torch.storage") {
    id.dtype = DTypeFromTorchStorageName(name);
    const auto element_bytes = id.dtype ? ElementSize(*id.dtype) : OtherElementBytes(name);
    if (element_bytes) {
      id.element_bytes = *element_bytes;
      return;
    }
  }
  BadId(Cat("class ", Quote(Cat(module, ".", name)), " is not one of torch's storages"));
}

// Pushes what a node refers to so that a stack gives it back in the order in which a pickler writes it.
void PushChildren(const Graph& graph, Ref ref, std::vector<Ref>& stack) {
  const size_t first = stack.size();
  const auto push = [&](Ref child) {
    if (child != pickle::kNoRef) stack.push_back(child);
  };
  switch (graph.kind(ref)) {
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kSet:
    case Kind::kFrozenSet:
      for (const Ref item : graph.items(ref)) push(item);
      break;
    case Kind::kDict:
      for (const auto& [key, value] : graph.entries(ref)) push(key), push(value);
      break;
    case Kind::kObject:
      push(graph.callable(ref));
      push(graph.args(ref));
      push(graph.kwargs(ref));
      for (const Ref item : graph.items(ref)) push(item);
      for (const auto& [key, value] : graph.entries(ref)) push(key), push(value);
      push(graph.state(ref));
      break;
    case Kind::kPersistent:  // its id holds no further storages
    default:
      break;
  }
  std::reverse(stack.begin() + static_cast<ptrdiff_t>(first), stack.end());
}

}  // namespace

StorageId ParseStorageId(const Graph& graph, Ref persistent) {
  const Ref tuple = graph.args(persistent);
  if (graph.kind(tuple) != Kind::kTuple) BadId("it is no tuple");
  const auto& fields = graph.items(tuple);
  if (fields.size() != 5 && fields.size() != 6) BadId(Cat("it has ", fields.size(), " fields, not 5 or 6"));
  if (!IsString(graph, fields[0], "storage")) BadId("its first field is not 'storage'");
  StorageId id;
  ReadClass(graph, fields[1], id);
  if (graph.kind(fields[2]) != Kind::kString || graph.bytes(fields[2]).empty()) BadId("its key is no text");
  id.key = graph.bytes(fields[2]);
  if (graph.kind(fields[4]) != Kind::kInt || graph.AsInt(fields[4]) < 0)
    BadId("its number of elements is no natural number");
  if (fields.size() == 6 && graph.kind(fields[5]) != Kind::kNone)
    BadId("a view of another storage, which torch no longer writes");
  const auto size_bytes = CheckedMul(static_cast<uint64_t>(graph.AsInt(fields[4])), id.element_bytes);
  if (!size_bytes) {
    throw InputError("torchsave.limit_exceeded", Cat("storage ", Quote(id.key), " claims ", graph.AsInt(fields[4]),
                                                     " elements of ", id.element_bytes, " bytes"));
  }
  id.size_bytes = *size_bytes;
  return id;
}

std::vector<Ref> PersistentNodes(const Graph& graph, Ref root) {
  std::vector<bool> seen(graph.size());
  std::vector<Ref> stack = {root}, found;
  while (!stack.empty()) {
    const Ref ref = stack.back();
    stack.pop_back();
    if (seen[ref]) continue;
    seen[ref] = true;
    if (graph.kind(ref) == Kind::kPersistent) found.push_back(ref);
    PushChildren(graph, ref, stack);
  }
  return found;
}

std::vector<StorageId> StorageIds(const Graph& graph, Ref root) {
  std::vector<StorageId> ids;
  std::map<std::string, size_t> by_key;
  for (const Ref ref : PersistentNodes(graph, root)) {
    StorageId id = ParseStorageId(graph, ref);
    const auto [place, is_new] = by_key.try_emplace(id.key, ids.size());
    if (is_new) {
      ids.push_back(std::move(id));
    } else if (ids[place->second].size_bytes != id.size_bytes) {
      throw InputError("torchsave.storage_size", Cat("storage ", Quote(id.key), " has two sizes: ",
                                                     ids[place->second].size_bytes, " and ", id.size_bytes, " bytes"));
    }
  }
  return ids;
}

}  // namespace ck::torchsave
