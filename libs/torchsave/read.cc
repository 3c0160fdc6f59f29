#include "libs/torchsave/read.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checksum/crc32.h"
#include "libs/pickle/unpickle.h"
#include "libs/torchsave/legacy.h"
#include "libs/torchsave/records.h"
#include "libs/torchsave/storage_id.h"
#include "libs/zip/archive.h"

namespace ck::torchsave {
namespace {

using RecordsByName = std::unordered_map<std::string_view, const zip::Record*>;

// Enough to tell the forms apart: a tar header says "ustar" at byte 257.
constexpr uint64_t kSniffBytes = 512;
// Versions of the archive format that torch reads.
constexpr uint64_t kMinVersion = 1, kMaxVersion = 10;
// `byteorder` and `version` hold a word.
constexpr uint64_t kMaxWordBytes = 64;

const zip::Record* Find(const RecordsByName& records, const std::string& name) {
  const auto found = records.find(name);
  return found == records.end() ? nullptr : found->second;
}

std::string ReadWord(const bytes::Source& source, const zip::Record& record) {
  return source.Read(record.data_offset, std::min(record.size, kMaxWordBytes), kMaxWordBytes);
}

void CheckByteOrder(const bytes::Source& source, const zip::Record* record) {
  if (record == nullptr) return;  // torch wrote none before 2.1
  const std::string order = ReadWord(source, *record);
  if (order != kLittle)
    throw InputError("torchsave.big_endian", Cat("byte order ", Quote(order), "; ck reads 'little'"));
}

void CheckVersion(const bytes::Source& source, const zip::Record* record) {
  if (record == nullptr) return;
  const std::string word = ReadWord(source, *record);
  const auto version = ParseUint64(Trim(word));
  if (version && *version >= kMinVersion && *version <= kMaxVersion) return;
  throw InputError("torchsave.not_torch",
                   Cat("version ", Quote(word), " of the archive; ck knows ", kMinVersion, " to ", kMaxVersion));
}

std::string ReadPickle(const bytes::Source& source, const zip::Record& record) {
  if (record.size > kMaxObjectPickle) {
    throw InputError("torchsave.limit_exceeded",
                     Cat("a data.pkl of ", record.size, " bytes; the limit is ", kMaxObjectPickle));
  }
  std::string data = source.Read(record.data_offset, record.size, kMaxObjectPickle);
  if (record.crc != 0 && Crc32(data) != record.crc) {
    throw InputError("torchsave.crc_mismatch",
                     Cat("data.pkl is damaged: its CRC-32 is ", Crc32(data), ", the archive says ", record.crc));
  }
  return data;
}

SavedObject ReadZip(const bytes::Source& source) {
  const zip::Archive archive = zip::ReadArchive(source);
  RecordsByName records;
  for (const zip::Record& record : archive.records) records.emplace(record.name, &record);
  SavedObject object;
  object.root_name = archive.root();
  const auto name = [&](std::string_view rest) { return Cat(object.root_name, '/', rest); };

  if (Find(records, name("constants.pkl")) != nullptr) {
    throw InputError("torchsave.torchscript",
                     "a TorchScript program (it has a record constants.pkl), not a saved object");
  }
  const zip::Record* pickle = Find(records, name(kDataPkl));
  if (pickle == nullptr)
    throw InputError("torchsave.no_data_pkl",
                     Cat("a zip archive without the record ", Quote(name(kDataPkl)), ": torch.save did not write it"));
  CheckByteOrder(source, Find(records, name(kByteOrder)));
  CheckVersion(source, Find(records, name(kVersion)));

  pickle::Unpickled unpickled = pickle::Unpickle(ReadPickle(source, *pickle), pickle::PersistentIds::kKeep);
  object.graph = std::move(unpickled.graph);
  object.root = unpickled.root;
  for (const StorageId& id : StorageIds(object.graph, object.root)) {
    const zip::Record* record = Find(records, name(Cat("data/", id.key)));
    if (record == nullptr)
      throw InputError("torchsave.storage_missing",
                       Cat("no record ", Quote(name(Cat("data/", id.key))), ", which the object names as a storage"));
    if (record->size != id.size_bytes) {
      throw InputError("torchsave.storage_size", Cat("storage ", Quote(id.key), " has ", record->size,
                                                     " bytes, its object says ", id.size_bytes));
    }
    object.storage_indexes.emplace(id.key, object.storages.size());
    object.storages.push_back({id.key, record->data_offset, record->size, record->crc});
  }
  return object;
}

SavedObject ReadAny(const bytes::Source& source) {
  const std::string first_bytes = source.Read(0, std::min(source.size(), kSniffBytes), kSniffBytes);
  if (zip::IsZip(first_bytes)) return ReadZip(source);
  if (IsLegacy(first_bytes)) return ReadLegacy(source);
  if (first_bytes.size() > 262 && first_bytes.substr(257, 5) == "ustar") {
    throw InputError("torchsave.tar", "a tar archive, as torch wrote before 0.2: save it again with a newer torch");
  }
  if (StartsWith(first_bytes, "PYTORCH1")) {
    throw InputError("torchsave.not_torch",
                     "a file of a preview of torch 1.0 (PYTORCH1), which no torch reads any more");
  }
  throw InputError("torchsave.not_torch",
                   Cat("not a file of torch.save: it begins with ", Quote(std::string_view(first_bytes).substr(0, 8)),
                       ", not with a zip or legacy header"));
}

}  // namespace

const Storage* SavedObject::FindStorage(std::string_view key) const {
  const auto found = storage_indexes.find(key);
  return found == storage_indexes.end() ? nullptr : &storages[found->second];
}

SavedObject ReadObject(const bytes::Source& source) {
  try {
    return ReadAny(source);
  } catch (const Error& error) {
    if (StartsWith(error.id(), "zip.")) throw;  // names the source already
    throw error.At(source.name());
  }
}

}  // namespace ck::torchsave
