#include "libs/zip/testing/zip_builder.h"

#include "libs/bytes/reader.h"
#include "libs/checksum/crc32.h"
#include "libs/zip/format.h"

namespace ck::zip::testing {
namespace {

using bytes::PutU16;
using bytes::PutU32;
using bytes::PutU64;

uint32_t U32(uint64_t value) {
  return static_cast<uint32_t>(value);
}
uint16_t U16(uint64_t value) {
  return static_cast<uint16_t>(value);
}

uint16_t FlagsOf(const RecordSpec& record) {
  return U16(record.flags | (record.descriptor == Descriptor::kNone ? 0 : kFlagDescriptor));
}

void PutLocal(std::string& out, const RecordSpec& record) {
  const bool known = record.descriptor == Descriptor::kNone;
  const std::string name = record.local_name.value_or(record.name);
  PutU32(out, kLocalHeader);
  PutU16(out, 20);
  PutU16(out, FlagsOf(record));
  PutU16(out, record.method);
  PutU32(out, 0x21);  // 1980-01-01
  PutU32(out, record.local_crc.value_or(known ? Crc32(record.data) : 0));
  PutU32(out, record.local_size.value_or(known ? U32(record.data.size()) : 0));
  PutU32(out, record.local_size.value_or(known ? U32(record.data.size()) : 0));
  PutU16(out, U16(name.size()));
  PutU16(out, U16(record.local_extra.size()));
  out += name + record.local_extra + record.data;
  if (known) return;
  if (record.descriptor != Descriptor::k32WithoutSignature) PutU32(out, kDataDescriptor);
  PutU32(out, Crc32(record.data));
  for (int i = 0; i < 2; ++i) {
    if (record.descriptor == Descriptor::k64) {
      PutU64(out, record.data.size());
    } else {
      PutU32(out, U32(record.data.size()));
    }
  }
}

void PutCentral(std::string& out, const RecordSpec& record, uint64_t header_offset) {
  PutU32(out, kCentralHeader);
  PutU16(out, 20);
  PutU16(out, 20);
  PutU16(out, FlagsOf(record));
  PutU16(out, record.method);
  PutU32(out, 0x21);
  PutU32(out, record.central_crc.value_or(Crc32(record.data)));
  PutU32(out, record.central_compressed_size.value_or(record.central_size.value_or(U32(record.data.size()))));
  PutU32(out, record.central_size.value_or(U32(record.data.size())));
  PutU16(out, U16(record.name.size()));
  PutU16(out, U16(record.central_extra.size()));
  PutU16(out, 0);
  PutU16(out, record.disk);
  PutU16(out, 0);
  PutU32(out, 0);
  PutU32(out, record.central_header_offset.value_or(U32(header_offset)));
  out += record.name + record.central_extra;
}

}  // namespace

std::string ExtraField(uint16_t id, const std::string& body) {
  std::string out;
  PutU16(out, id);
  PutU16(out, U16(body.size()));
  return out + body;
}

std::string U64Bytes(uint64_t value) {
  std::string out;
  PutU64(out, value);
  return out;
}

std::string BuildZip(const std::vector<RecordSpec>& records, const EndSpec& end) {
  std::string out, directory;
  for (const RecordSpec& record : records) {
    PutCentral(directory, record, out.size());
    PutLocal(out, record);
  }
  const uint64_t directory_offset = out.size(), directory_bytes = directory.size();
  out += directory + end.after_directory;
  if (end.zip64 == Zip64::kYes) {
    const uint64_t zip64_offset = out.size();
    PutU32(out, kZip64EndRecord);
    PutU64(out, 44);
    PutU16(out, 45);
    PutU16(out, 45);
    PutU32(out, 0);
    PutU32(out, 0);
    PutU64(out, end.zip64_count.value_or(records.size()));
    PutU64(out, end.zip64_count.value_or(records.size()));
    PutU64(out, end.zip64_directory_bytes.value_or(directory_bytes));
    PutU64(out, end.zip64_directory_offset.value_or(directory_offset));
    PutU32(out, kZip64Locator);
    PutU32(out, 0);
    PutU64(out, end.zip64_end_offset.value_or(zip64_offset));
    PutU32(out, end.zip64_disks);
  }
  PutU32(out, kEndRecord);
  PutU16(out, end.disk);
  PutU16(out, end.disk);
  PutU16(out, end.count.value_or(U16(records.size())));
  PutU16(out, end.count.value_or(U16(records.size())));
  PutU32(out, end.directory_bytes.value_or(U32(directory_bytes)));
  PutU32(out, end.directory_offset.value_or(U32(directory_offset)));
  PutU16(out, U16(end.comment.size()));
  return out + end.comment;
}

}  // namespace ck::zip::testing
