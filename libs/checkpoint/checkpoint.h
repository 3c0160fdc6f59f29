// A checkpoint in any format, seen the same way: sorted tensors with their stored chunks, byte objects, files.
//
// Model.   Opening parses metadata only; no tensor data is read. Locate() finds the bytes of one chunk and reads its
//          item's header.
// Formats. torch_dist, fsdp_dtensor, dcp (`.metadata` or rank-local `__R.metadata`), safetensors (one file or an
//          index).
// Trust.   Input is hostile: names stay in the directory, ranges fit their files, item headers must agree with the
//          metadata.
// Errors.  checkpoint.not_found, checkpoint.not_a_directory, checkpoint.no_metadata, checkpoint.bad_metadata_json,
//          checkpoint.unsupported_format (names what it is: legacy mp_rank, zarr, torch_dcp, safetensors-mode
//          .distcp), checkpoint.missing_file, checkpoint.short_file, checkpoint.item_mismatch,
//          checkpoint.unresolved_view, and those of the formats (kInput).
// Threads. Const use is thread-safe.
#ifndef CK_CHECKPOINT_CHECKPOINT_H_
#define CK_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/format.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/iteration.h"
#include "libs/dcp/metadata.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"

namespace ck::checkpoint {

using ck::Format;
using ck::Name;

// A data file that the checkpoint refers to. `size_bytes` is empty when the file is missing.
struct DataFile {
  std::string name;
  std::optional<uint64_t> size_bytes;
};

// An entry of the directory that is neither metadata nor a referenced data file: run_config.yaml, tokenizer/,
// integrity.json, ...
struct Sidecar {
  std::string name;
  bool directory = false;
  bool special = false;  // neither a file nor a directory: a dangling link, a pipe
  uint64_t size_bytes = 0;  // 0 for a directory
};

// Where the bytes of one chunk lie: element (i, j, ..) of the chunk is at data_offset + element_size * sum(strides *
// index) of `source`.
struct LocatedChunk {
  std::shared_ptr<const bytes::Source> source;
  uint64_t data_offset = 0;
  Dims shape;
  std::vector<uint64_t> strides;  // in elements
  bool compressed = false;        // reads of `source` cost least in ascending order
};

class Checkpoint {
 public:
  // `directory` is a checkpoint itself (not a root with a marker).
  static std::shared_ptr<const Checkpoint> Open(const std::string& directory);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  const std::string& path() const { return path_; }
  Format format() const { return format_; }
  // From the directory's name: a number, release, or none.
  const Iteration& iteration() const { return iteration_; }

  const std::vector<dcp::Tensor>& tensors() const { return metadata_.tensors; }  // sorted by name
  const std::vector<dcp::Object>& objects() const { return metadata_.objects; }  // sorted by name
  const dcp::Tensor* FindTensor(std::string_view name) const;
  const dcp::Object* FindObject(std::string_view name) const;
  // The whole of the metadata, as for a DCP directory also where the format is safetensors.
  const dcp::Metadata& metadata() const { return metadata_; }
  const std::vector<DataFile>& files() const { return files_; }  // in the order of metadata().files
  const std::vector<Sidecar>& sidecars() const { return sidecars_; }
  bool rank_local() const { return rank_local_; }

  // The bytes of an item, decompressed when it is stored compressed. The result keeps what it needs alive.
  std::shared_ptr<const bytes::Source> OpenItem(const dcp::Item& item) const;
  bool IsCompressed(const dcp::Item& item) const;
  // Finds a chunk's data. Throws checkpoint.item_mismatch when the item's dtype or shape is not the metadata's.
  LocatedChunk Locate(const dcp::Tensor& tensor, const dcp::Chunk& chunk) const;
  // A whole byte object: the item's bytes, a torch.save stream. At most kMaxObjectBytes.
  std::string ReadObject(const dcp::Object& object) const;

 private:
  Checkpoint() = default;
  void OpenDcp(bool rank_local);
  void OpenSafetensors();
  void FindFilesAndSidecars();
  std::shared_ptr<const bytes::Source> OpenFile(uint32_t file) const;

  std::string path_;
  Format format_ = Format::kDcp;
  Iteration iteration_;
  bool rank_local_ = false;
  dcp::Metadata metadata_;
  std::vector<DataFile> files_;
  std::vector<Sidecar> sidecars_;

  mutable std::mutex mutex_;
  mutable std::map<uint32_t, std::shared_ptr<const bytes::Source>> open_files_;
  mutable std::vector<uint32_t> open_order_;  // least recently opened first
};

inline constexpr uint64_t kMaxMetadataBytes = uint64_t{4} << 30;  // 227 MiB have been seen for 154 GB of weights
inline constexpr uint64_t kMaxObjectBytes = uint64_t{2} << 30;    // an optimizer object of old layouts: some 100 MiB
inline constexpr size_t kMaxOpenFiles = 64;  // per checkpoint: eight inputs stay under the usual limit of 1024

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_CHECKPOINT_H_
