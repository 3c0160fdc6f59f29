#include "libs/huggingface/read_saved_args.h"

#include <memory>

#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/torchsave/read.h"

namespace ck::huggingface {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

SavedArgs ReadSavedArgs(const transform::View& view) {
  if (view.common) {
    const Ref args = view.common->graph.Find(view.common->root, "args");
    if (args == kNoRef || view.common->graph.kind(args) != Kind::kObject) return {};
    return {view.common->graph, args};
  }
  if (view.inputs.empty()) return {};
  const checkpoint::Checkpoint& source = *view.inputs[view.common_input];
  const dcp::Object* object = source.FindObject("args");
  if (object == nullptr) return {};
  const std::string item = source.ReadObject(*object);
  const auto saved = std::make_shared<const torchsave::SavedObject>(torchsave::ReadObject(bytes::StringSource(item)));
  if (saved->graph.kind(saved->root) != Kind::kObject) return {};
  return {std::shared_ptr<const pickle::Graph>(saved, &saved->graph), saved->root};
}

}  // namespace ck::huggingface
