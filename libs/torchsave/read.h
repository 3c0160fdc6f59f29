// Files and items that torch.save wrote: the zip form (torch 1.6 and later) and the legacy form. Structure only: tensor
// bytes are located, not read.
//
// Trust.   Input is hostile. Nothing is executed; the object is a pickle::Graph. Limits below.
// Errors.  torchsave.not_torch, torchsave.torchscript, torchsave.tar, torchsave.no_data_pkl, torchsave.big_endian,
//          torchsave.bad_tensor, torchsave.storage_missing, torchsave.storage_size, torchsave.limit_exceeded,
//          torchsave.crc_mismatch, and those of zip and pickle (all kInput).
// Source.  docs/formats/torch_save.md
#ifndef CK_TORCHSAVE_READ_H_
#define CK_TORCHSAVE_READ_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/bytes/source.h"
#include "libs/pickle/graph.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::torchsave {

// A storage's bytes inside the source.
struct Storage {
  std::string key;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  uint32_t crc = 0;  // 0: not known
};

enum class FileForm { kZip, kLegacy };

struct SavedObject {
  FileForm form = FileForm::kZip;
  std::string root_name;  // zip: "archive" or the file's base name
  pickle::Graph graph;
  pickle::Ref root = pickle::kNoRef;
  std::vector<Storage> storages;                               // by first use
  std::map<std::string, size_t, std::less<>> storage_indexes;  // by key
  // nullptr when there is none.
  const Storage* FindStorage(std::string_view key) const;
};

// data.pkl of a common.pt is a few MiB; _extra_state lists reach some 100 MiB.
inline constexpr uint64_t kMaxObjectPickle = uint64_t{1} << 30;

// Reads the pickle and locates the storages. Verifies the CRC of data.pkl when it is known.
SavedObject ReadObject(const bytes::Source& source);

// A tensor somewhere in an object, or the one tensor of a DCP item.
struct TensorView {
  DType dtype = DType::kF32;
  Dims shape;
  std::vector<uint64_t> strides;  // in elements; torch allows no negative ones
  uint64_t storage_offset = 0;    // in elements
  Storage storage;
  bool conj = false, neg = false;  // unresolved views: refused where values matter
  bool IsRowMajor() const;         // dense and in order: bytes can be copied as they are
  // From the start of the source.
  uint64_t data_offset() const { return storage.offset + storage_offset * ElementSize(dtype); }
};

// Interprets a node: _rebuild_tensor_v2/v3, _rebuild_parameter, _rebuild_from_type_v2 around them. nullopt when the
// node is no tensor; a node that claims to be one and does not fit its storage (any reachable element outside) throws
// torchsave.bad_tensor.
std::optional<TensorView> AsTensor(const SavedObject& object, pickle::Ref node);

// Reads an item whose root is a tensor, reading as few bytes as it can: at most the head and the tail of the source
// unless it is small.
TensorView ReadTensorItem(const bytes::Source& source);

// A shorter item is read whole: one read costs less than two.
inline constexpr uint64_t kWholeItemBytes = uint64_t{64} << 10;

// The same for an item of at most kWholeItemBytes that is in memory. `dtype` and `shape` are what the metadata says of it: an item that is exactly what torch writes
// for them is recognised without a parse. `name` is for messages.
TensorView ReadTensorItem(std::string_view item, const std::string& name, DType dtype, const Dims& shape);

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_READ_H_
