#include "libs/pickle/testing/same_graph.h"

#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/pickle/references.h"

namespace ck::pickle {
namespace {

bool HasIdentity(const Graph& graph, Ref ref) {
  switch (graph.kind(ref)) {
    case Kind::kNone:
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
    case Kind::kFloat:
    case Kind::kGlobal: return false;
    case Kind::kTuple: return !graph.items(ref).empty();
    default: return true;
  }
}

bool SameContent(const Graph& a, Ref x, const Graph& b, Ref y) {
  switch (a.kind(x)) {
    case Kind::kBool: return a.AsBool(x) == b.AsBool(y);
    case Kind::kInt: return a.AsInt(x) == b.AsInt(y);
    case Kind::kFloat: return std::bit_cast<uint64_t>(a.AsFloat(x)) == std::bit_cast<uint64_t>(b.AsFloat(y));
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kBigInt: return a.bytes(x) == b.bytes(y);
    case Kind::kGlobal: return a.module(x) == b.module(y) && a.name(x) == b.name(y);
    case Kind::kObject:
      return a.form(x) == b.form(y) && (a.state(x) == kNoRef) == (b.state(y) == kNoRef) &&
             a.items(x).size() == b.items(y).size();
    default: return true;
  }
}

}  // namespace

std::string Difference(const Graph& a, Ref a_root, const Graph& b, Ref b_root) {
  std::unordered_map<Ref, Ref> a_to_b, b_to_a;
  std::vector<std::pair<Ref, Ref>> pending = {{a_root, b_root}};
  std::vector<Ref> a_children, b_children;
  while (!pending.empty()) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    const auto where = [x = x, y = y] { return Cat(" (nodes ", x, " and ", y, ")"); };
    if (a.kind(x) != b.kind(y)) {
      return Cat("kinds ", static_cast<int>(a.kind(x)), " and ", static_cast<int>(b.kind(y)), " differ", where());
    }
    if (!SameContent(a, x, b, y)) return Cat("contents differ", where());
    if (HasIdentity(a, x)) {
      const bool a_new = a_to_b.try_emplace(x, y).second;
      const bool b_new = b_to_a.try_emplace(y, x).second;
      if (a_to_b[x] != y || b_to_a[y] != x) return Cat("sharing differs", where());
      if (!a_new || !b_new) continue;
    }
    a_children.clear();
    b_children.clear();
    AppendChildren(a, x, a_children);
    AppendChildren(b, y, b_children);
    if (a_children.size() != b_children.size()) return Cat("numbers of parts differ", where());
    for (size_t i = a_children.size(); i-- > 0;) pending.emplace_back(a_children[i], b_children[i]);
  }
  return "";
}

}  // namespace ck::pickle
