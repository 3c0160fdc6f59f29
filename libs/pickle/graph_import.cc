#include <unordered_map>
#include <utility>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/pickle/graph_impl.h"

namespace ck::pickle {
namespace {

// Gives every node of the other graph that is reached a node here; the new nodes are filled in later, so cycles need no
// care.
class Importer {
 public:
  explicit Importer(std::vector<Node>& nodes) : nodes_(nodes) {}

  Ref Map(Ref other) {
    if (other == kNoRef) return kNoRef;
    const auto [place, is_new] = mapped_.try_emplace(other, static_cast<Ref>(nodes_.size()));
    if (is_new) {
      if (nodes_.size() >= kNoRef) TooLarge("nodes");
      nodes_.emplace_back();
      pending_.emplace_back(other, place->second);
    }
    return place->second;
  }

  bool done() const { return next_ == pending_.size(); }
  // A node of the other graph, and its place here.
  std::pair<Ref, Ref> Next() { return pending_[next_++]; }

 private:
  std::vector<Node>& nodes_;
  std::unordered_map<Ref, Ref> mapped_;
  std::vector<std::pair<Ref, Ref>> pending_;
  size_t next_ = 0;
};

}  // namespace

Ref Graph::Import(const Graph& other, Ref root) {
  Require(&other != this, "a graph that is not imported into itself");
  Importer importer(impl_->nodes);
  const Ref new_root = importer.Map(root);
  std::vector<Ref> dicts;
  const auto map_items = [&](std::span<const Ref> items) {
    std::vector<Ref> out;
    for (const Ref item : items) out.push_back(importer.Map(item));
    return impl_->items.Add(out);
  };
  const auto map_entries = [&](std::span<const Entry> entries) {
    std::vector<Entry> out;
    for (const auto& [key, value] : entries) {
      const Ref new_key = importer.Map(key);
      out.emplace_back(new_key, importer.Map(value));
    }
    return impl_->entries.Add(out);
  };
  while (!importer.done()) {
    const auto [from, to] = importer.Next();
    Node node = other.impl_->At(from);
    if (HasText(node.kind)) {
      SetWide(node, impl_->text.size());
      impl_->text.append(other.bytes(from));
    } else if (HasItems(node.kind)) {
      SetSlice(node, map_items(other.items(from)));
    } else if (node.kind == Kind::kDict) {
      SetSlice(node, map_entries(other.entries(from)));
      dicts.push_back(to);
    } else if (node.kind == Kind::kGlobal) {
      node.a = impl_->NameIndex(other.module(from));
      node.b = impl_->NameIndex(other.name(from));
    } else if (node.kind == Kind::kPersistent) {
      node.b = importer.Map(node.b);
    } else if (node.kind == Kind::kObject) {
      node.a = importer.Map(node.a);
      node.b = importer.Map(node.b);
      node.c = importer.Map(other.state(from));
      node.has_extra = false;
      if (other.impl_->At(from).has_extra) {
        Extra& extra = impl_->MakeExtra(node);
        extra.kwargs = importer.Map(other.kwargs(from));
        extra.items = map_items(other.items(from));
        extra.entries = map_entries(other.entries(from));
        dicts.push_back(to);
      }
    }
    impl_->nodes[to] = node;
  }
  for (const Ref dict : dicts) IndexEntries(dict);
  return new_root;
}

}  // namespace ck::pickle
