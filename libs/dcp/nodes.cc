#include "libs/dcp/nodes.h"

#include <algorithm>
#include <iterator>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/pickle/allowlist.h"

namespace ck::dcp {
namespace {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

constexpr size_t kMaxNotes = 100;  // a person reads them; a hostile file could cause millions

struct Spelling {
  Class which;
  std::string_view module, name;
};

constexpr Spelling kSpellings[] = {
    {Class::kMetadata, "torch.distributed.checkpoint.metadata", "Metadata"},
    {Class::kTensor, "torch.distributed.checkpoint.metadata", "TensorStorageMetadata"},
    {Class::kObject, "torch.distributed.checkpoint.metadata", "BytesStorageMetadata"},
    {Class::kChunk, "torch.distributed.checkpoint.metadata", "ChunkStorageMetadata"},
    {Class::kProperties, "torch.distributed.checkpoint.metadata", "TensorProperties"},
    {Class::kIndex, "torch.distributed.checkpoint.metadata", "MetadataIndex"},
    {Class::kStorageInfo, "torch.distributed.checkpoint.filesystem", "_StorageInfo"},
    // Megatron-Core 0.15.0 to 0.15.3.
    {Class::kMetadata, "megatron.core.dist_checkpointing.strategies.torch", "MCoreMetadata"},
    // torch up to 2.2.
    {Class::kProperties, "torch.distributed._shard.sharded_tensor.metadata", "TensorProperties"},
    // torch 1.12 and 1.13.
    {Class::kMetadata, "torch.distributed._shard.checkpoint.metadata", "Metadata"},
    {Class::kTensor, "torch.distributed._shard.checkpoint.metadata", "TensorStorageMetadata"},
    {Class::kObject, "torch.distributed._shard.checkpoint.metadata", "BytesStorageMetadata"},
    {Class::kChunk, "torch.distributed._shard.checkpoint.metadata", "ChunkStorageMetadata"},
    {Class::kProperties, "torch.distributed._shard.checkpoint.metadata", "TensorProperties"},
    {Class::kIndex, "torch.distributed._shard.checkpoint.metadata", "MetadataIndex"},
    {Class::kStorageInfo, "torch.distributed._shard.checkpoint.filesystem", "_StorageInfo"},
};

std::string_view NameOf(Class which) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.which == which) return spelling.name;
  }
  return "";
}

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kNone: return "None";
    case Kind::kBool: return "a bool";
    case Kind::kInt: return "an int";
    case Kind::kBigInt: return "an int beyond 64 bits";
    case Kind::kFloat: return "a float";
    case Kind::kString: return "a str";
    case Kind::kBytes: return "bytes";
    case Kind::kTuple: return "a tuple";
    case Kind::kList: return "a list";
    case Kind::kDict: return "a dict";
    case Kind::kSet: return "a set";
    case Kind::kFrozenSet: return "a frozenset";
    case Kind::kGlobal: return "the class or function";
    case Kind::kObject: return "an object";
    case Kind::kPersistent: return "a persistent id";
  }
  return "something unknown";
}

}  // namespace

std::string Nodes::Describe(Ref ref) const {
  if (ref == kNoRef) return "nothing";
  const Kind kind = graph_.kind(ref);
  if (kind == Kind::kInt) return Cat("the int ", graph_.IntText(ref));
  if (kind == Kind::kGlobal) return Cat(KindName(kind), " ", Quote(Cat(graph_.module(ref), ".", graph_.name(ref))));
  if (kind == Kind::kObject && graph_.kind(graph_.callable(ref)) == Kind::kGlobal) {
    const Ref callable = graph_.callable(ref);
    return Cat("an object of ", Quote(Cat(graph_.module(callable), ".", graph_.name(callable))));
  }
  return std::string(KindName(kind));
}

void Nodes::Unexpected(Ref ref, std::string_view what, std::string_view expected) const {
  throw InputError("dcp.bad_metadata", Cat(what, " is ", Describe(ref), ", expected ", expected));
}

bool Nodes::IsInstance(Ref ref, Class which) {
  if (ref == kNoRef || graph_.kind(ref) != Kind::kObject || graph_.form(ref) != pickle::Form::kNewObj) return false;
  const Ref args = graph_.args(ref);
  if (graph_.kind(args) != Kind::kTuple || !graph_.items(args).empty()) return false;
  const Ref callable = graph_.callable(ref);
  Ref& last = last_[static_cast<size_t>(which)];
  if (callable == last) return true;
  for (const Spelling& spelling : kSpellings) {
    if (spelling.which == which && graph_.IsGlobal(callable, spelling.module, spelling.name)) {
      last = callable;
      return true;
    }
  }
  return false;
}

void Nodes::ExpectInstance(Ref ref, Class which) {
  if (!IsInstance(ref, which)) Unexpected(ref, NameOf(which), Cat("an object of torch's ", NameOf(which)));
}

void Nodes::ReadAttributes(Ref object, Class which, const std::string_view* names, Ref* values, size_t count) {
  ExpectInstance(object, which);
  const Ref state = graph_.state(object);
  if (state == kNoRef) return;
  if (graph_.kind(state) != Kind::kDict) Unexpected(state, Cat("state of ", NameOf(which)), "a dict of attributes");
  size_t guess = 0;  // attributes come in the order of the class, most often
  for (const auto& [key, value] : graph_.entries(state)) {
    const std::string_view name = String(key, "name of an attribute");
    size_t found = guess;
    if (found >= count || names[found] != name) {
      found = static_cast<size_t>(std::find(names, names + count, name) - names);
    }
    if (found == count) {
      NoteAttribute(which, name, value);
      continue;
    }
    if (graph_.kind(value) != Kind::kNone) values[found] = value;
    guess = found + 1;
  }
}

// An attribute of a newer torch is no reason to refuse a checkpoint, but a class that ck does not know, in a place that it has to
// understand, is.
void Nodes::NoteAttribute(Class which, std::string_view name, Ref value) {
  Ref global = value;
  if (graph_.kind(value) == Kind::kObject) global = graph_.callable(value);
  if (graph_.kind(global) == Kind::kGlobal && !pickle::IsKnownGlobal(graph_.module(global), graph_.name(global))) {
    Unexpected(value, Cat("attribute ", Quote(name), " of ", NameOf(which)), "a class that ck knows");
  }
  Note(Cat("ignored attribute ", Quote(name), " of ", NameOf(which), ": ck does not know it"));
}

void Nodes::Note(std::string note) {
  if (notes_.size() < kMaxNotes && std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
}

Nodes::Entries Nodes::DictEntries(Ref ref, std::string_view what) const {
  const bool is_dict = ref != kNoRef && (graph_.kind(ref) == Kind::kDict || graph_.IsCall(ref, "collections", "OrderedDict"));
  if (!is_dict) Unexpected(ref, what, "a dict");
  return graph_.entries(ref);
}

std::span<const Ref> Nodes::SequenceItems(Ref ref, std::string_view what) const {
  const bool is_sequence = ref != kNoRef && (graph_.kind(ref) == Kind::kTuple || graph_.kind(ref) == Kind::kList);
  if (!is_sequence) Unexpected(ref, what, "a tuple or list");
  return graph_.items(ref);
}

std::string_view Nodes::String(Ref ref, std::string_view what) const {
  if (ref == kNoRef || graph_.kind(ref) != Kind::kString) Unexpected(ref, what, "a str");
  return graph_.bytes(ref);
}

uint64_t Nodes::Count(Ref ref, std::string_view what) const {
  if (ref == kNoRef || graph_.kind(ref) != Kind::kInt || graph_.AsInt(ref) < 0) Unexpected(ref, what, "an int from 0 to 2^63-1");
  return static_cast<uint64_t>(graph_.AsInt(ref));
}

void Nodes::ReadDims(Ref ref, std::string_view what, Dims& dims) {
  Ref sequence = ref;
  if (ref != kNoRef && graph_.kind(ref) == Kind::kObject) {
    const Ref callable = graph_.callable(ref);
    if (callable != size_class_) {
      if (!graph_.IsGlobal(callable, "torch", "Size")) Unexpected(ref, what, "a torch.Size or a tuple");
      size_class_ = callable;
    }
    const std::span<const Ref> args = SequenceItems(graph_.args(ref), what);
    if (args.size() != 1) Unexpected(ref, what, "a torch.Size of one argument");
    sequence = args[0];
  }
  const std::span<const Ref> items = SequenceItems(sequence, what);
  if (items.size() > kMaxRank) {
    throw InputError("dcp.bad_metadata", Cat(what, " has ", items.size(), " dimensions, expected at most ", kMaxRank));
  }
  dims.clear();
  dims.reserve(items.size());
  for (const Ref item : items) dims.push_back(Count(item, what));
}

}  // namespace ck::dcp
