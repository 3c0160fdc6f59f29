// Reads the headers of a directory of safetensors files into the neutral model.
#ifndef CK_CHECKPOINT_OPEN_SAFETENSORS_H_
#define CK_CHECKPOINT_OPEN_SAFETENSORS_H_

#include <string>

#include "libs/dcp/metadata.h"

namespace ck::checkpoint {

// One model.safetensors (or the only *.safetensors file), or model.safetensors.index.json and the files it names. Each
// tensor has one chunk, whose item is the raw data range. Refuses what would load wrongly (errors
// safetensors.index_ghost, .index_missing_file, .duplicate_tensor, .no_index); oddities that a loader survives become
// notes.
dcp::Metadata ReadSafetensorsDirectory(const std::string& directory);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_OPEN_SAFETENSORS_H_
