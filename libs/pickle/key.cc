#include "libs/pickle/key.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

namespace ck::pickle {
namespace {

// Nodes of a tuple key that are looked at. Real keys have two or three; a bound keeps shared tuples from costing
// exponential time.
constexpr size_t kMaxKeyNodes = 64;

// Nodes still to visit: at most kMaxKeyNodes, because each pushed one counts.
template <typename T>
class Pending {
 public:
  bool Push(T item) {
    if (pushed_ == kMaxKeyNodes) return false;
    ++pushed_;
    items_[size_++] = item;
    return true;
  }
  bool empty() const { return size_ == 0; }
  T Pop() { return items_[--size_]; }

 private:
  std::array<T, kMaxKeyNodes> items_{};
  size_t size_ = 0;
  size_t pushed_ = 0;
};

uint64_t Mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }();
  return seed;
}

uint64_t HashText(uint64_t hash, std::string_view text) {
  hash = Mix(hash, text.size());
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, text.size() - i));
    hash = Mix(hash, word);
  }
  return hash;
}

uint64_t StartHash(Kind kind) {
  return Mix(Seed(), static_cast<uint64_t>(kind));
}

// The value of a bool, an int, or a float that is a whole number in the range of int64.
std::optional<int64_t> WholeNumber(const Graph& graph, Ref ref) {
  switch (graph.kind(ref)) {
    case Kind::kBool: return graph.AsBool(ref) ? 1 : 0;
    case Kind::kInt: return graph.AsInt(ref);
    case Kind::kFloat: {
      const double value = graph.AsFloat(ref);
      if (!(value >= -0x1p63 && value < 0x1p63) || std::trunc(value) != value) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    default: return std::nullopt;
  }
}

uint64_t HashLeaf(const Graph& graph, Ref ref) {
  if (const std::optional<int64_t> whole = WholeNumber(graph, ref)) {
    return Mix(StartHash(Kind::kInt), static_cast<uint64_t>(*whole));
  }
  const Kind kind = graph.kind(ref);
  const uint64_t hash = StartHash(kind);
  switch (kind) {
    case Kind::kNone: return hash;
    case Kind::kFloat: return Mix(hash, std::bit_cast<uint64_t>(graph.AsFloat(ref)));
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kBigInt: return HashText(hash, graph.bytes(ref));
    case Kind::kGlobal: return HashText(HashText(hash, graph.module(ref)), graph.name(ref));
    default: return Mix(hash, ref);
  }
}

bool LeavesEqual(const Graph& graph, Ref a, Ref b) {
  if (a == b) return true;
  const std::optional<int64_t> whole = WholeNumber(graph, a);
  if (whole) return whole == WholeNumber(graph, b);
  const Kind kind = graph.kind(a);
  if (kind != graph.kind(b)) return false;
  switch (kind) {
    case Kind::kNone: return true;
    case Kind::kFloat: return graph.AsFloat(a) == graph.AsFloat(b);
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kBigInt: return graph.bytes(a) == graph.bytes(b);
    case Kind::kGlobal: return graph.module(a) == graph.module(b) && graph.name(a) == graph.name(b);
    default: return false;
  }
}

}  // namespace

bool KeysEqual(const Graph& graph, Ref a, Ref b) {
  if (a == b) return true;
  const Kind kind = graph.kind(a);
  if (kind == Kind::kString) return graph.kind(b) == kind && graph.bytes(a) == graph.bytes(b);  // nearly every key
  if (kind != Kind::kTuple) return LeavesEqual(graph, a, b);
  Pending<std::pair<Ref, Ref>> pending;
  pending.Push({a, b});
  while (!pending.empty()) {
    const auto [left, right] = pending.Pop();
    if (graph.kind(left) != Kind::kTuple || graph.kind(right) != Kind::kTuple) {
      if (!LeavesEqual(graph, left, right)) return false;
      continue;
    }
    const auto left_items = graph.items(left);
    const auto right_items = graph.items(right);
    if (left_items.size() != right_items.size()) return false;
    for (size_t i = 0; i < left_items.size(); ++i) {
      if (!pending.Push({left_items[i], right_items[i]})) return false;
    }
  }
  return true;
}

uint64_t HashKey(const Graph& graph, Ref key) {
  if (graph.kind(key) != Kind::kTuple) return HashLeaf(graph, key);
  uint64_t hash = StartHash(Kind::kTuple);
  Pending<Ref> pending;
  pending.Push(key);
  while (!pending.empty()) {
    const Ref ref = pending.Pop();
    if (graph.kind(ref) != Kind::kTuple) {
      hash = Mix(hash, HashLeaf(graph, ref));
      continue;
    }
    hash = Mix(hash, graph.items(ref).size());
    for (const Ref item : graph.items(ref)) {
      if (!pending.Push(item)) return Mix(StartHash(Kind::kTuple), key);
    }
  }
  return hash;
}

uint64_t HashStringKey(std::string_view text) {
  return HashText(StartHash(Kind::kString), text);
}

}  // namespace ck::pickle
