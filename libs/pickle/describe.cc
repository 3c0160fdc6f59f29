#include "libs/pickle/describe.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "libs/base/text.h"
#include "libs/pickle/numpy_objects.h"
#include "libs/pickle/torch_objects.h"

namespace ck::pickle {
namespace {

// Elements of an array that are shown.
constexpr uint64_t kMaxElements = 8;

// Bytes of one string that are shown.
constexpr size_t kMaxString = 1000;

bool StartsUpper(std::string_view text) {
  return !text.empty() && text[0] >= 'A' && text[0] <= 'Z';
}

class Describer {
 public:
  Describer(const Graph& graph, size_t limit) : graph_(graph), limit_(limit) {}

  std::string Run(Ref ref) {
    Show(ref);
    if (out_.size() <= limit_) return out_;
    size_t end = limit_;
    while (end > 0 && (static_cast<uint8_t>(out_[end]) & 0xC0) == 0x80) --end;  // not inside a character
    return out_.substr(0, end) + "...";
  }

 private:
  bool full() const { return out_.size() > limit_; }
  void Put(std::string_view text) { out_.append(text); }
  void PutQuoted(std::string_view text) { Put(Quote(text, std::min(limit_, kMaxString))); }

  void Show(Ref ref) {
    if (full()) return;
    if (depth_ == kMaxDescribeDepth) return Put("...");
    ++depth_;
    ShowNode(ref);
    --depth_;
  }

  void ShowNode(Ref ref) {
    switch (graph_.kind(ref)) {
      case Kind::kNone: return Put("None");
      case Kind::kBool: return Put(graph_.AsBool(ref) ? "True" : "False");
      case Kind::kInt:
      case Kind::kBigInt: return Put(graph_.IntText(ref));
      case Kind::kFloat: return Put(FormatDouble(graph_.AsFloat(ref)));
      case Kind::kString: return PutQuoted(graph_.bytes(ref));
      case Kind::kBytes: return ShowBytes(graph_.bytes(ref));
      case Kind::kTuple: return ShowTuple(graph_.items(ref));
      case Kind::kList: return ShowItems("[", graph_.items(ref), "]");
      case Kind::kDict: return ShowDict(ref);
      case Kind::kSet: return ShowSet(graph_.items(ref));
      case Kind::kFrozenSet: return ShowFrozenSet(graph_.items(ref));
      case Kind::kGlobal: return ShowGlobal(ref);
      case Kind::kPersistent:
        Put("<persistent id ");
        Show(graph_.args(ref));
        return Put(">");
      case Kind::kObject: return ShowObject(ref);
    }
  }

  void ShowBytes(std::string_view bytes) {
    Put("b");
    PutQuoted(bytes);
  }

  void ShowItems(std::string_view open, std::span<const Ref> items, std::string_view close) {
    Put(open);
    for (size_t i = 0; i < items.size() && !full(); ++i) {
      if (i != 0) Put(", ");
      Show(items[i]);
    }
    Put(close);
  }

  void ShowTuple(std::span<const Ref> items) { ShowItems("(", items, items.size() == 1 ? ",)" : ")"); }

  void ShowSet(std::span<const Ref> items) {
    if (items.empty()) return Put("set()");
    ShowItems("{", items, "}");
  }

  void ShowFrozenSet(std::span<const Ref> items) {
    if (items.empty()) return Put("frozenset()");
    ShowItems("frozenset({", items, "})");
  }

  void ShowDict(Ref ref) {
    Put("{");
    bool first = true;
    for (const auto& [key, value] : graph_.entries(ref)) {
      if (full()) break;
      if (!first) Put(", ");
      first = false;
      Show(key);
      Put(": ");
      Show(value);
    }
    Put("}");
  }

  // name=value, name=value
  void ShowFields(Ref dict) {
    bool first = true;
    for (const auto& [key, value] : graph_.entries(dict)) {
      if (full()) break;
      if (!first) Put(", ");
      first = false;
      if (graph_.kind(key) == Kind::kString && IsUtf8(graph_.bytes(key))) {
        const std::string quoted = Quote(graph_.bytes(key), kMaxString);  // makes control characters visible
        Put(std::string_view(quoted).substr(1, quoted.size() - 2));
      } else {
        Show(key);
      }
      Put("=");
      Show(value);
    }
  }

  void ShowGlobal(Ref ref) {
    if (DTypeValue(graph_, ref)) {
      Put("torch.");
      return Put(graph_.name(ref));
    }
    Put("<");
    PutGlobalName(ref);
    Put(">");
  }

  void PutGlobalName(Ref ref) {
    const std::string quoted = Quote(Cat(graph_.module(ref), ".", graph_.name(ref)), kMaxString);
    Put(std::string_view(quoted).substr(1, quoted.size() - 2));
  }

  void ShowObject(Ref ref) {
    if (!ShowKnownObject(ref) && !ShowEnum(ref)) ShowUnknownObject(ref);
  }

  // True when the object was shown.
  bool ShowKnownObject(Ref ref) {
    const auto args = graph_.items(graph_.args(ref));
    if (IsNamespace(ref)) {
      Put(graph_.name(graph_.callable(ref)));
      Put("(");
      ShowFields(graph_.state(ref));
      Put(")");
    } else if (graph_.IsCall(ref, "collections", "OrderedDict") && args.empty()) {
      Put("OrderedDict(");
      ShowDict(ref);
      Put(")");
    } else if (const auto dims = graph_.IsCall(ref, "torch", "Size") ? DimsValue(graph_, ref) : std::nullopt) {
      ShowTuple(graph_.items(args[0]));
    } else if (const auto tensor = AsTensorValue(graph_, ref)) {
      Put(Cat("tensor(", tensor->dtype ? Name(*tensor->dtype) : "?", ", ", FormatDims(tensor->shape), ")"));
    } else if (const auto bytes = BytesValue(graph_, ref)) {
      const bool array = IsBuiltinCall(graph_, ref, "bytearray");
      if (array) Put("bytearray(");
      ShowBytes(*bytes);
      if (array) Put(")");
    } else if (const auto path = PathValue(graph_, ref)) {
      PutQuoted(*path);
    } else if (const auto value = AsNumpyValue(graph_, ref)) {
      ShowNumpy(*value);
    } else if (IsCallOnList(ref, "set")) {
      ShowSet(graph_.items(args[0]));
    } else if (IsCallOnList(ref, "frozenset")) {
      ShowFrozenSet(graph_.items(args[0]));
    } else {
      return false;
    }
    return true;
  }

  bool IsNamespace(Ref ref) const {
    const bool named = graph_.IsCall(ref, "argparse", "Namespace") || graph_.IsCall(ref, "types", "SimpleNamespace");
    return named && graph_.state(ref) != kNoRef && graph_.kind(graph_.state(ref)) == Kind::kDict;
  }

  // set([...]) and frozenset([...]) of protocol 2.
  bool IsCallOnList(Ref ref, std::string_view type) const {
    if (!IsBuiltinCall(graph_, ref, type)) return false;
    const auto args = graph_.items(graph_.args(ref));
    return args.size() == 1 && graph_.kind(args[0]) == Kind::kList;
  }

  // Class names start with a capital; a call of a function stays an unknown object.
  bool ShowEnum(Ref ref) {
    const std::optional<EnumValue> member = AsEnum(graph_, ref);
    if (!member || !StartsUpper(member->name) || !graph_.entries(ref).empty() || graph_.state(ref) != kNoRef)
      return false;
    const std::string name = Quote(member->name, kMaxString);
    Put(std::string_view(name).substr(1, name.size() - 2));
    if (member->value == kNoRef) {
      Put(".");
      const std::string text = Quote(member->member, kMaxString);
      Put(std::string_view(text).substr(1, text.size() - 2));
      return true;
    }
    Put("(");
    Show(member->value);
    Put(")");
    return true;
  }

  void ShowNumpy(const NumpyValue& value) {
    const std::string type = value.type.name();
    if (value.form == NumpyForm::kScalar) return Put(Cat(type, "(", value.Element(0), ")"));
    if (value.size() > kMaxElements || value.shape.size() != 1) {
      std::string shape;
      for (const uint64_t dim : value.shape) shape += Cat(shape.empty() ? "" : ", ", dim);
      return Put(Cat("ndarray(shape=(", shape, value.shape.size() == 1 ? ",)" : ")", ", dtype=", type, ")"));
    }
    Put("ndarray([");
    for (uint64_t i = 0; i < value.size(); ++i) Put(Cat(i == 0 ? "" : ", ", value.Element(i)));
    Put(Cat("], dtype=", type, ")"));
  }

  void ShowUnknownObject(Ref ref) {
    Put("<");
    const Ref callable = graph_.callable(ref);
    if (graph_.kind(callable) == Kind::kGlobal) {
      PutGlobalName(callable);
    } else {
      Show(callable);
    }
    const Ref state = graph_.state(ref);
    if (!graph_.items(graph_.args(ref)).empty()) ShowTuple(graph_.items(graph_.args(ref)));
    if (!graph_.items(ref).empty()) ShowItems(" [", graph_.items(ref), "]");
    if (!graph_.entries(ref).empty()) {
      Put(" ");
      ShowDict(ref);
    }
    if (state != kNoRef) {
      Put(" ");
      if (graph_.kind(state) == Kind::kDict) {
        ShowFields(state);
      } else {
        Show(state);
      }
    }
    Put(">");
  }

  const Graph& graph_;
  size_t limit_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string Describe(const Graph& graph, Ref ref, size_t limit) {
  return Describer(graph, limit).Run(ref);
}

}  // namespace ck::pickle
