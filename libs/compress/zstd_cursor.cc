#include "libs/compress/zstd_cursor.h"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>
#include <string>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::compress {
namespace {

// The window is memory that the frame's header asks for. 128 MiB is what every level of zstd stays below without
// --ultra or --long=28 and more.
constexpr int kMaxWindowLog = 27;
constexpr uint64_t kInputBytes = uint64_t{1} << 17;

}  // namespace

struct ZstdCursor::Stream {
  const bytes::Source& compressed;
  ZSTD_DCtx* context;
  std::string buffer;         // compressed bytes read ahead
  ZSTD_inBuffer input;        // the rest of `buffer`
  uint64_t input_offset = 0;  // of the first compressed byte not yet in `buffer`
  bool inside_frame = true;   // nothing at all is no frame

  explicit Stream(const bytes::Source& source) : compressed(source), context(ZSTD_createDCtx()), input{nullptr, 0, 0} {
    if (context == nullptr) throw std::bad_alloc();
    const size_t set = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kMaxWindowLog);
    Check(!ZSTD_isError(set), "zstd accepts the limit of the window");
  }
  ~Stream() { ZSTD_freeDCtx(context); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool AtInputEnd() const { return input.pos == input.size && input_offset == compressed.size(); }

  void Refill() {
    if (input.pos < input.size) return;
    const uint64_t length = std::min(kInputBytes, compressed.size() - input_offset);
    buffer.resize(length);
    compressed.ReadInto(input_offset, length, buffer.data());
    input_offset += length;
    input = {buffer.data(), buffer.size(), 0};
  }

  [[noreturn]] void Fail(size_t result, uint64_t position) const {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
    if (code == ZSTD_error_memory_allocation) throw std::bad_alloc();
    const std::string what =
        Cat(compressed.name(), ": zstd data: ", ZSTD_getErrorName(result), ", after ", position, " decompressed bytes");
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
      throw InputError("compress.limit_exceeded",
                       Cat(what, "; the limit is ", FormatBytes(uint64_t{1} << kMaxWindowLog)));
    }
    throw InputError("compress.bad_data", what);
  }
};

ZstdCursor::ZstdCursor(const bytes::Source& compressed) : stream_(std::make_unique<Stream>(compressed)) {}
ZstdCursor::~ZstdCursor() = default;

uint64_t ZstdCursor::Next(char* out, uint64_t capacity) {
  Stream& stream = *stream_;
  ZSTD_outBuffer output{out, capacity, 0};
  while (output.pos < output.size) {
    const bool at_end = stream.AtInputEnd();
    if (at_end && !stream.inside_frame) break;
    stream.Refill();
    const size_t before = output.pos;
    const size_t result = ZSTD_decompressStream(stream.context, &output, &stream.input);
    if (ZSTD_isError(result)) stream.Fail(result, position_ + output.pos);
    stream.inside_frame = result != 0;
    // All input is used and nothing more comes out of the decoder, but the frame goes on.
    if (at_end && stream.inside_frame && output.pos == before) {
      throw InputError("compress.truncated",
                       Cat(stream.compressed.name(), ": zstd data of ", stream.compressed.size(),
                           " bytes ends inside a frame, after ", position_ + output.pos, " decompressed bytes"));
    }
  }
  position_ += output.pos;
  return output.pos;
}

std::string ZstdVersion() { return Cat("zstd ", ZSTD_versionString()); }

}  // namespace ck::compress
