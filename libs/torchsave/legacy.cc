#include "libs/torchsave/legacy.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"
#include "libs/pickle/unpickle.h"
#include "libs/torchsave/storage_id.h"

namespace ck::torchsave {
namespace {

using pickle::Kind;
using pickle::PersistentIds;
using pickle::Ref;
using pickle::Unpickled;

// Pickle of the number 0x1950a86a20f9469cfc6c.
constexpr std::string_view kMagic("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 15);
constexpr int64_t kProtocolVersion = 1001;

// The pickles have no lengths, so the head is read in growing pieces until all of them end inside.
constexpr uint64_t kFirstPiece = uint64_t{1} << 16;
constexpr uint64_t kGrowth = 8;

struct Head {
  Unpickled object;
  std::vector<std::string> keys;  // in the order in which the storages follow
  uint64_t bytes = 0;
};

[[noreturn]] void NotTorch(std::string_view what) {
  throw InputError("torchsave.not_torch", Cat("legacy torch.save file: ", what));
}

class PickleRow {
 public:
  explicit PickleRow(std::string_view data) : data_(data) {}
  Unpickled Next(PersistentIds persistent_ids = PersistentIds::kRefuse) {
    Unpickled next = pickle::Unpickle(data_.substr(position_), persistent_ids);
    position_ += next.bytes_used;
    return next;
  }
  uint64_t position() const { return position_; }

 private:
  std::string_view data_;
  uint64_t position_ = kMagic.size();
};

void CheckVersion(const Unpickled& version) {
  if (version.graph.kind(version.root) != Kind::kInt || version.graph.AsInt(version.root) != kProtocolVersion) {
    NotTorch(Cat("its protocol version is not ", kProtocolVersion));
  }
}

void CheckByteOrder(const Unpickled& system) {
  const pickle::Graph& graph = system.graph;
  const Ref little = graph.kind(system.root) == Kind::kDict ? graph.Find(system.root, "little_endian") : pickle::kNoRef;
  if (little == pickle::kNoRef || graph.kind(little) != Kind::kBool) NotTorch("it does not say its byte order");
  if (!graph.AsBool(little))
    throw InputError("torchsave.big_endian",
                     "legacy torch.save file with big-endian numbers; ck reads little-endian ones");
}

std::vector<std::string> ReadKeys(const Unpickled& list) {
  if (list.graph.kind(list.root) != Kind::kList) NotTorch("it has no list of storage keys");
  std::vector<std::string> keys;
  for (const Ref item : list.graph.items(list.root)) {
    if (list.graph.kind(item) != Kind::kString) NotTorch("a storage key is no text");
    keys.emplace_back(list.graph.bytes(item));
  }
  return keys;
}

Head ReadPickles(std::string_view data) {
  PickleRow row(data);
  CheckVersion(row.Next());
  CheckByteOrder(row.Next());
  Head head;
  head.object = row.Next(PersistentIds::kKeep);
  head.keys = ReadKeys(row.Next());
  head.bytes = row.position();
  return head;
}

Head ReadHead(const bytes::Source& source) {
  const uint64_t most = std::min(source.size(), kMaxObjectPickle);
  for (uint64_t length = std::min(most, kFirstPiece);; length = std::min(most, length * kGrowth)) {
    try {
      return ReadPickles(source.Read(0, length, kMaxObjectPickle));
    } catch (const Error& error) {
      if (error.id() != "pickle.truncated" && error.id() != "pickle.no_stop") throw;
      if (length == source.size()) throw;
      if (length == most)
        throw InputError("torchsave.limit_exceeded",
                         Cat("the pickles of a legacy file are longer than ", kMaxObjectPickle, " bytes"));
    }
  }
}

}  // namespace

bool IsLegacy(std::string_view first_bytes) {
  return StartsWith(first_bytes, kMagic);
}

SavedObject ReadLegacy(const bytes::Source& source) {
  Head head = ReadHead(source);
  SavedObject object;
  object.form = FileForm::kLegacy;
  object.graph = std::move(head.object.graph);
  object.root = head.object.root;

  const std::vector<StorageId> ids = StorageIds(object.graph, object.root);
  for (size_t i = 0; i < ids.size(); ++i) object.storage_indexes.emplace(ids[i].key, i);
  if (head.keys.size() != ids.size()) {
    throw InputError("torchsave.storage_missing",
                     Cat("the file lists ", head.keys.size(), " storages, its object uses ", ids.size()));
  }
  object.storages.resize(ids.size());
  std::vector<bool> placed(ids.size());
  uint64_t position = head.bytes;
  for (const std::string& key : head.keys) {
    const auto found = object.storage_indexes.find(key);
    if (found == object.storage_indexes.end() || placed[found->second]) {
      throw InputError("torchsave.storage_missing",
                       Cat("storage ", Quote(key), " is listed twice, or the object does not use it"));
    }
    const StorageId& id = ids[found->second];
    const std::string count_bytes = source.Read(position, std::min<uint64_t>(8, source.size() - position), 8);
    const uint64_t count =
        bytes::Reader(count_bytes, "torchsave.storage_size", Cat("the length of storage ", Quote(key))).U64();
    position += 8;
    if (count != id.size_bytes / id.element_bytes || !RangeFits(position, id.size_bytes, source.size())) {
      throw InputError("torchsave.storage_size",
                       Cat("storage ", Quote(key), " should have ", id.size_bytes, " bytes; the file gives it ", count,
                           " elements of ", id.element_bytes, " bytes at byte ", position, " of ", source.size()));
    }
    object.storages[found->second] = {key, position, id.size_bytes, 0};
    placed[found->second] = true;
    position += id.size_bytes;
  }
  return object;
}

}  // namespace ck::torchsave
