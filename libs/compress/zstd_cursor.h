// One pass over the decompressed bytes of zstd frames. Private to this package, so that zstd's header stays in one .cc
// file.
#ifndef CK_COMPRESS_ZSTD_CURSOR_H_
#define CK_COMPRESS_ZSTD_CURSOR_H_

#include <cstdint>
#include <memory>

#include "libs/bytes/source.h"

namespace ck::compress {

class ZstdCursor {
 public:
  // `compressed` must outlive the cursor.
  explicit ZstdCursor(const bytes::Source& compressed);
  ~ZstdCursor();
  ZstdCursor(const ZstdCursor&) = delete;
  ZstdCursor& operator=(const ZstdCursor&) = delete;

  // Decompressed bytes given so far.
  uint64_t position() const { return position_; }
  // Decompresses up to `capacity` bytes to `out`; fewer only at the end, where the last frame must be complete.
  uint64_t Next(char* out, uint64_t capacity);

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  uint64_t position_ = 0;
};

// "zstd 1.5.4".
std::string ZstdVersion();

}  // namespace ck::compress

#endif  // CK_COMPRESS_ZSTD_CURSOR_H_
