// The fingerprint of what says how a checkpoint is stored: it changes whenever the metadata does, also where sizes stay the same.
#ifndef CK_CHECKPOINT_METADATA_HASH_H_
#define CK_CHECKPOINT_METADATA_HASH_H_

#include <string>

#include "libs/checkpoint/checkpoint.h"

namespace ck::checkpoint {

// SHA-256, 64 lower-case hex digits, of
//   torch_dist, fsdp_dtensor, dcp   the bytes of `.metadata`; rank-local: those of every `__R.metadata`, in the byte order of their names
//   safetensors                     the bytes of the index; without one: the header of the model's file, length prefix included
// No tensor data is read. Errors: those of libs/fs and safetensors.header_past_end.
std::string MetadataSha256(const Checkpoint& checkpoint);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_METADATA_HASH_H_
