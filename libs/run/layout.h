// Where every byte of the output goes, computed before any is written.
//
// DCP output (torch_dist, fsdp_dtensor, dcp): items in `__0_N.distcp`, byte objects first, then tensors, each by name, a tensor's chunks by offset; a new file begins
// when the next item would pass kTargetFileBytes. A function of the view alone: never of threads, ranks or the way here.
#ifndef CK_RUN_LAYOUT_H_
#define CK_RUN_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/dcp/metadata.h"
#include "libs/transform/view.h"

namespace ck::run {

// Large enough that file systems stream, small enough that many ranks have files to share.
inline constexpr uint64_t kTargetFileBytes = uint64_t{2} << 30;

struct TensorItem {
  uint32_t tensor = 0;  // index into View::tensors
  uint32_t chunk = 0;   // index into its chunks
  uint32_t file = 0;
  uint64_t offset = 0;  // of the item in its file
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
};

// A small file written whole: common.pt, metadata.json, .metadata, ck-plan.json.
struct SmallFile {
  std::string name;
  std::string content;
};

struct Layout {
  std::vector<OutputFile> files;
  std::vector<ObjectItem> objects;
  std::vector<TensorItem> tensors;
  // In the order of writing: what marks a checkpoint complete (metadata.json) comes last.
  std::vector<SmallFile> small_files;
  uint64_t total_bytes = 0;  // of everything
};

// `target_file_bytes` is a parameter for tests; everything else uses the default.
Layout LayOutDcp(const transform::View& view, uint64_t target_file_bytes = kTargetFileBytes);

}  // namespace ck::run

#endif  // CK_RUN_LAYOUT_H_
