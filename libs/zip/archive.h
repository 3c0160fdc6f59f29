// The zip archives that torch.save writes: stored records, data descriptors, zip64, 64-byte alignment. Reading and
// laying out; no I/O.
//
// Trust.   Input is hostile: every offset and length is compared with the source's size first; the central directory
//          rules.
// Errors.  zip.truncated, zip.no_end_record, zip.bad_signature, zip.bad_range, zip.compressed, zip.encrypted,
//          zip.duplicate_name, zip.limit_exceeded, zip.multi_disk, zip.local_header_mismatch (all kInput).
// Source.  docs/formats/torch_save.md
#ifndef CK_ZIP_ARCHIVE_H_
#define CK_ZIP_ARCHIVE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/bytes/source.h"

namespace ck::zip {

struct Record {
  std::string name;          // as stored, with the archive's root folder, e.g. "archive/data/0"
  uint64_t data_offset = 0;  // from the start of the source
  uint64_t size = 0;
  uint32_t crc = 0;  // 0 with size > 0: not computed (torch can be told so)
};

struct Archive {
  std::vector<Record> records;  // in central directory order
  // nullptr when there is none. Linear: a reader of many records makes its own index.
  const Record* Find(std::string_view name) const;
  // The part of the first record's name before its first '/': torch's archive root. "" when there is none.
  std::string root() const;
};

// True when the source begins with a local file header.
bool IsZip(std::string_view first_bytes);

// Reads the end record, the central directory and each record's local header. Reads only those bytes.
Archive ReadArchive(const bytes::Source& source);

// --- Writing: torch's layout, byte for byte (docs/formats/torch_save.md), computed before any data exists. ---

struct RecordPlan {
  std::string name;  // with the root folder
  uint64_t size = 0;
};

// Where everything goes. All offsets from the start of the archive.
struct Layout {
  struct Placed {
    uint64_t header_offset = 0;
    uint64_t data_offset = 0;
    uint64_t descriptor_offset = 0;  // == data_offset + size; no descriptor when size is 0
  };
  std::vector<RecordPlan> records;
  std::vector<Placed> placed;
  uint64_t central_directory_offset = 0;
  uint64_t total_size = 0;
};

Layout LayOut(std::vector<RecordPlan> records);

// The bytes of record `i` from its header_offset up to its data_offset.
std::string LocalHeader(const Layout& layout, size_t i);
// The data descriptor of record i, "" when its size is 0.
std::string DataDescriptor(const Layout& layout, size_t i, uint32_t crc);
// Central directory and end records. `crcs` has one entry per record.
std::string Tail(const Layout& layout, const std::vector<uint32_t>& crcs);

}  // namespace ck::zip

#endif  // CK_ZIP_ARCHIVE_H_
