#include "libs/transform/loose_common.h"

#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/write.h"

namespace ck::transform {
namespace {

// True for an object like argparse.Namespace, whose state is a dict.
bool HasIterationAttribute(const pickle::Graph& graph, pickle::Ref object) {
  if (graph.kind(object) != pickle::Kind::kObject) return false;
  const pickle::Ref state = graph.state(object);
  return state != pickle::kNoRef && graph.kind(state) == pickle::Kind::kDict && graph.Attribute(object, "iteration") != pickle::kNoRef;
}

}  // namespace

std::optional<std::string> WithIteration(const checkpoint::Checkpoint& source, const dcp::Object& object, int64_t iteration) {
  if (object.name != "iteration" && object.name != "args") return std::nullopt;
  const std::string stored = source.ReadObject(object);
  torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(stored));
  pickle::Ref root = saved.root;
  if (object.name == "iteration") {
    root = saved.graph.NewInt(iteration);
  } else if (HasIterationAttribute(saved.graph, root)) {
    saved.graph.SetAttribute(root, "iteration", saved.graph.NewInt(iteration));
  } else {
    return std::nullopt;
  }
  return torchsave::WriteObject(saved.graph, root, "archive", [&](const std::string& key) {
    const torchsave::Storage* storage = saved.FindStorage(key);
    Check(storage != nullptr, "a storage of a read object is known");
    return bytes::StringSource(stored).Read(storage->offset, storage->size_bytes, checkpoint::kMaxObjectBytes);
  });
}

std::optional<int64_t> LooseIteration(const checkpoint::Checkpoint& source) {
  const dcp::Object* object = source.FindObject("iteration");
  if (!object) return std::nullopt;
  const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(source.ReadObject(*object)));
  if (saved.graph.kind(saved.root) != pickle::Kind::kInt) return std::nullopt;
  return saved.graph.AsInt(saved.root);
}

void KeepPlannerData(const checkpoint::Checkpoint& source, View& view) {
  const auto& paths = source.metadata().planner_data;
  if (!paths) return;
  if (!view.planner_data) view.planner_data.emplace();
  const auto keep = [&](const std::string& name) {
    const auto at = paths->find(name);
    if (at != paths->end()) view.planner_data->insert(*at);
  };
  for (const Tensor& tensor : view.tensors) keep(tensor.name);
  for (const Object& object : view.objects) keep(object.name);
}

std::vector<Box> ChunkBoxes(const dcp::Tensor& tensor) {
  std::vector<Box> boxes;
  for (const dcp::Chunk& chunk : tensor.chunks) boxes.push_back(chunk.box);
  return boxes;
}

}  // namespace ck::transform
