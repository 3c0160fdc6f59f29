#include "libs/pickle/references.h"

#include <algorithm>

namespace ck::pickle {
namespace {

enum class Visit : uint8_t { kNew, kOpen, kDone };

bool ExistsBeforeItsParts(Kind kind) {
  return kind == Kind::kList || kind == Kind::kDict;
}

}  // namespace

void AppendChildren(const Graph& graph, Ref ref, std::vector<Ref>& out) {
  const auto add_items = [&] { out.insert(out.end(), graph.items(ref).begin(), graph.items(ref).end()); };
  const auto add_entries = [&] {
    for (const auto& [key, value] : graph.entries(ref)) {
      out.push_back(key);
      out.push_back(value);
    }
  };
  switch (graph.kind(ref)) {
    case Kind::kTuple:
    case Kind::kList:
    case Kind::kSet:
    case Kind::kFrozenSet: return add_items();
    case Kind::kDict: return add_entries();
    case Kind::kPersistent: out.push_back(graph.args(ref)); return;
    case Kind::kObject:
      out.push_back(graph.callable(ref));
      out.push_back(graph.args(ref));
      if (graph.kwargs(ref) != kNoRef) out.push_back(graph.kwargs(ref));
      add_items();
      add_entries();
      if (graph.state(ref) != kNoRef) out.push_back(graph.state(ref));
      return;
    default: return;
  }
}

References CountReferences(const Graph& graph, Ref root) {
  References result;
  result.counts.assign(graph.size(), 0);
  result.counts[root] = 1;
  std::vector<Visit> visits(graph.size(), Visit::kNew);
  std::vector<Ref> pending = {root};  // the open nodes, each with its parts that were not visited yet above it
  std::vector<Ref> children;
  while (!pending.empty()) {
    const Ref ref = pending.back();
    if (visits[ref] != Visit::kNew) {
      visits[ref] = Visit::kDone;
      pending.pop_back();
      continue;
    }
    visits[ref] = Visit::kOpen;
    children.clear();
    AppendChildren(graph, ref, children);
    std::reverse(children.begin(), children.end());  // the first one on top: the order of the writer
    for (const Ref child : children) {
      if (result.counts[child] < 2) ++result.counts[child];
      if (visits[child] == Visit::kNew) pending.push_back(child);
      if (visits[child] == Visit::kOpen && !ExistsBeforeItsParts(graph.kind(child))) result.immutable_cycle = true;
    }
  }
  return result;
}

}  // namespace ck::pickle
