#include "libs/pickle/graph.h"

#include <bit>
#include <limits>
#include <optional>

#include "libs/pickle/graph_impl.h"
#include "libs/pickle/int_text.h"
#include "libs/pickle/key.h"

namespace ck::pickle {
namespace {

// Entries up to which a key is looked for one by one; longer dicts have a hash table.
constexpr size_t kMaxScan = 8;
constexpr size_t kNotFound = std::numeric_limits<size_t>::max();

// Position of the entry for which `equal(key)`, starting at the slot of `hash`.
template <typename Equal>
size_t FindInIndex(const DictIndex& index, std::span<const Entry> entries, uint64_t hash, Equal equal) {
  const size_t mask = index.slots.size() - 1;
  for (size_t slot = hash & mask; index.slots[slot] != 0; slot = (slot + 1) & mask) {
    const size_t position = index.slots[slot] - 1;
    if (equal(entries[position].first)) return position;
  }
  return kNotFound;
}

void PutInIndex(DictIndex& index, uint64_t hash, size_t position) {
  const size_t mask = index.slots.size() - 1;
  size_t slot = hash & mask;
  while (index.slots[slot] != 0) slot = (slot + 1) & mask;
  index.slots[slot] = static_cast<uint32_t>(position + 1);
  ++index.used;
}

template <typename Equal, typename Hash>
size_t FindEntry(const std::unordered_map<Ref, DictIndex>& indexes, Ref dict, std::span<const Entry> entries,
                 Equal equal, Hash hash) {
  if (entries.size() > kMaxScan) return FindInIndex(indexes.at(dict), entries, hash(), equal);
  for (size_t i = 0; i < entries.size(); ++i) {
    if (equal(entries[i].first)) return i;
  }
  return kNotFound;
}

}  // namespace

void Graph::IndexEntries(Ref dict_or_object) {
  const auto all = entries(dict_or_object);
  if (all.size() <= kMaxScan) return;
  DictIndex& index = impl_->dict_indexes[dict_or_object];
  if (index.slots.size() < all.size() * 2) {
    index.slots.assign(std::bit_ceil(all.size() * 4), 0);
    index.used = 0;
  }
  while (index.used < all.size()) PutInIndex(index, HashKey(*this, all[index.used].first), index.used);
}

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

size_t Graph::size() const {
  return impl_->nodes.size();
}

void Graph::Reserve(size_t nodes) {
  impl_->nodes.reserve(nodes);
  impl_->items.Reserve(nodes / 2);
  impl_->entries.Reserve(nodes / 2);
}

Kind Graph::kind(Ref ref) const {
  return impl_->At(ref).kind;
}
bool Graph::AsBool(Ref ref) const {
  return impl_->At(ref, Kind::kBool).a != 0;
}
int64_t Graph::AsInt(Ref ref) const {
  return static_cast<int64_t>(Wide(impl_->At(ref, Kind::kInt)));
}
double Graph::AsFloat(Ref ref) const {
  return std::bit_cast<double>(Wide(impl_->At(ref, Kind::kFloat)));
}

std::string_view Graph::bytes(Ref ref) const {
  const Node& node = impl_->At(ref);
  Require(HasText(node.kind), "a string, bytes or big int");
  return std::string_view(impl_->text).substr(Wide(node), node.a);
}

std::string Graph::IntText(Ref ref) const {
  return kind(ref) == Kind::kInt ? Cat(AsInt(ref)) : DecimalText(bytes(ref));
}

std::span<const Ref> Graph::items(Ref ref) const {
  const Node& node = impl_->At(ref);
  if (HasItems(node.kind)) return impl_->items.View(SliceOf(node));
  Require(node.kind == Kind::kObject, "a container or an object");
  const Extra* extra = impl_->ExtraOf(node);
  return impl_->items.View(extra == nullptr ? Slice{} : extra->items);
}

std::span<const Entry> Graph::entries(Ref ref) const {
  return std::as_const(impl_->entries).View(impl_->EntriesOf(ref));
}

std::string_view Graph::module(Ref ref) const {
  return impl_->names[impl_->At(ref, Kind::kGlobal).a];
}
std::string_view Graph::name(Ref ref) const {
  return impl_->names[impl_->At(ref, Kind::kGlobal).b];
}

bool Graph::IsGlobal(Ref ref, std::string_view module_name, std::string_view global_name) const {
  return kind(ref) == Kind::kGlobal && name(ref) == global_name && module(ref) == module_name;
}

Form Graph::form(Ref ref) const {
  return impl_->At(ref, Kind::kObject).form;
}
Ref Graph::callable(Ref ref) const {
  return impl_->At(ref, Kind::kObject).a;
}

Ref Graph::args(Ref ref) const {
  const Node& node = impl_->At(ref);
  Require(node.kind == Kind::kObject || node.kind == Kind::kPersistent, "an object or a persistent id");
  return node.b;
}

Ref Graph::kwargs(Ref ref) const {
  const Extra* extra = impl_->ExtraOf(impl_->At(ref, Kind::kObject));
  return extra == nullptr ? kNoRef : extra->kwargs;
}

Ref Graph::state(Ref ref) const {
  const Node& node = impl_->At(ref, Kind::kObject);
  const Extra* extra = impl_->ExtraOf(node);
  return extra == nullptr ? node.c : extra->state;
}

bool Graph::IsCall(Ref ref, std::string_view module_name, std::string_view global_name) const {
  return kind(ref) == Kind::kObject && IsGlobal(callable(ref), module_name, global_name);
}

Ref Graph::Find(Ref dict, std::string_view key) const {
  const auto all = entries(dict);
  const auto equal = [&](Ref other) { return kind(other) == Kind::kString && bytes(other) == key; };
  const size_t position = FindEntry(impl_->dict_indexes, dict, all, equal, [&] { return HashStringKey(key); });
  return position == kNotFound ? kNoRef : all[position].second;
}

Ref Graph::Attribute(Ref object, std::string_view attribute) const {
  const Ref whole = kind(object) == Kind::kObject ? state(object) : kNoRef;
  if (whole == kNoRef) return kNoRef;
  if (kind(whole) == Kind::kDict) return Find(whole, attribute);
  if (kind(whole) != Kind::kTuple || items(whole).size() != 2) return kNoRef;
  for (const Ref part : items(whole)) {
    const Ref found = kind(part) == Kind::kDict ? Find(part, attribute) : kNoRef;
    if (found != kNoRef) return found;
  }
  return kNoRef;
}

Ref Graph::NewNone() {
  return impl_->Add({});
}
Ref Graph::NewBool(bool value) {
  return impl_->Add({.kind = Kind::kBool, .a = value ? 1u : 0u});
}

Ref Graph::NewInt(int64_t value) {
  Node node{.kind = Kind::kInt};
  SetWide(node, static_cast<uint64_t>(value));
  return impl_->Add(node);
}

Ref Graph::NewBigInt(std::string_view little_endian) {
  if (const std::optional<int64_t> value = ToInt64(little_endian)) return NewInt(*value);
  return impl_->AddText(Kind::kBigInt, Shortest(little_endian));
}

Ref Graph::NewFloat(double value) {
  Node node{.kind = Kind::kFloat};
  SetWide(node, std::bit_cast<uint64_t>(value));
  return impl_->Add(node);
}

Ref Graph::NewString(std::string_view utf8) {
  return impl_->AddText(Kind::kString, utf8);
}
Ref Graph::NewBytes(std::string_view bytes) {
  return impl_->AddText(Kind::kBytes, bytes);
}
Ref Graph::NewTuple(std::span<const Ref> items) {
  return impl_->AddItems(Kind::kTuple, items);
}
Ref Graph::NewList(std::span<const Ref> items) {
  return impl_->AddItems(Kind::kList, items);
}
Ref Graph::NewSet(std::span<const Ref> items) {
  return impl_->AddItems(Kind::kSet, items);
}
Ref Graph::NewFrozenSet(std::span<const Ref> items) {
  return impl_->AddItems(Kind::kFrozenSet, items);
}
Ref Graph::NewTuple(std::initializer_list<Ref> items) {
  return NewTuple(std::span(items.begin(), items.size()));
}
Ref Graph::NewList(std::initializer_list<Ref> items) {
  return NewList(std::span(items.begin(), items.size()));
}
Ref Graph::NewSet(std::initializer_list<Ref> items) {
  return NewSet(std::span(items.begin(), items.size()));
}
Ref Graph::NewFrozenSet(std::initializer_list<Ref> items) {
  return NewFrozenSet(std::span(items.begin(), items.size()));
}
Ref Graph::NewDict() {
  return impl_->Add({.kind = Kind::kDict});
}

Ref Graph::NewGlobal(std::string_view module, std::string_view name) {
  return impl_->Add({.kind = Kind::kGlobal, .a = impl_->NameIndex(module), .b = impl_->NameIndex(name)});
}

Ref Graph::NewObject(Form form, Ref callable, Ref args, Ref kwargs) {
  impl_->At(callable);
  impl_->At(args, Kind::kTuple);
  Require((form == Form::kNewObjEx) == (kwargs != kNoRef), "kwargs for NEWOBJ_EX and nothing else");
  const Ref ref = impl_->Add({.kind = Kind::kObject, .form = form, .a = callable, .b = args, .c = kNoRef});
  if (kwargs != kNoRef) {
    impl_->At(kwargs, Kind::kDict);
    impl_->MakeExtra(impl_->nodes[ref]).kwargs = kwargs;
  }
  return ref;
}

Ref Graph::NewPersistent(Ref id) {
  impl_->At(id);
  return impl_->Add({.kind = Kind::kPersistent, .b = id});
}

void Graph::DictSet(Ref dict, std::string_view key, Ref value) {
  const auto all = entries(dict);
  const auto equal = [&](Ref other) { return kind(other) == Kind::kString && bytes(other) == key; };
  const size_t position = FindEntry(impl_->dict_indexes, dict, all, equal, [&] { return HashStringKey(key); });
  if (position == kNotFound) return AppendEntry(dict, NewString(key), value);
  impl_->At(value);
  impl_->entries.View(impl_->EntriesOf(dict))[position].second = value;
}

void Graph::AppendItem(Ref list_or_object, Ref item) {
  impl_->At(item);
  Node& node = impl_->At(list_or_object);
  if (node.kind == Kind::kObject) return impl_->items.Append(impl_->MakeExtra(node).items, item);
  Require(node.kind == Kind::kList || node.kind == Kind::kSet, "a list, a set or an object");
  Slice slice = SliceOf(node);
  impl_->items.Append(slice, item);
  SetSlice(node, slice);
}

void Graph::AppendEntry(Ref dict_or_object, Ref key, Ref value) {
  impl_->At(key);
  impl_->At(value);
  Slice slice = impl_->EntriesOf(dict_or_object);
  const auto equal = [&](Ref other) { return KeysEqual(*this, key, other); };
  const size_t position = FindEntry(impl_->dict_indexes, dict_or_object, std::as_const(impl_->entries).View(slice),
                                    equal, [&] { return HashKey(*this, key); });
  if (position != kNotFound) {
    impl_->entries.View(slice)[position].second = value;
    return;
  }
  impl_->entries.Append(slice, {key, value});
  impl_->SetEntriesOf(dict_or_object, slice);
  if (slice.count > kMaxScan) IndexEntries(dict_or_object);
}

bool Graph::DictErase(Ref dict, std::string_view key) {
  Slice slice = impl_->EntriesOf(dict);
  const std::span<Entry> all = impl_->entries.View(slice);
  size_t position = 0;
  while (position < all.size() && !(kind(all[position].first) == Kind::kString && bytes(all[position].first) == key))
    ++position;
  if (position == all.size()) return false;
  for (size_t i = position + 1; i < all.size(); ++i) all[i - 1] = all[i];
  --slice.count;
  impl_->SetEntriesOf(dict, slice);
  impl_->dict_indexes.erase(dict);
  IndexEntries(dict);
  return true;
}

void Graph::SetState(Ref object, Ref state) {
  impl_->At(state);
  impl_->At(object, Kind::kObject);
  Node& node = impl_->At(object);
  (node.has_extra ? impl_->extras[node.c].state : node.c) = state;
}

void Graph::SetAttribute(Ref object, std::string_view name, Ref value) {
  if (state(object) == kNoRef) SetState(object, NewDict());
  DictSet(state(object), name, value);
}

}  // namespace ck::pickle
