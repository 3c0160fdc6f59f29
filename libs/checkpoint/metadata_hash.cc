#include "libs/checkpoint/metadata_hash.h"

#include <algorithm>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/detect.h"
#include "libs/checksum/sha256.h"
#include "libs/fs/read.h"

namespace ck::checkpoint {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;
constexpr char kIndexName[] = "model.safetensors.index.json";

void Add(const bytes::Source& file, uint64_t length, Sha256& hash) {
  std::string piece;
  for (uint64_t at = 0; at < length; at += piece.size()) {
    piece = file.Read(at, std::min(kPieceBytes, length - at), kPieceBytes);
    hash.Update(piece);
  }
}

void AddFile(const std::string& path, Sha256& hash) {
  const auto file = fs::InputFile::Open(path);
  Add(*file, file->size(), hash);
}

void AddHeader(const std::string& path, Sha256& hash) {
  const auto file = fs::InputFile::Open(path);
  constexpr uint64_t kPrefixBytes = 8;
  if (file->size() < kPrefixBytes) throw InputError("safetensors.header_past_end", Cat(path, " has ", file->size(), " bytes, a header needs 8"));
  const std::string prefix = file->Read(0, kPrefixBytes, kPrefixBytes);
  uint64_t length = 0;
  for (size_t i = kPrefixBytes; i-- > 0;) length = length << 8 | static_cast<uint8_t>(prefix[i]);
  if (!RangeFits(kPrefixBytes, length, file->size())) {
    throw InputError("safetensors.header_past_end", Cat(path, " has ", file->size(), " bytes, its header needs ", length, " after the first 8"));
  }
  Add(*file, kPrefixBytes + length, hash);
}

}  // namespace

std::string MetadataSha256(const Checkpoint& checkpoint) {
  Sha256 hash;
  const auto path_of = [&](std::string_view name) { return fs::JoinPath(checkpoint.path(), name); };
  if (checkpoint.format() == Format::kSafetensors) {
    if (fs::Stat(path_of(kIndexName))) {
      AddFile(path_of(kIndexName), hash);
    } else {
      for (const DataFile& file : checkpoint.files()) AddHeader(path_of(file.name), hash);
    }
  } else if (checkpoint.rank_local()) {
    for (const fs::Entry& entry : fs::ListDirectory(checkpoint.path())) {
      if (IsRankLocalMetadata(entry.name)) AddFile(path_of(entry.name), hash);
    }
  } else {
    AddFile(path_of(".metadata"), hash);
  }
  return hash.Finish();
}

}  // namespace ck::checkpoint
