// Zip archives for tests, well-formed by default as Python's zipfile writes them (no padding, no descriptors), with a
// knob for each thing that can be wrong. Testonly.
#ifndef CK_ZIP_TESTING_ZIP_BUILDER_H_
#define CK_ZIP_TESTING_ZIP_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ck::zip::testing {

enum class Descriptor { kNone, k32, k64, k32WithoutSignature };

struct RecordSpec {
  std::string name;
  std::string data = {};
  Descriptor descriptor = Descriptor::kNone;
  uint16_t flags = 0;  // the descriptor's flag is added where there is one
  uint16_t method = 0;
  uint16_t disk = 0;
  std::string local_extra = {};
  std::string central_extra = {};
  // What the headers say where it is not the truth.
  std::optional<std::string> local_name = {};
  std::optional<uint32_t> local_size = {}, local_crc = {}, central_size = {}, central_compressed_size = {},
                          central_crc = {}, central_header_offset = {};
};

enum class Zip64 { kNo, kYes };

struct EndSpec {
  Zip64 zip64 = Zip64::kNo;
  std::string comment;
  std::string after_directory;  // bytes between directory and end records
  uint16_t disk = 0;
  uint32_t zip64_disks = 1;
  std::optional<uint16_t> count;
  std::optional<uint32_t> directory_bytes, directory_offset;
  std::optional<uint64_t> zip64_count, zip64_directory_bytes, zip64_directory_offset, zip64_end_offset;
};

std::string BuildZip(const std::vector<RecordSpec>& records, const EndSpec& end = {});

// An extra field: id, length, body.
std::string ExtraField(uint16_t id, const std::string& body);
std::string U64Bytes(uint64_t value);

}  // namespace ck::zip::testing

#endif  // CK_ZIP_TESTING_ZIP_BUILDER_H_
