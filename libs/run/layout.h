// Where every byte of the output goes, computed before any is written.
//
// DCP output (torch_dist, fsdp_dtensor, dcp): items in `__0_N.distcp`, byte objects first, then tensors, each by name, a tensor's chunks by offset; a new file begins
// when the next item would pass kTargetFileBytes.
// Safetensors output: tensors in order of their names fill shards; a new shard begins when the next tensor would take the data past max_shard_size or the header past
// max_header_bytes, so a larger tensor stands alone and no shard is empty. One shard is `model.safetensors`; several are `model-0000k-of-0000n.safetensors` with an
// index. Within a shard the tensors lie in the order that the format's own library writes (libs/safetensors/header.h), which aligns each to its element size.
//
// A function of the view and these sizes alone: never of threads, ranks or the way here.
//
// Errors.  layout.too_large, layout.no_tensors, layout.not_safetensors (kInput), and those of safetensors::WriteHeader.
#ifndef CK_RUN_LAYOUT_H_
#define CK_RUN_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/dcp/metadata.h"
#include "libs/transform/view.h"

namespace ck::run {

// Large enough that file systems stream, small enough that many ranks have files to share.
inline constexpr uint64_t kTargetFileBytes = uint64_t{2} << 30;

// What stands around the data of a tensor item.
enum class Framing {
  kTorchSave,  // a zip archive: the tail holds the data's CRC
  kRaw,        // nothing
};

struct TensorItem {
  uint32_t tensor = 0;  // index into View::tensors
  uint32_t chunk = 0;   // index into its chunks
  uint32_t file = 0;
  uint64_t offset = 0;  // of the item in its file
  Framing framing = Framing::kTorchSave;
  uint64_t head_bytes = 0;
  uint64_t data_bytes = 0;
  uint64_t total_bytes = 0;
};

struct ObjectItem {
  uint32_t object = 0;  // index into View::objects
  uint32_t file = 0;
  uint64_t offset = 0;
  uint64_t total_bytes = 0;
};

struct OutputFile {
  std::string name;
  uint64_t size_bytes = 0;
  std::string header;  // its first bytes, before the first item
};

// A small file written whole: common.pt, metadata.json, .metadata, ck-plan.json, an index.
struct SmallFile {
  std::string name;
  std::string content;
};

struct Layout {
  std::vector<OutputFile> files;
  std::vector<ObjectItem> objects;
  std::vector<TensorItem> tensors;  // in file order
  // In the order of writing: what marks a checkpoint complete (metadata.json) comes last.
  std::vector<SmallFile> small_files;
  // The index of several safetensors files, as it should come out. What is written is made from the files themselves (index_file.h).
  std::optional<SmallFile> index;
  uint64_t total_bytes = 0;  // of everything
};

// `target_file_bytes` is a parameter for tests; everything else uses the default.
Layout LayOutDcp(const transform::View& view, uint64_t target_file_bytes = kTargetFileBytes);

struct SafetensorsLimits {
  uint64_t max_shard_size = 5'000'000'000;   // data bytes
  // Of a file's header. A reader that fetches headers over a network stops at 25 MB (huggingface_hub), others at 100 MB.
  uint64_t max_header_bytes = 25'000'000;
};

// Precondition: the view has no objects and no common state, and each tensor is stored as one chunk.
Layout LayOutSafetensors(const transform::View& view, const SafetensorsLimits& limits);

// The files of a safetensors directory. Readers know them by these names.
inline constexpr const char* kSingleSafetensorsFile = "model.safetensors";
inline constexpr const char* kSafetensorsIndexFile = "model.safetensors.index.json";

}  // namespace ck::run

#endif  // CK_RUN_LAYOUT_H_
