// Looks at one directory as a checkpoint; internal to discovery.
#ifndef CK_CHECKPOINT_EXAMINE_H_
#define CK_CHECKPOINT_EXAMINE_H_

#include <string>
#include <vector>

#include "libs/checkpoint/discover.h"
#include "libs/fs/read.h"

namespace ck::checkpoint {

// What one directory's own contents say; kLong's comparison with the files is LookClosely.
Found Examine(const std::string& path, Depth depth);

// Parses the metadata of a checkpoint that seems complete: fills format and strays, and makes it damaged when files are
// missing or short.
void LookClosely(Found& found);

// Of the files directly in a directory; 0 when it cannot be listed.
uint64_t SizeOfFiles(const std::string& path);

// What the names of a directory say about itself.
enum class Sign {
  kNone,
  kWeak,    // safetensors files, common.pt, mp_rank_*: a checkpoint unless there are signs of a root
  kStrong,  // metadata.json, .metadata, __R.metadata
};
Sign SignOfCheckpoint(const std::vector<fs::Name>& names);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_EXAMINE_H_
