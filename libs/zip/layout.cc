// The layout that torch's zip writer (miniz) produces. Its peculiarities, all kept because torch can be told to compute
// offsets instead of reading headers:
// - local headers carry no sizes and no CRC; a descriptor follows the data, except after empty records;
// - data starts at multiples of 64, reached by an extra field "FB" in the local header;
// - a record of 4 GiB - 1 or more, or one that starts there, has a zip64 extra field and a descriptor of 24 bytes. In
//   the local header that field gives a compressed size of 0, and the header's own size fields stay 0;
// - the zip64 end records are always written.
#include <algorithm>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"
#include "libs/zip/archive.h"
#include "libs/zip/format.h"

namespace ck::zip {
namespace {

using bytes::PutU16;
using bytes::PutU32;
using bytes::PutU64;

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kFieldHeadBytes = 4;     // id and length of an extra field
constexpr uint16_t kPaddingField = 0x4246;  // "FB"
constexpr char kPaddingByte = 'Z';

bool SizeIs64(uint64_t size) {
  return size >= kIn64;
}
bool NeedsZip64(uint64_t size, uint64_t header_offset) {
  return SizeIs64(size) || SizeIs64(header_offset);
}

uint64_t Zip64FieldBytes(uint64_t size, uint64_t header_offset) {
  if (!NeedsZip64(size, header_offset)) return 0;
  return kFieldHeadBytes + (SizeIs64(size) ? 16 : 0) + (SizeIs64(header_offset) ? 8 : 0);
}

uint64_t DescriptorBytes(uint64_t size, uint64_t header_offset) {
  if (size == 0) return 0;
  return NeedsZip64(size, header_offset) ? 24 : 16;
}

void PutZip64Field(std::string& out, uint64_t size, uint64_t compressed_size, uint64_t header_offset) {
  const uint64_t field_bytes = Zip64FieldBytes(size, header_offset);
  if (field_bytes == 0) return;
  PutU16(out, kZip64Extra);
  PutU16(out, static_cast<uint16_t>(field_bytes - kFieldHeadBytes));
  if (SizeIs64(size)) {
    PutU64(out, size);
    PutU64(out, compressed_size);
  }
  if (SizeIs64(header_offset)) PutU64(out, header_offset);
}

uint32_t Low32(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, kIn64));
}

uint16_t Flags(uint64_t size) {
  return static_cast<uint16_t>(kFlagUtf8 | (size > 0 ? kFlagDescriptor : 0));
}

uint64_t Sum(uint64_t a, uint64_t b) {
  const auto sum = CheckedAdd(a, b);
  if (!sum) throw InputError("zip.limit_exceeded", Cat("an archive of more than 2^64 bytes: ", a, " + ", b));
  return *sum;
}

// The first multiple of 64 from `position` on.
uint64_t Align(uint64_t position) {
  return Sum(position, (kAlignment - position % kAlignment) % kAlignment);
}

void PutCentralHeader(std::string& out, const RecordPlan& record, uint64_t header_offset, uint32_t crc) {
  PutU32(out, kCentralHeader);
  PutU16(out, 0);  // made by
  PutU16(out, 0);  // version needed
  PutU16(out, Flags(record.size));
  PutU16(out, 0);  // stored
  PutU32(out, 0);  // time and date
  PutU32(out, crc);
  PutU32(out, Low32(record.size));
  PutU32(out, Low32(record.size));
  PutU16(out, static_cast<uint16_t>(record.name.size()));
  PutU16(out, static_cast<uint16_t>(Zip64FieldBytes(record.size, header_offset)));
  PutU16(out, 0);  // comment
  PutU16(out, 0);  // disk
  PutU16(out, 0);  // internal attributes
  PutU32(out, 0);  // external attributes
  PutU32(out, Low32(header_offset));
  out += record.name;
  PutZip64Field(out, record.size, record.size, header_offset);
}

void PutEndRecords(std::string& out, uint64_t count, uint64_t directory_offset, uint64_t directory_bytes) {
  const uint64_t zip64_offset = directory_offset + directory_bytes;
  PutU32(out, kZip64EndRecord);
  PutU64(out, kZip64EndRecordBytes - 12);  // without signature and this field
  PutU16(out, 0x031E);                     // made by: Unix, 3.0
  PutU16(out, 45);                         // version needed: zip64
  PutU32(out, 0);                          // this disk
  PutU32(out, 0);                          // disk of the directory
  PutU64(out, count);
  PutU64(out, count);
  PutU64(out, directory_bytes);
  PutU64(out, directory_offset);

  PutU32(out, kZip64Locator);
  PutU32(out, 0);  // disk
  PutU64(out, zip64_offset);
  PutU32(out, 1);  // number of disks

  const auto low_count = static_cast<uint16_t>(std::min<uint64_t>(count, kIn64Count));
  PutU32(out, kEndRecord);
  PutU16(out, 0);  // this disk
  PutU16(out, 0);  // disk of the directory
  PutU16(out, low_count);
  PutU16(out, low_count);
  PutU32(out, Low32(directory_bytes));
  PutU32(out, Low32(directory_offset));
  PutU16(out, 0);  // comment
}

}  // namespace

Layout LayOut(std::vector<RecordPlan> records) {
  Layout layout;
  layout.placed.reserve(records.size());
  uint64_t position = 0, directory_bytes = 0;
  for (const RecordPlan& record : records) {
    Check(record.name.size() < kIn64Count, "the name of a zip record fits its length field");
    Layout::Placed placed;
    placed.header_offset = position;
    const uint64_t zip64_bytes = Zip64FieldBytes(record.size, position);
    placed.data_offset = Align(Sum(position, kLocalHeaderBytes + record.name.size() + zip64_bytes + kFieldHeadBytes));
    placed.descriptor_offset = Sum(placed.data_offset, record.size);
    position = Sum(placed.descriptor_offset, DescriptorBytes(record.size, placed.header_offset));
    directory_bytes += kCentralHeaderBytes + record.name.size() + zip64_bytes;
    layout.placed.push_back(placed);
  }
  layout.records = std::move(records);
  layout.central_directory_offset = position;
  layout.total_size = Sum(position, directory_bytes + kZip64EndRecordBytes + kZip64LocatorBytes + kEndRecordBytes);
  return layout;
}

std::string LocalHeader(const Layout& layout, size_t i) {
  const RecordPlan& record = layout.records[i];
  const Layout::Placed& placed = layout.placed[i];
  const uint64_t length = placed.data_offset - placed.header_offset;
  const uint64_t extra_bytes = length - kLocalHeaderBytes - record.name.size();
  std::string out;
  out.reserve(length);
  PutU32(out, kLocalHeader);
  PutU16(out, 0);  // version needed
  PutU16(out, Flags(record.size));
  PutU16(out, 0);  // stored
  PutU32(out, 0);  // time and date
  PutU32(out, 0);  // CRC and sizes: in the descriptor
  PutU32(out, 0);
  PutU32(out, 0);
  PutU16(out, static_cast<uint16_t>(record.name.size()));
  PutU16(out, static_cast<uint16_t>(extra_bytes));
  out += record.name;
  PutZip64Field(out, record.size, 0, placed.header_offset);
  PutU16(out, kPaddingField);
  PutU16(out, static_cast<uint16_t>(length - out.size() - 2));
  out.append(length - out.size(), kPaddingByte);
  return out;
}

std::string DataDescriptor(const Layout& layout, size_t i, uint32_t crc) {
  const uint64_t size = layout.records[i].size;
  std::string out;
  if (size == 0) return out;
  PutU32(out, kDataDescriptor);
  PutU32(out, crc);
  if (NeedsZip64(size, layout.placed[i].header_offset)) {
    PutU64(out, size);
    PutU64(out, size);
  } else {
    PutU32(out, static_cast<uint32_t>(size));
    PutU32(out, static_cast<uint32_t>(size));
  }
  return out;
}

std::string Tail(const Layout& layout, const std::vector<uint32_t>& crcs) {
  Check(crcs.size() == layout.records.size(), "one CRC per zip record");
  std::string out;
  out.reserve(layout.total_size - layout.central_directory_offset);
  for (size_t i = 0; i < crcs.size(); ++i) {
    PutCentralHeader(out, layout.records[i], layout.placed[i].header_offset, crcs[i]);
  }
  PutEndRecords(out, crcs.size(), layout.central_directory_offset, out.size());
  return out;
}

}  // namespace ck::zip
