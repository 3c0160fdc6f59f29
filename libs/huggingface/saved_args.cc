#include "libs/huggingface/saved_args.h"

#include <cmath>

#include "libs/base/text.h"
#include "libs/huggingface/config.h"
#include "libs/pickle/describe.h"

namespace ck::huggingface {
namespace {

using pickle::Graph;
using pickle::Kind;
using pickle::Ref;

std::optional<int64_t> AsInt(const Graph& graph, Ref ref) {
  if (graph.kind(ref) != Kind::kInt) return std::nullopt;
  return graph.AsInt(ref);
}

std::optional<double> AsDouble(const Graph& graph, Ref ref) {
  double out = 0;
  if (graph.kind(ref) == Kind::kFloat) {
    out = graph.AsFloat(ref);
  } else if (graph.kind(ref) == Kind::kInt) {
    out = static_cast<double>(graph.AsInt(ref));
  } else {
    return std::nullopt;
  }
  if (!std::isfinite(out)) return std::nullopt;
  return out;
}

}  // namespace

Error SavedArgs::Wrong(std::string_view name, std::string_view expected) const {
  return InputError("huggingface.args_type", Cat("args.", name, " is ", Text(name), ", expected ", expected));
}
Error SavedArgs::Missing(std::string_view name) const {
  return InputError(
      "huggingface.args_missing",
      Cat("args.", name, " is ", Text(name), "; a config.json cannot be derived without it, give one with --config"));
}
Error SavedArgs::NotExpressible(std::string_view name, std::string_view why) const {
  return InputError("huggingface.args_not_expressible", Cat("args.", name, " is ", Text(name), ": ", why));
}

Ref SavedArgs::Find(std::string_view name) const {
  return exist() ? graph_->Attribute(args_, name) : pickle::kNoRef;
}

std::string SavedArgs::Text(std::string_view name) const {
  constexpr size_t kShownBytes = 80;
  return Has(name) ? pickle::Describe(*graph_, Find(name), kShownBytes) : "absent";
}

bool SavedArgs::IsInt(std::string_view name) const {
  return Has(name) && graph_->kind(Find(name)) == Kind::kInt;
}

bool SavedArgs::IsSet(std::string_view name) const {
  if (IsAbsent(name)) return false;
  const Ref ref = Find(name);
  switch (graph_->kind(ref)) {
    case Kind::kBool:
      return graph_->AsBool(ref);
    case Kind::kInt:
      return graph_->AsInt(ref) != 0;
    case Kind::kString:
      return !graph_->bytes(ref).empty();
    default:
      return true;
  }
}

std::string_view SavedArgs::PatternName() const {
  for (const std::string_view name : {"hybrid_layer_pattern", "hybrid_override_pattern"}) {
    if (IsSet(name)) return name;
  }
  return "";
}

bool SavedArgs::IsAbsent(std::string_view name) const {
  const Ref ref = Find(name);
  return ref == pickle::kNoRef || graph_->kind(ref) == Kind::kNone;
}

std::optional<uint64_t> SavedArgs::Uint(std::string_view name) const {
  if (IsAbsent(name)) return std::nullopt;
  const auto value = AsInt(*graph_, Find(name));
  if (!value || *value < 0 || static_cast<uint64_t>(*value) > kMaxConfigSize)
    throw Wrong(name, Cat("an integer from 0 to ", kMaxConfigSize));
  return static_cast<uint64_t>(*value);
}

uint64_t SavedArgs::Size(std::string_view name) const {
  const auto value = Uint(name);
  if (!value) throw Missing(name);
  if (*value == 0) throw Wrong(name, "a positive integer");
  return *value;
}

std::optional<double> SavedArgs::Double(std::string_view name) const {
  if (IsAbsent(name)) return std::nullopt;
  const auto value = AsDouble(*graph_, Find(name));
  if (!value) throw Wrong(name, "a finite number");
  return value;
}

std::optional<bool> SavedArgs::Bool(std::string_view name) const {
  if (IsAbsent(name)) return std::nullopt;
  if (graph_->kind(Find(name)) != Kind::kBool) throw Wrong(name, "True or False");
  return graph_->AsBool(Find(name));
}

std::optional<std::string> SavedArgs::String(std::string_view name) const {
  if (IsAbsent(name)) return std::nullopt;
  if (graph_->kind(Find(name)) != Kind::kString) throw Wrong(name, "a string");
  return std::string(graph_->bytes(Find(name)));
}

template <typename T, typename Get>
std::optional<std::vector<T>> SavedArgs::List(std::string_view name, const Get& get) const {
  if (IsAbsent(name)) return std::nullopt;
  const Ref ref = Find(name);
  if (const auto one = get(*graph_, ref)) return std::vector<T>{*one};
  if (graph_->kind(ref) != Kind::kList && graph_->kind(ref) != Kind::kTuple)
    throw Wrong(name, "a number or a list of numbers");
  if (graph_->items(ref).size() > kMaxConfigLayers) throw Wrong(name, Cat("a list of at most ", kMaxConfigLayers));
  std::vector<T> out;
  for (const Ref item : graph_->items(ref)) {
    const auto value = get(*graph_, item);
    if (!value) throw Wrong(name, "a number or a list of numbers");
    out.push_back(*value);
  }
  return out;
}

std::optional<std::vector<int64_t>> SavedArgs::Ints(std::string_view name) const {
  return List<int64_t>(name, AsInt);
}
std::optional<std::vector<double>> SavedArgs::Doubles(std::string_view name) const {
  return List<double>(name, AsDouble);
}

std::optional<std::string> SavedArgs::Dtype(std::string_view name) const {
  if (IsAbsent(name)) return std::nullopt;
  const Ref ref = Find(name);
  if (graph_->kind(ref) != Kind::kGlobal || graph_->module(ref) != "torch") return std::nullopt;
  return std::string(graph_->name(ref));
}

}  // namespace ck::huggingface
