// The records around the data of a torch.save archive, and the order in which they stand. Private to this package.
#ifndef CK_TORCHSAVE_RECORDS_H_
#define CK_TORCHSAVE_RECORDS_H_

#include <string>
#include <string_view>
#include <vector>

#include "libs/zip/archive.h"

namespace ck::torchsave {

inline constexpr std::string_view kDataPkl = "data.pkl";
inline constexpr std::string_view kByteOrder = "byteorder";
inline constexpr std::string_view kVersion = "version";
inline constexpr std::string_view kLittle = "little";

// A record with contents that are known before any tensor's.
struct FixedRecord {
  std::string_view name;
  std::string_view data;
};

// Stand between data.pkl and the storages. `.format_version` promises torch the exact layout of zip::LayOut.
inline constexpr FixedRecord kBeforeStorages[] = {
    {".format_version", "1"}, {".storage_alignment", "64"}, {kByteOrder, kLittle}};
// Follows the storages.
inline constexpr FixedRecord kVersionRecord = {kVersion, "3\n"};
// The last record: 40 digits.
inline constexpr std::string_view kSerializationId = ".data/serialization_id";
inline constexpr size_t kSerializationIdBytes = 40;

// data.pkl, the fixed records, one record per storage key, version, serialization id.
std::vector<zip::RecordPlan> PlanRecords(std::string_view root_name, size_t pickle_bytes,
                                         const std::vector<zip::RecordPlan>& storages);

// 20 digits for the names of the records before it and 20 for their CRCs. torch writes other hashes; no reader compares
// them.
std::string SerializationId(const std::vector<zip::RecordPlan>& records, const std::vector<uint32_t>& crcs);

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_RECORDS_H_
