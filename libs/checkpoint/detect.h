// Says which format a directory is, from names and metadata.json alone.
#ifndef CK_CHECKPOINT_DETECT_H_
#define CK_CHECKPOINT_DETECT_H_

#include <string>
#include <string_view>
#include <vector>

#include "libs/fs/read.h"

namespace ck::checkpoint {

enum class Kind {
  kNothing,      // no sign of a checkpoint
  kTorchDist,    // metadata.json says torch_dist; .metadata (or rank-local metadata) may still be missing
  kFsdpDtensor,  // metadata.json says fsdp_dtensor
  kDcp,          // .metadata or __R.metadata, no metadata.json: fsdp_dtensor or plain DCP, told apart by their keys
  kSafetensors,
  kUnsupported,      // `what` names it: legacy mp_rank layout, zarr, an unknown backend or version
  kBadMetadataJson,  // metadata.json cannot be understood; `what` says why
};

struct Detected {
  Kind kind = Kind::kNothing;
  std::string what;           // for people
  bool has_metadata = false;  // `.metadata` or rank-local metadata is there
  bool rank_local = false;    // only rank-local metadata is there
  bool has_metadata_json = false;
  bool has_common_pt = false;
};

// `entries` is the listing of `directory`. Reads metadata.json when it is there, nothing else; one that the environment
// does not let us read is an error of libs/fs.
Detected Detect(const std::string& directory, const std::vector<fs::Entry>& entries);

// True for "__3.metadata".
bool IsRankLocalMetadata(std::string_view name);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_DETECT_H_
