// The `.metadata` of a PyTorch distributed checkpoint: what tensors and byte objects there are, how they are cut, and where the items lie.
// Bytes in, structures out; no I/O.
//
// Trust.   Input is hostile; numbers are checked for sign and 64-bit range here, coverage and file sizes by libs/validate and libs/checkpoint.
// Errors.  dcp.not_metadata, dcp.bad_metadata, dcp.unknown_dtype, dcp.duplicate_item, dcp.unsafe_path, dcp.chunk_without_item, dcp.item_without_chunk (kInput).
// Source.  docs/formats/dcp_metadata.md
#ifndef CK_DCP_METADATA_H_
#define CK_DCP_METADATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::dcp {

// Where one item lies. `file` indexes Metadata::files.
struct Item {
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t length = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

// A stored box. A chunk of volume 0 may have no item: its length is 0 then.
struct Chunk {
  Box box;
  Item item;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  Dims shape;
  std::vector<Chunk> chunks;  // sorted by offset, no two with the same; each of the tensor's rank, its ends fit 64 bits
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

struct Object {
  std::string name;
  Item item;
  friend bool operator==(const Object&, const Object&) = default;
};

// One step of the path that a flattened key came from: a dict key or a list index.
using PathElement = std::variant<std::string, int64_t>;
using Path = std::vector<PathElement>;

struct Metadata {
  std::vector<Tensor> tensors;  // sorted by name
  std::vector<Object> objects;  // sorted by name
  std::vector<std::string> files;  // bare names, as relative_path has them; sorted, each used by some item
  // Transform descriptors of items, in load order; almost always empty. Keyed by (file, offset).
  std::map<std::pair<uint32_t, uint64_t>, std::vector<std::string>> transforms;
  // planner_data: key -> path. Present for fsdp_dtensor and plain DCP, absent (nullopt) for torch_dist.
  std::optional<std::map<std::string, Path>> planner_data;
  // mcore_data of Megatron-Core 0.8 to 0.15: original shapes of flattened optimizer tensors (nd_reformulated_orig_global_shape).
  std::map<std::string, Dims> original_shapes;
  std::string version;                            // Metadata.version, "" when absent
  std::vector<std::string> unknown_attributes;    // names of attributes of Metadata that ck does not know; kept as opaque, never an error
  std::vector<std::string> unknown_globals;       // "module.name" of classes outside the allow-list, all under unknown attributes
  std::vector<std::string> notes;                 // oddities worth a warning, e.g. trailing bytes after the pickle
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

// Decodes one `.metadata` or `__R.metadata`. A pickle that cannot be parsed is an error of libs/pickle (pickle.*).
Metadata DecodeMetadata(std::string_view pickle);

// Joins the rank-local metadata of all ranks (`__R.metadata`), rank 0 first. Same tensors must agree on dtype and shape; chunks are united.
// Without collectives every rank stores what is replicated: of equal chunks, and of objects with the same name, the first rank's is kept and a
// note says so. Errors: dcp.bad_metadata, dcp.duplicate_item (chunks that begin at the same offset and differ in size).
Metadata MergeRankLocal(const std::vector<Metadata>& ranks);

// Encodes for writing: protocol 4, no paths, no random ids; loads in torch 2.3 and later and in Megatron-Core. Deterministic. The version
// written is always 1.0.0, the form that this is; unknown attributes and notes are not written.
// Precondition: `metadata` is as DecodeMetadata gives it, except that order does not matter.
std::string EncodeMetadata(const Metadata& metadata);

}  // namespace ck::dcp

#endif  // CK_DCP_METADATA_H_
