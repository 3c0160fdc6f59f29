#include "libs/checkpoint/state_json.h"

#include <cmath>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/pickle/describe.h"
#include "libs/pickle/numpy_objects.h"
#include "libs/pickle/torch_objects.h"

namespace ck::checkpoint {
namespace {

using pickle::Entry;
using pickle::Graph;
using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

constexpr char kCut[] = "...";

// What a container shows: entries or items.
struct Contents {
  enum class Type { kNone, kEntries, kItems };
  Type type = Type::kNone;
  std::span<const Entry> entries = {};
  std::span<const Ref> items = {};

  size_t size() const { return type == Type::kEntries ? entries.size() : items.size(); }
};

Contents Entries(std::span<const Entry> entries) { return {.type = Contents::Type::kEntries, .entries = entries}; }
Contents Items(std::span<const Ref> items) { return {.type = Contents::Type::kItems, .items = items}; }

bool IsNamespace(const Graph& graph, Ref ref) {
  return graph.IsCall(ref, "argparse", "Namespace") || graph.IsCall(ref, "types", "SimpleNamespace");
}

bool IsDictClass(const Graph& graph, Ref ref) {
  return graph.IsCall(ref, "collections", "OrderedDict") || graph.IsCall(ref, "collections", "defaultdict") ||
         graph.IsCall(ref, "collections", "Counter");
}

// The one argument of a call when it is a list or a tuple.
std::optional<std::span<const Ref>> ListArgument(const Graph& graph, Ref call) {
  const auto args = graph.items(graph.args(call));
  if (args.size() != 1) return std::nullopt;
  const Kind kind = graph.kind(args[0]);
  if (kind != Kind::kList && kind != Kind::kTuple) return std::nullopt;
  return graph.items(args[0]);
}

Contents ContentsOfObject(const Graph& graph, Ref ref) {
  const Ref state = graph.state(ref);
  if (IsNamespace(graph, ref) && graph.items(graph.args(ref)).empty()) {
    if (state == kNoRef) return Entries({});
    if (graph.kind(state) == Kind::kDict) return Entries(graph.entries(state));
    return {};
  }
  // Its own items only: with a state or a list of pairs as argument it would be half shown.
  if (IsDictClass(graph, ref) && state == kNoRef && !ListArgument(graph, ref)) return Entries(graph.entries(ref));
  const bool one_list = graph.IsCall(ref, "torch", "Size") || pickle::IsBuiltinCall(graph, ref, "set") ||
                        pickle::IsBuiltinCall(graph, ref, "frozenset");
  if (!one_list) return {};
  const auto items = ListArgument(graph, ref);
  return items ? Items(*items) : Contents();
}

Contents ContentsOf(const Graph& graph, Ref ref) {
  switch (graph.kind(ref)) {
    case Kind::kDict: return Entries(graph.entries(ref));
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kSet:
    case Kind::kFrozenSet: return Items(graph.items(ref));
    case Kind::kObject: return ContentsOfObject(graph, ref);
    default: return {};
  }
}

json::Value NumberValue(double value) {
  return std::isfinite(value) ? json::Value(value) : json::Value(FormatDouble(value));
}

json::Value NumpyElement(const pickle::NumpyValue& value, uint64_t index) {
  const std::string text = value.Element(index);
  if (value.type.kind == 'b') return text == "True";
  if (value.type.kind == 'i') {
    if (const auto number = ParseInt64(text)) return *number;
  } else if (value.type.kind == 'u') {
    if (const auto number = ParseUint64(text)) return *number;
  } else if (value.type.kind == 'f') {
    if (const auto number = ParseDouble(text)) return NumberValue(*number);
  }
  return text;
}

// nullopt when it is no numpy value, or one to be shown as a line of text.
std::optional<json::Value> NumpyJson(const Graph& graph, Ref ref) {
  const auto value = pickle::AsNumpyValue(graph, ref);
  if (!value) return std::nullopt;
  if (value->form == pickle::NumpyForm::kScalar) return NumpyElement(*value, 0);
  if (value->shape.size() != 1 || value->size() > kMaxShownElements) return std::nullopt;
  json::Array elements;
  for (uint64_t i = 0; i < value->size(); ++i) elements.push_back(NumpyElement(*value, i));
  return elements;
}

class Renderer {
 public:
  Renderer(const Graph& graph, const StateLimits& limits) : graph_(graph), limits_(limits) {}

  StateJson Run(Ref root) {
    StateJson out;
    Place(root, 1, out.value);
    // Level by level. A place stays where it is: the array or object around it has its full size by then.
    while (!waiting_.empty()) {
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      Expand(next);
    }
    out.cut = cut_;
    return out;
  }

 private:
  struct Waiting {
    Ref ref;
    size_t level;
    json::Value* place;
  };

  // Fills a place now, or notes that a container belongs there.
  void Place(Ref ref, size_t level, json::Value& place) {
    if (ContentsOf(graph_, ref).type == Contents::Type::kNone) {
      place = Leaf(ref);
    } else if (level > limits_.levels) {
      place = Cut();
    } else {
      waiting_.push_back({.ref = ref, .level = level, .place = &place});
    }
  }

  void Expand(const Waiting& waiting) {
    const Contents contents = ContentsOf(graph_, waiting.ref);
    if (contents.size() > limits_.values - values_) {
      *waiting.place = Cut();
      return;
    }
    values_ += contents.size();
    if (contents.type == Contents::Type::kItems) {
      ExpandItems(contents.items, waiting);
    } else if (!ExpandObject(contents.entries, waiting)) {
      ExpandPairs(contents.entries, waiting);
    }
  }

  void ExpandItems(std::span<const Ref> items, const Waiting& waiting) {
    *waiting.place = json::Array(items.size());
    json::Array& array = *waiting.place->AsArray();
    for (size_t i = 0; i < items.size(); ++i) Place(items[i], waiting.level + 1, array[i]);
  }

  // False when a key is no text, or two keys read the same.
  bool ExpandObject(std::span<const Entry> entries, const Waiting& waiting) {
    json::Object object;
    std::vector<std::string> keys;
    keys.reserve(entries.size());
    for (const auto& [key, value] : entries) {
      if (graph_.kind(key) != Kind::kString || !Charge(graph_.bytes(key).size())) return false;
      keys.push_back(json::ToUtf8(graph_.bytes(key)));
      object.Set(keys.back(), nullptr);
    }
    if (object.size() != entries.size()) return false;
    *waiting.place = std::move(object);
    json::Object& placed = *waiting.place->AsObject();
    for (size_t i = 0; i < entries.size(); ++i) Place(entries[i].second, waiting.level + 1, *placed.Find(keys[i]));
    return true;
  }

  void ExpandPairs(std::span<const Entry> entries, const Waiting& waiting) {
    *waiting.place = json::Array(entries.size());
    json::Array& array = *waiting.place->AsArray();
    for (size_t i = 0; i < entries.size(); ++i) {
      array[i] = json::Array(2);
      json::Array& pair = *array[i].AsArray();
      pair[0] = Leaf(entries[i].first);  // a tuple as text
      Place(entries[i].second, waiting.level + 2, pair[1]);
    }
  }

  json::Value Leaf(Ref ref) {
    switch (graph_.kind(ref)) {
      case Kind::kNone: return nullptr;
      case Kind::kBool: return graph_.AsBool(ref);
      case Kind::kInt: return graph_.AsInt(ref);
      case Kind::kFloat: return NumberValue(graph_.AsFloat(ref));
      case Kind::kString:
        return Charge(graph_.bytes(ref).size()) ? json::Value(json::ToUtf8(graph_.bytes(ref))) : Cut();
      default: return CachedText(ref);
    }
  }

  // One object can stand at many places, and looking at a large array costs its size.
  json::Value CachedText(Ref ref) {
    auto at = texts_.find(ref);
    if (at == texts_.end()) at = texts_.emplace(ref, ObjectText(ref)).first;
    const std::string* text = at->second.AsString();
    const json::Array* array = at->second.AsArray();
    return Charge(text ? text->size() : array ? 8 * array->size() : 0) ? at->second : Cut();
  }

  json::Value ObjectText(Ref ref) {
    if (graph_.kind(ref) == Kind::kBigInt) return graph_.IntText(ref);
    if (graph_.kind(ref) == Kind::kObject) {
      if (auto path = pickle::PathValue(graph_, ref)) return json::ToUtf8(*path);
      if (auto numpy = NumpyJson(graph_, ref)) return std::move(*numpy);
    }
    return pickle::Describe(graph_, ref, limits_.object_text_bytes);
  }

  // False when there is no room for that much text.
  bool Charge(uint64_t text_bytes) {
    if (text_bytes > limits_.text_bytes - text_bytes_) return false;
    text_bytes_ += text_bytes;
    return true;
  }

  json::Value Cut() {
    cut_ = true;
    return kCut;
  }

  const Graph& graph_;
  const StateLimits limits_;
  std::deque<Waiting> waiting_;
  std::unordered_map<Ref, json::Value> texts_;
  uint64_t values_ = 0;
  uint64_t text_bytes_ = 0;
  bool cut_ = false;
};

}  // namespace

StateJson StateToJson(const Graph& graph, Ref ref, const StateLimits& limits) {
  return Renderer(graph, limits).Run(ref);
}

}  // namespace ck::checkpoint
