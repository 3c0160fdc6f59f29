#include "libs/torchsave/records.h"

#include "libs/base/text.h"
#include "libs/bytes/reader.h"

namespace ck::torchsave {
namespace {

// FNV-1a over 64 bits.
class Hash {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) state_ = (state_ ^ static_cast<uint8_t>(byte)) * 0x100000001B3;
  }
  std::string TwentyDigits() const {
    const std::string digits = Cat(state_);
    return std::string(20 - digits.size(), '0') + digits;
  }

 private:
  uint64_t state_ = 0xCBF29CE484222325;
};

}  // namespace

std::vector<zip::RecordPlan> PlanRecords(std::string_view root_name, size_t pickle_bytes,
                                         const std::vector<zip::RecordPlan>& storages) {
  std::vector<zip::RecordPlan> records;
  records.reserve(storages.size() + std::size(kBeforeStorages) + 3);
  const auto add = [&](std::string_view name, uint64_t size) { records.push_back({Cat(root_name, '/', name), size}); };
  add(kDataPkl, pickle_bytes);
  for (const FixedRecord& record : kBeforeStorages) add(record.name, record.data.size());
  for (const zip::RecordPlan& storage : storages) add(Cat("data/", storage.name), storage.size);
  add(kVersionRecord.name, kVersionRecord.data.size());
  add(kSerializationId, kSerializationIdBytes);
  return records;
}

std::string SerializationId(const std::vector<zip::RecordPlan>& records, const std::vector<uint32_t>& crcs) {
  Hash names, sums;
  for (size_t i = 0; i < crcs.size(); ++i) {
    names.Add(records[i].name);
    names.Add("\n");
    std::string crc;
    bytes::PutU32(crc, crcs[i]);
    sums.Add(crc);
  }
  return names.TwentyDigits() + sums.TwentyDigits();
}

}  // namespace ck::torchsave
