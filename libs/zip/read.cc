#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"
#include "libs/zip/archive.h"
#include "libs/zip/format.h"

namespace ck::zip {
namespace {

using bytes::Reader;
using bytes::Source;

// The end record can be followed by a comment of up to 64 KiB.
constexpr uint64_t kMaxComment = 0xFFFF;
// torch has no comment, so the end records lie in the last bytes; one read of this size finds them.
constexpr uint64_t kFirstLook = kZip64EndRecordBytes + kZip64LocatorBytes + kEndRecordBytes;
// A file of torch.save has a record per storage: 10^5 for the largest optimizer states.
constexpr uint64_t kMaxRecords = 4'000'000;
constexpr uint64_t kMaxNameBytes = 4096;
constexpr uint64_t kMaxDirectoryBytes = uint64_t{1} << 30;

Reader ReaderOf(std::string_view data, std::string what) {
  return Reader(data, "zip.truncated", std::move(what));
}

// Where the central directory lies and where it must end.
struct EndRecord {
  uint64_t count = 0;
  uint64_t directory_offset = 0;
  uint64_t directory_bytes = 0;
  uint64_t offset = 0;  // of the first end record: the zip64 one when there is one
};

struct DirectoryEntry {
  Record record;
  uint64_t header_offset = 0;
};

// The last `length` bytes.
std::string ReadEnd(const Source& source, uint64_t length) {
  return source.Read(source.size() - length, length, length);
}

// The offset, in the end of the file, of the end record whose comment reaches exactly to the end of the file.
std::optional<uint64_t> FindEndRecord(std::string_view end) {
  if (end.size() < kEndRecordBytes) return std::nullopt;
  for (uint64_t at = end.size() - kEndRecordBytes + 1; at-- > 0;) {
    Reader reader = ReaderOf(end.substr(at), "zip end record");
    if (reader.U32() != kEndRecord) continue;
    reader.Take(16);
    if (reader.U16() == reader.remaining()) return at;
  }
  return std::nullopt;
}

void RefuseOtherDisks(const Source& source, uint64_t this_disk, uint64_t directory_disk) {
  if (this_disk == 0 && directory_disk == 0) return;
  throw InputError("zip.multi_disk", Cat(source.name(), ": zip archive in several parts: the end record names disk ",
                                         this_disk, " and ", directory_disk));
}

[[noreturn]] void BadRange(const Source& source, const std::string& what) {
  throw InputError("zip.bad_range", Cat(source.name(), ": zip archive: ", what));
}

[[noreturn]] void BadSignature(const Source& source, std::string_view what, uint64_t offset) {
  throw InputError("zip.bad_signature", Cat(source.name(), ": zip archive: no ", what, " at byte ", offset));
}

// Reads the zip64 end record that the locator before the end record at `end_offset` points to; `end` is the narrow
// form, which must agree.
void Widen(const Source& source, uint64_t end_offset, EndRecord& end) {
  if (end_offset < kZip64LocatorBytes) return;
  const std::string locator_bytes =
      source.Read(end_offset - kZip64LocatorBytes, kZip64LocatorBytes, kZip64LocatorBytes);
  Reader locator = ReaderOf(locator_bytes, "zip64 locator");
  if (locator.U32() != kZip64Locator) return;
  const uint32_t disk = locator.U32();
  const uint64_t offset = locator.U64();
  RefuseOtherDisks(source, disk, locator.U32() > 1);
  if (!RangeFits(offset, kZip64EndRecordBytes, end_offset - kZip64LocatorBytes)) {
    BadRange(source, Cat("the zip64 end record at byte ", offset, " does not fit before its locator at byte ",
                         end_offset - kZip64LocatorBytes));
  }
  const std::string bytes = source.Read(offset, kZip64EndRecordBytes, kZip64EndRecordBytes);
  Reader record = ReaderOf(bytes, "zip64 end record");
  if (record.U32() != kZip64EndRecord) BadSignature(source, "zip64 end record", offset);
  record.Take(8 + 2 + 2);  // its size and versions
  const uint32_t this_disk = record.U32();
  RefuseOtherDisks(source, this_disk, record.U32());
  const uint64_t count_here = record.U64();
  const EndRecord wide{record.U64(), 0, record.U64(), offset};
  const uint64_t directory_offset = record.U64();
  const auto agrees = [](uint64_t narrow, uint64_t full, uint64_t limit) { return narrow == full || narrow == limit; };
  if (count_here != wide.count || !agrees(end.count, wide.count, kIn64Count) ||
      !agrees(end.directory_bytes, wide.directory_bytes, kIn64) ||
      !agrees(end.directory_offset, directory_offset, kIn64)) {
    BadRange(source, "the zip64 end record and the end record disagree");
  }
  end = wide;
  end.directory_offset = directory_offset;
}

EndRecord ReadEndRecord(const Source& source) {
  const uint64_t size = source.size();
  std::string end_bytes = ReadEnd(source, std::min(size, kFirstLook));
  auto found = FindEndRecord(end_bytes);
  if (!found) {
    end_bytes = ReadEnd(source, std::min(size, kEndRecordBytes + kMaxComment));
    found = FindEndRecord(end_bytes);
  }
  if (!found) {
    throw InputError("zip.no_end_record", Cat(source.name(), ": no end record in the last ", end_bytes.size(), " of ",
                                              size, " bytes: the zip archive is cut off or is none"));
  }
  const uint64_t offset = size - end_bytes.size() + *found;
  Reader reader = ReaderOf(std::string_view(end_bytes).substr(*found), "zip end record");
  reader.Take(4);
  const uint16_t this_disk = reader.U16();
  RefuseOtherDisks(source, this_disk, reader.U16());
  const uint16_t count_here = reader.U16();
  EndRecord end;
  end.count = reader.U16();
  if (count_here != end.count) BadRange(source, Cat("the end record counts ", count_here, " records and ", end.count));
  end.directory_bytes = reader.U32();
  end.directory_offset = reader.U32();
  end.offset = offset;
  Widen(source, offset, end);

  if (end.count > kMaxRecords || end.directory_bytes > kMaxDirectoryBytes) {
    throw InputError("zip.limit_exceeded",
                     Cat(source.name(), ": zip archive with ", end.count, " records and a directory of ",
                         end.directory_bytes, " bytes; limits are ", kMaxRecords, " and ", kMaxDirectoryBytes));
  }
  if (!RangeFits(end.directory_offset, end.directory_bytes, end.offset) ||
      end.directory_offset + end.directory_bytes != end.offset) {
    BadRange(source, Cat("a central directory of ", end.directory_bytes, " bytes at byte ", end.directory_offset,
                         " does not end where the end record begins, at byte ", end.offset));
  }
  if (end.count > end.directory_bytes / kCentralHeaderBytes) {
    BadRange(source, Cat(end.count, " records do not fit a central directory of ", end.directory_bytes, " bytes"));
  }
  return end;
}

// Replaces those of the fields that say "in the zip64 field", in the order that field has them.
void ResolveZip64(std::string_view extra, uint64_t& size, uint64_t& compressed_size, uint64_t& header_offset) {
  if (size != kIn64 && compressed_size != kIn64 && header_offset != kIn64) return;
  Reader fields = ReaderOf(extra, "zip extra fields");
  while (true) {  // a missing field ends in zip.truncated
    const uint16_t id = fields.U16();
    const std::string_view body = fields.Take(fields.U16());
    if (id != kZip64Extra) continue;
    Reader field = ReaderOf(body, "zip64 extra field");
    for (uint64_t* value : {&size, &compressed_size, &header_offset}) {
      if (*value == kIn64) *value = field.U64();
    }
    return;
  }
}

void RefuseUnsupported(const Source& source, std::string_view name, uint16_t flags, uint16_t method) {
  if (flags & kFlagEncrypted)
    throw InputError("zip.encrypted", Cat(source.name(), ": zip record ", Quote(name), " is encrypted"));
  if (method != 0) {
    throw InputError("zip.compressed", Cat(source.name(), ": zip record ", Quote(name), " is compressed (method ",
                                           method, "); torch.save only stores"));
  }
}

DirectoryEntry ReadDirectoryEntry(const Source& source, Reader& reader) {
  const uint64_t position = reader.position();
  if (reader.U32() != kCentralHeader)
    BadSignature(source, "central directory entry, counted from the directory's start,", position);
  reader.Take(4);  // versions
  const uint16_t flags = reader.U16();
  const uint16_t method = reader.U16();
  reader.Take(4);  // time and date
  DirectoryEntry entry;
  entry.record.crc = reader.U32();
  uint64_t compressed_size = reader.U32();
  entry.record.size = reader.U32();
  const uint16_t name_bytes = reader.U16();
  const uint16_t extra_bytes = reader.U16();
  const uint16_t comment_bytes = reader.U16();
  const uint16_t disk = reader.U16();
  reader.Take(6);  // attributes
  entry.header_offset = reader.U32();
  if (name_bytes == 0 || name_bytes > kMaxNameBytes) {
    throw InputError("zip.limit_exceeded", Cat(source.name(), ": zip record with a name of ", name_bytes,
                                               " bytes; 1 to ", kMaxNameBytes, " are allowed"));
  }
  entry.record.name = reader.Take(name_bytes);
  ResolveZip64(reader.Take(extra_bytes), entry.record.size, compressed_size, entry.header_offset);
  reader.Take(comment_bytes);
  RefuseOtherDisks(source, disk, 0);
  RefuseUnsupported(source, entry.record.name, flags, method);
  if (compressed_size != entry.record.size) {
    BadRange(source, Cat("stored record ", Quote(entry.record.name), " has two sizes: ", compressed_size, " and ",
                         entry.record.size));
  }
  return entry;
}

// Finds where the record's data begins, and checks that the local header describes the same record.
void ReadLocalHeader(const Source& source, uint64_t directory_offset, DirectoryEntry& entry) {
  Record& record = entry.record;
  const uint64_t header_bytes = kLocalHeaderBytes + record.name.size();
  if (!RangeFits(entry.header_offset, header_bytes, directory_offset)) {
    BadRange(source, Cat("the header of record ", Quote(record.name), " at byte ", entry.header_offset,
                         " does not fit before the central directory at byte ", directory_offset));
  }
  const std::string bytes = source.Read(entry.header_offset, header_bytes, header_bytes);
  Reader reader = ReaderOf(bytes, "zip local header");
  if (reader.U32() != kLocalHeader) BadSignature(source, "local header", entry.header_offset);
  reader.Take(2);  // version
  const uint16_t flags = reader.U16();
  RefuseUnsupported(source, record.name, flags, reader.U16());
  reader.Take(4);  // time and date
  const uint32_t crc = reader.U32();
  const uint32_t compressed_size = reader.U32();
  const uint32_t size = reader.U32();
  const uint16_t name_bytes = reader.U16();
  const uint16_t extra_bytes = reader.U16();
  const auto fits = [&](uint32_t local) { return local == record.size || local == kIn64; };
  // With a descriptor the local sizes are not known, and torch leaves 0 there.
  const bool same_sizes = (flags & kFlagDescriptor) || (crc == record.crc && fits(size) && fits(compressed_size));
  if (name_bytes != record.name.size() || reader.Take(name_bytes) != record.name || !same_sizes) {
    throw InputError("zip.local_header_mismatch",
                     Cat(source.name(), ": zip archive: the local header at byte ", entry.header_offset,
                         " does not describe ", Quote(record.name), ", the record of the central directory"));
  }
  record.data_offset = entry.header_offset + header_bytes + extra_bytes;
  if (!RangeFits(record.data_offset, record.size, directory_offset)) {
    BadRange(source, Cat("the ", record.size, " bytes of record ", Quote(record.name), " at byte ", record.data_offset,
                         " do not fit before the central directory at byte ", directory_offset));
  }
}

void RefuseDuplicates(const Source& source, const std::vector<DirectoryEntry>& entries) {
  std::unordered_set<std::string_view> names;
  for (const DirectoryEntry& entry : entries) {
    if (names.insert(entry.record.name).second) continue;
    throw InputError("zip.duplicate_name",
                     Cat(source.name(), ": two zip records are named ", Quote(entry.record.name)));
  }
}

// Two records that share bytes: never written by a zip tool, a way to say two things at once.
void RefuseOverlaps(const Source& source, const std::vector<DirectoryEntry>& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return entries[a].header_offset < entries[b].header_offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const Record& before = entries[order[i - 1]].record;
    const DirectoryEntry& entry = entries[order[i]];
    if (before.data_offset + before.size <= entry.header_offset) continue;
    BadRange(source, Cat("records ", Quote(before.name), " and ", Quote(entry.record.name), " overlap"));
  }
}

}  // namespace

const Record* Archive::Find(std::string_view name) const {
  const auto found =
      std::find_if(records.begin(), records.end(), [&](const Record& record) { return record.name == name; });
  return found == records.end() ? nullptr : &*found;
}

std::string Archive::root() const {
  if (records.empty()) return "";
  const std::string& name = records.front().name;
  const size_t slash = name.find('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

bool IsZip(std::string_view first_bytes) {
  return StartsWith(first_bytes, "PK\x03\x04");
}

Archive ReadArchive(const Source& source) {
  const EndRecord end = ReadEndRecord(source);
  const std::string directory = source.Read(end.directory_offset, end.directory_bytes, kMaxDirectoryBytes);
  Reader reader = ReaderOf(directory, "zip central directory");
  std::vector<DirectoryEntry> entries;
  entries.reserve(end.count);
  for (uint64_t i = 0; i < end.count; ++i) entries.push_back(ReadDirectoryEntry(source, reader));
  if (!reader.AtEnd())
    BadRange(source, Cat(reader.remaining(), " bytes follow the last entry of the central directory"));
  RefuseDuplicates(source, entries);
  for (DirectoryEntry& entry : entries) ReadLocalHeader(source, end.directory_offset, entry);
  RefuseOverlaps(source, entries);
  Archive archive;
  archive.records.reserve(entries.size());
  for (DirectoryEntry& entry : entries) archive.records.push_back(std::move(entry.record));
  return archive;
}

}  // namespace ck::zip
