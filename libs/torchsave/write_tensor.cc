#include <iterator>

#include "libs/base/error.h"
#include "libs/checksum/crc32.h"
#include "libs/torchsave/records.h"
#include "libs/torchsave/tensor_pickle.h"
#include "libs/torchsave/write.h"

namespace ck::torchsave {
namespace {

// The index of the one storage among the records.
constexpr size_t kDataRecord = 1 + std::size(kBeforeStorages);

zip::Layout LayOutRecords(size_t pickle_bytes, uint64_t data_bytes) {
  return zip::LayOut(PlanRecords("archive", pickle_bytes, {{"0", data_bytes}}));
}

}  // namespace

TensorItemLayout LayOutTensorItem(DType dtype, const Dims& shape) {
  const std::string pickle = TensorPickle(dtype, shape);
  TensorItemLayout item;
  item.data_bytes = TensorBytes(dtype, shape);
  item.zip = LayOutRecords(pickle.size(), item.data_bytes);
  item.total_bytes = item.zip.total_size;
  const auto append = [&](size_t i, std::string_view data) {
    item.head += zip::LocalHeader(item.zip, i);
    item.head += data;
    item.head += zip::DataDescriptor(item.zip, i, Crc32(data));
  };
  append(0, pickle);
  for (size_t i = 0; i < std::size(kBeforeStorages); ++i) append(1 + i, kBeforeStorages[i].data);
  item.head += zip::LocalHeader(item.zip, kDataRecord);
  return item;
}

std::string TensorItemLayout::Tail(uint32_t data_crc) const {
  std::string out;
  std::vector<uint32_t> crcs;
  for (size_t i = 0; i < kDataRecord; ++i) {
    crcs.push_back(Crc32(std::string_view(head).substr(zip.placed[i].data_offset, zip.records[i].size)));
  }
  crcs.push_back(data_crc);
  out += zip::DataDescriptor(zip, kDataRecord, data_crc);
  const auto append = [&](std::string_view data) {
    const size_t i = crcs.size();
    crcs.push_back(Crc32(data));
    out += zip::LocalHeader(zip, i);
    out += data;
    out += zip::DataDescriptor(zip, i, crcs.back());
  };
  append(kVersionRecord.data);
  append(SerializationId(zip.records, crcs));
  out += zip::Tail(zip, crcs);
  Check(head.size() + data_bytes + out.size() == total_bytes, "a tensor item is as long as planned");
  return out;
}

TensorItemSize TensorItemSizeOf(DType dtype, const Dims& shape) {
  const uint64_t data_bytes = TensorBytes(dtype, shape);
  const zip::Layout layout = LayOutRecords(TensorPickle(dtype, shape).size(), data_bytes);
  return {layout.placed[kDataRecord].data_offset, data_bytes, layout.total_size};
}

}  // namespace ck::torchsave
