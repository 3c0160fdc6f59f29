#include "libs/transform/loose_args.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/write.h"

namespace ck::transform {
namespace {

constexpr std::string_view kNames[] = {"args", "iteration"};

std::string StoredBytes(const View& view, const Object& object) {
  if (object.literal) return *object.literal;
  const checkpoint::Checkpoint& input = *view.inputs[object.input];
  const dcp::Object* stored = input.FindObject(object.source_name);
  Check(stored != nullptr, "a view's object exists in its input");
  return input.ReadObject(*stored);
}

// Storages of both objects are kept apart by the object's name.
std::string StorageKey(std::string_view name, const std::string& key) { return Cat(name, "/", key); }

}  // namespace

megatron::CommonDocument ReadLooseArgs(const View& view) {
  megatron::CommonDocument out;
  out.root = out.graph.NewDict();
  for (const Object& object : view.objects) {
    if (std::find(std::begin(kNames), std::end(kNames), object.name) == std::end(kNames)) continue;
    const std::string stored = StoredBytes(view, object);
    const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(stored));
    out.graph.DictSet(out.root, object.name, out.graph.Import(saved.graph, saved.root));
    for (const torchsave::Storage& storage : saved.storages) {
      out.storages[StorageKey(object.name, storage.key)] = bytes::StringSource(stored).Read(storage.offset, storage.size_bytes, checkpoint::kMaxObjectBytes);
    }
  }
  return out;
}

void WriteLooseArgs(const megatron::CommonDocument& document, View& view) {
  for (Object& object : view.objects) {
    if (std::find(std::begin(kNames), std::end(kNames), object.name) == std::end(kNames)) continue;
    const pickle::Ref value = document.graph.Find(document.root, object.name);
    Check(value != pickle::kNoRef, "a loose object was read before");
    object.literal = torchsave::WriteObject(document.graph, value, "archive", [&](const std::string& key) {
      const auto at = document.storages.find(StorageKey(object.name, key));
      Check(at != document.storages.end(), "a storage of a loose object was read before");
      return at->second;
    });
  }
}

}  // namespace ck::transform
