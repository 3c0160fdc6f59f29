// How a Graph keeps its nodes. Private to graph.cc and graph_import.cc.
#ifndef CK_PICKLE_GRAPH_IMPL_H_
#define CK_PICKLE_GRAPH_IMPL_H_

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/pickle/graph.h"

namespace ck::pickle {

inline constexpr uint64_t kMaxIndex = std::numeric_limits<uint32_t>::max();
[[noreturn]] inline void TooLarge(std::string_view what) {
  throw InputError("pickle.limit_exceeded", Cat("too many ", what, " for one pickle: more than ", kMaxIndex));
}

// Check, without a call where it holds: these guard every access.
inline void Require(bool condition, std::string_view what) {
  if (!condition) [[unlikely]]
    Check(false, what);
}

// A growable slice of a pool. A slice grows in place at the end of the pool, else it moves there.
struct Slice {
  uint32_t offset = 0;
  uint32_t count = 0;
  uint32_t capacity = 0;
};

template <typename T>
class Pool {
 public:
  std::span<const T> View(const Slice& slice) const {
    return std::span<const T>(data_).subspan(slice.offset, slice.count);
  }
  std::span<T> View(const Slice& slice) { return std::span<T>(data_).subspan(slice.offset, slice.count); }

  void Append(Slice& slice, const T& value) {
    if (slice.count == slice.capacity) Grow(slice);
    data_[slice.offset + slice.count++] = value;
  }

  void Reserve(size_t values) { data_.reserve(values); }

  Slice Add(std::span<const T> values) {
    if (values.empty()) return {};
    if (data_.size() + values.size() > kMaxIndex) TooLarge("items");
    const uint32_t count = static_cast<uint32_t>(values.size());
    const Slice slice{static_cast<uint32_t>(data_.size()), count, count};
    data_.insert(data_.end(), values.begin(), values.end());
    return slice;
  }

 private:
  // Gives the slice room for at least one more value: one when it is at the end, else twice what it had, so that slices
  // that grow in turns cost amortized constant time.
  void Grow(Slice& slice) {
    if (slice.capacity == 0) slice.offset = static_cast<uint32_t>(data_.size());
    if (size_t{slice.offset} + slice.capacity == data_.size()) {
      if (data_.size() >= kMaxIndex) TooLarge("items");
      data_.emplace_back();
      ++slice.capacity;
      return;
    }
    const size_t offset = data_.size();
    const size_t capacity = size_t{slice.capacity} * 2;
    if (offset + capacity > kMaxIndex) TooLarge("items");
    data_.resize(offset + capacity);
    std::copy_n(data_.begin() + slice.offset, slice.count, data_.begin() + static_cast<std::ptrdiff_t>(offset));
    slice.offset = static_cast<uint32_t>(offset);
    slice.capacity = static_cast<uint32_t>(capacity);
  }

  std::vector<T> data_;
};

// What the three words mean:
//   kBool             a: 0 or 1
//   kInt, kFloat      b, c: low and high half of the 64 bits
//   texts             a: length; b, c: offset in the text
//   containers        a, b, c: offset, count, capacity of a Slice of items, or of entries for a kDict
//   kGlobal           a, b: indexes of the module and the name
//   kObject           a: callable; b: args; c: the state, or with `has_extra` the index of an Extra
//   kPersistent       b: the id
struct Node {
  Kind kind = Kind::kNone;
  Form form = Form::kReduce;
  bool has_extra = false;
  uint32_t a = 0, b = 0, c = 0;
};
static_assert(sizeof(Node) == 16);

// Parts that few objects have.
struct Extra {
  Ref state = kNoRef;
  Ref kwargs = kNoRef;
  Slice items;
  Slice entries;
};

// Positions of the entries of one dict, by hash; open addressing, at most half full.
struct DictIndex {
  std::vector<uint32_t> slots;  // position + 1; 0 is free
  uint32_t used = 0;
};

inline bool HasItems(Kind kind) {
  return kind == Kind::kTuple || kind == Kind::kList || kind == Kind::kSet || kind == Kind::kFrozenSet;
}

inline bool HasText(Kind kind) {
  return kind == Kind::kString || kind == Kind::kBytes || kind == Kind::kBigInt;
}

inline Slice SliceOf(const Node& node) {
  return {node.a, node.b, node.c};
}

inline void SetSlice(Node& node, const Slice& slice) {
  node.a = slice.offset;
  node.b = slice.count;
  node.c = slice.capacity;
}

inline uint64_t Wide(const Node& node) {
  return uint64_t{node.c} << 32 | node.b;
}

inline void SetWide(Node& node, uint64_t value) {
  node.b = static_cast<uint32_t>(value);
  node.c = static_cast<uint32_t>(value >> 32);
}

struct Graph::Impl {
  std::vector<Node> nodes;
  std::string text;
  Pool<Ref> items;
  Pool<Entry> entries;
  std::vector<Extra> extras;
  std::vector<std::string> names;  // of modules and globals, each once
  std::unordered_map<std::string, uint32_t> name_indexes;
  std::unordered_map<Ref, DictIndex> dict_indexes;

  const Node& At(Ref ref) const {
    Require(ref < nodes.size(), "a pickle node that exists");
    return nodes[ref];
  }
  Node& At(Ref ref) {
    Require(ref < nodes.size(), "a pickle node that exists");
    return nodes[ref];
  }
  const Node& At(Ref ref, Kind kind) const {
    const Node& node = At(ref);
    Require(node.kind == kind, "a pickle node of the kind asked for");
    return node;
  }

  Ref Add(const Node& node) {
    if (nodes.size() >= kNoRef) TooLarge("nodes");
    nodes.push_back(node);
    return static_cast<Ref>(nodes.size() - 1);
  }

  Ref AddText(Kind kind, std::string_view bytes) {
    if (bytes.size() > kMaxIndex) TooLarge("bytes of text");
    Node node{.kind = kind, .a = static_cast<uint32_t>(bytes.size())};
    SetWide(node, text.size());
    text.append(bytes);
    return Add(node);
  }

  Ref AddItems(Kind kind, std::span<const Ref> refs) {
    for (const Ref ref : refs) At(ref);
    Node node{.kind = kind};
    SetSlice(node, items.Add(refs));
    return Add(node);
  }

  uint32_t NameIndex(std::string_view name) {
    const auto [place, is_new] = name_indexes.try_emplace(std::string(name), static_cast<uint32_t>(names.size()));
    if (is_new) names.emplace_back(name);
    return place->second;
  }

  const Extra* ExtraOf(const Node& node) const { return node.has_extra ? &extras[node.c] : nullptr; }

  Extra& MakeExtra(Node& node) {
    if (!node.has_extra) {
      extras.push_back({.state = node.c, .kwargs = kNoRef, .items = {}, .entries = {}});
      node.has_extra = true;
      node.c = static_cast<uint32_t>(extras.size() - 1);
    }
    return extras[node.c];
  }

  Slice EntriesOf(Ref ref) const {
    const Node& node = At(ref);
    if (node.kind == Kind::kDict) return SliceOf(node);
    Require(node.kind == Kind::kObject, "a dict or an object");
    return node.has_extra ? extras[node.c].entries : Slice{};
  }

  void SetEntriesOf(Ref ref, const Slice& slice) {
    Node& node = At(ref);
    if (node.kind == Kind::kDict) {
      SetSlice(node, slice);
    } else {
      MakeExtra(node).entries = slice;
    }
  }
};

}  // namespace ck::pickle

#endif  // CK_PICKLE_GRAPH_IMPL_H_
