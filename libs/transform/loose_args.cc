#include "libs/transform/loose_args.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/megatron/keys.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/write.h"

namespace ck::transform {
namespace {

constexpr std::string_view kScheduler = "opt_param_scheduler";
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

megatron::CommonDocument ReadLooseCommon(const View& view) {
  megatron::CommonDocument out;
  out.root = out.graph.NewDict();
  for (const Object& object : view.objects) {
    if (megatron::Classify(object.name) != megatron::KeyClass::kCommon) continue;
    const std::string stored = StoredBytes(view, object);
    const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(stored));
    if (!saved.storages.empty()) throw InputError("retarget.loose_tensor", Cat("byte object ", Quote(object.name), " holds tensors, which a common state of torch_dist has no place for here"));
    const pickle::Ref value = out.graph.Import(saved.graph, saved.root);
    const std::string_view scheduler = kScheduler;
    if (!StartsWith(object.name, Cat(scheduler, "."))) {
      out.graph.DictSet(out.root, object.name, value);
      continue;
    }
    pickle::Ref dict = out.graph.Find(out.root, scheduler);
    if (dict == pickle::kNoRef) {
      dict = out.graph.NewDict();
      out.graph.DictSet(out.root, scheduler, dict);
    }
    out.graph.DictSet(dict, object.name.substr(scheduler.size() + 1), value);
  }
  return out;
}

void AddLooseObjects(const megatron::CommonDocument& document, View& view, LeftOutTally& left_out) {
  const pickle::Graph& graph = document.graph;
  if (!view.planner_data) view.planner_data.emplace();
  const auto add = [&](const dcp::Path& path, const std::string& name, pickle::Ref value) {
    std::string literal = torchsave::WriteObject(graph, value, "archive", [&](const std::string& key) {
      const auto at = document.storages.find(key);
      Check(at != document.storages.end(), "a storage of the common state was read before");
      return at->second;
    });
    view.objects.push_back({.name = name, .input = 0, .source_name = "", .literal = std::move(literal)});
    view.planner_data->emplace(name, path);
  };
  for (const auto& [key, value] : graph.entries(document.root)) {
    if (graph.kind(key) != pickle::Kind::kString) continue;
    const std::string name(graph.bytes(key));
    if (graph.kind(value) != pickle::Kind::kDict) {
      add({name}, name, value);
    } else if (name != kScheduler) {
      left_out.Add(Cat("common_state.", name), 0);
    } else {
      for (const auto& [inner_key, inner] : graph.entries(value)) {
        const std::string inner_name(graph.kind(inner_key) == pickle::Kind::kString ? graph.bytes(inner_key) : std::string_view("?"));
        add({name, inner_name}, Cat(name, ".", inner_name), inner);
      }
    }
  }
}

void AddModelPaths(View& view) {
  constexpr std::string_view kModel = "model.";
  if (!view.planner_data) view.planner_data.emplace();
  for (const Tensor& tensor : view.tensors) {
    dcp::Path path = {tensor.name};
    if (StartsWith(tensor.name, kModel)) path = {std::string("model"), tensor.name.substr(kModel.size())};
    view.planner_data->emplace(tensor.name, std::move(path));
  }
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
