// Writes what torch.save writes (record set and layout of torch 2.7 and later, loadable by all since 1.6), computed
// before the data exists.
//
// Deterministic: .data/serialization_id holds 40 digits derived from the record names and CRCs, never random.
// Errors.  torchsave.bad_tensor (torch cannot hold that tensor), torchsave.legacy_object, torchsave.storage_size;
//          zip.limit_exceeded (all kInput).
// Source.  docs/formats/torch_save.md
#ifndef CK_TORCHSAVE_WRITE_H_
#define CK_TORCHSAVE_WRITE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"
#include "libs/zip/archive.h"

namespace ck::torchsave {

// One tensor item of a .distcp file: `head` bytes, then data_bytes of row-major data, then a tail that needs the data's
// CRC.
struct TensorItemLayout {
  std::string head;  // [0, data_offset)
  uint64_t data_bytes = 0;
  uint64_t total_bytes = 0;
  zip::Layout zip;
  // The bytes from data_offset + data_bytes to the end.
  std::string Tail(uint32_t data_crc) const;
};

TensorItemLayout LayOutTensorItem(DType dtype, const Dims& shape);
// Only the sizes (head, total): cheap enough to plan 10^6 items.
struct TensorItemSize {
  uint64_t head_bytes = 0;
  uint64_t data_bytes = 0;
  uint64_t total_bytes = 0;
};
TensorItemSize TensorItemSizeOf(DType dtype, const Dims& shape);

// A whole object file in memory. `root_name` is "archive" for items, the file's base name for files ("common" for
// common.pt). `storage_bytes(key)` gives the bytes of a storage that persistent ids of the graph name; it is called
// once per key, in order of first use. Throws torchsave.legacy_object for a graph with storages that was read from a
// legacy file.
std::string WriteObject(const pickle::Graph& graph, pickle::Ref root, const std::string& root_name,
                        const std::function<std::string(const std::string& key)>& storage_bytes);

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_WRITE_H_
