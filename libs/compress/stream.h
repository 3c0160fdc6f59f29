// The stream transforms of a DCP item (`stream.zstd/1`), undone. Source: docs/formats/distcp.md.
//
// Trust.   Input is hostile: output is produced in bounded steps, the window of a frame is limited.
// Errors.  compress.unknown_transform, compress.bad_data, compress.truncated, compress.limit_exceeded (all kInput).
#ifndef CK_COMPRESS_STREAM_H_
#define CK_COMPRESS_STREAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libs/bytes/source.h"

namespace ck::compress {

// Throws compress.unknown_transform unless every descriptor is one that ck can undo: `stream.zstd` or
// `stream.zstd@domain`, version absent or major 1.
void CheckTransforms(const std::vector<std::string>& descriptors);

// A random-access view of the decompressed bytes of `compressed` (concatenated frames are joined). Memory is bounded by
// a constant whatever the size: an item of up to kCachedItemBytes is decompressed once and kept; of a longer one a
// cursor is kept, so reads in ascending order cost one pass, a read behind the cursor starts over. The first call of
// size() makes one pass. ReadInto is thread-safe (readers of one long item take turns). `compressed` must outlive the
// result.
std::unique_ptr<bytes::Source> Decompressed(const bytes::Source& compressed,
                                            const std::vector<std::string>& descriptors);

inline constexpr uint64_t kCachedItemBytes = uint64_t{1} << 20;

// "zstd 1.5.4", for --version of the tools that read checkpoints.
std::string LibraryVersion();

}  // namespace ck::compress

#endif  // CK_COMPRESS_STREAM_H_
