#include "libs/huggingface/saved_args.h"

#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/pickle/describe.h"

namespace ck::huggingface {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

SavedArgs::SavedArgs(const transform::View& view) {
  if (view.common) {
    const Ref args = view.common->graph.Find(view.common->root, "args");
    if (args == kNoRef || view.common->graph.kind(args) != Kind::kObject) return;
    graph_ = &view.common->graph;
    args_ = args;
    return;
  }
  if (view.inputs.empty()) return;
  const checkpoint::Checkpoint& source = *view.inputs[view.common_input];
  const dcp::Object* object = source.FindObject("args");
  if (object == nullptr) return;
  const std::string item = source.ReadObject(*object);
  own_ = std::make_unique<torchsave::SavedObject>(torchsave::ReadObject(bytes::StringSource(item)));
  if (own_->graph.kind(own_->root) != Kind::kObject) return;
  graph_ = &own_->graph;
  args_ = own_->root;
}

Ref SavedArgs::Find(std::string_view name) const { return exist() ? graph_->Attribute(args_, name) : kNoRef; }

std::optional<int64_t> SavedArgs::Int(std::string_view name) const {
  const Ref ref = Find(name);
  return ref != kNoRef && graph_->kind(ref) == Kind::kInt ? std::optional(graph_->AsInt(ref)) : std::nullopt;
}

std::optional<double> SavedArgs::Number(std::string_view name) const {
  const Ref ref = Find(name);
  if (ref == kNoRef) return std::nullopt;
  if (graph_->kind(ref) == Kind::kInt) return static_cast<double>(graph_->AsInt(ref));
  return graph_->kind(ref) == Kind::kFloat ? std::optional(graph_->AsFloat(ref)) : std::nullopt;
}

std::optional<bool> SavedArgs::Bool(std::string_view name) const {
  const Ref ref = Find(name);
  return ref != kNoRef && graph_->kind(ref) == Kind::kBool ? std::optional(graph_->AsBool(ref)) : std::nullopt;
}

std::optional<std::string> SavedArgs::String(std::string_view name) const {
  const Ref ref = Find(name);
  return ref != kNoRef && graph_->kind(ref) == Kind::kString ? std::optional(std::string(graph_->bytes(ref))) : std::nullopt;
}

std::optional<std::vector<int64_t>> SavedArgs::Ints(std::string_view name) const {
  const Ref ref = Find(name);
  if (ref == kNoRef || (graph_->kind(ref) != Kind::kList && graph_->kind(ref) != Kind::kTuple)) return std::nullopt;
  std::vector<int64_t> out;
  for (const Ref item : graph_->items(ref)) {
    if (graph_->kind(item) != Kind::kInt) return std::nullopt;
    out.push_back(graph_->AsInt(item));
  }
  return out;
}

bool SavedArgs::IsNone(std::string_view name) const {
  const Ref ref = Find(name);
  return ref == kNoRef || graph_->kind(ref) == Kind::kNone;
}

std::string SavedArgs::Text(std::string_view name) const {
  const Ref ref = Find(name);
  return ref == kNoRef ? "absent" : pickle::Describe(*graph_, ref, 80);
}

}  // namespace ck::huggingface
