#include "libs/compress/stream.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/compress/zstd_cursor.h"

namespace ck::compress {
namespace {

constexpr std::string_view kZstd = "stream.zstd";

// Of a long item, the first and last bytes are kept: they hold the headers, which readers want before the data.
constexpr uint64_t kEndBytes = uint64_t{8} << 10;
constexpr uint64_t kStepBytes = uint64_t{64} << 10;

bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "1", "1.3", "1.3.0".
bool IsMajor1(std::string_view version) {
  const std::vector<std::string> parts = Split(version, '.');
  return parts.front() == "1" && std::all_of(parts.begin(), parts.end(), IsDigits);
}

// name[@domain][/version]
bool IsSupported(std::string_view descriptor) {
  const size_t slash = descriptor.find('/');
  if (slash != std::string_view::npos && !IsMajor1(descriptor.substr(slash + 1))) return false;
  const std::string_view name = descriptor.substr(0, slash);
  const size_t at = name.find('@');
  return name.substr(0, at) == kZstd && at != name.size() - 1;
}

// The decompressed bytes of zstd frames.
class ZstdSource : public bytes::Source {
 public:
  explicit ZstdSource(const bytes::Source& compressed) : compressed_(compressed) {}

  std::string name() const override { return compressed_.name(); }

  uint64_t size() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!size_) Measure();
    return *size_;
  }

  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    CheckRange(offset, length);
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t tail_offset = *size_ - tail_.size();
    if (offset + length <= head_.size()) {
      head_.copy(out, length, offset);
    } else if (offset >= tail_offset) {
      tail_.copy(out, length, offset - tail_offset);
    } else {
      Decompress(offset, length, out);
    }
  }

 private:
  // One pass: finds the size and keeps the whole of a short item, the ends of a long one.
  void Measure() const {
    ZstdCursor cursor(compressed_);
    std::string step(kStepBytes, '\0'), head, tail;
    while (const uint64_t got = cursor.Next(step.data(), step.size())) {
      const std::string_view bytes = std::string_view(step).substr(0, got);
      if (head.size() < kCachedItemBytes) head += bytes.substr(0, kCachedItemBytes - head.size());
      tail += bytes;
      if (tail.size() > kEndBytes) tail.erase(0, tail.size() - kEndBytes);
    }
    const bool is_long = cursor.position() > kCachedItemBytes;
    head_ = is_long ? head.substr(0, kEndBytes) : std::move(head);
    if (is_long) tail_ = std::move(tail);
    size_ = cursor.position();
  }

  void Decompress(uint64_t offset, uint64_t length, char* out) const {
    if (!cursor_ || cursor_->position() > offset) cursor_ = std::make_unique<ZstdCursor>(compressed_);
    // A cursor that failed stands at no known place.
    std::unique_ptr<ZstdCursor> cursor = std::move(cursor_);
    std::string skipped(std::min(kStepBytes, offset - cursor->position()), '\0');
    while (cursor->position() < offset) {
      Require(cursor->Next(skipped.data(), std::min<uint64_t>(skipped.size(), offset - cursor->position())) > 0);
    }
    Require(cursor->Next(out, length) == length);
    if (cursor->position() < *size_) cursor_ = std::move(cursor);
  }

  // A file that changes while it is read.
  void Require(bool condition) const {
    if (!condition)
      throw InputError("compress.truncated",
                       Cat(name(), ": zstd data gives fewer bytes than the ", *size_, " it gave before"));
  }

  const bytes::Source& compressed_;
  mutable std::mutex mutex_;
  mutable std::optional<uint64_t> size_;
  mutable std::string head_, tail_;
  mutable std::unique_ptr<ZstdCursor> cursor_;
};

// The last of several sources, each of which reads the one before.
class Chain : public bytes::Source {
 public:
  explicit Chain(const bytes::Source& first) : last_(&first) {}

  void AddZstd() {
    links_.push_back(std::make_unique<ZstdSource>(*last_));
    last_ = links_.back().get();
  }
  uint64_t size() const override { return last_->size(); }
  std::string name() const override { return last_->name(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override { last_->ReadInto(offset, length, out); }

 private:
  std::vector<std::unique_ptr<ZstdSource>> links_;
  const bytes::Source* last_;
};

}  // namespace

void CheckTransforms(const std::vector<std::string>& descriptors) {
  for (const std::string& descriptor : descriptors) {
    if (IsSupported(descriptor)) continue;
    throw InputError("compress.unknown_transform",
                     Cat("stream transform ", Quote(descriptor), " of a data item; ck can undo 'stream.zstd/1'"));
  }
}

std::unique_ptr<bytes::Source> Decompressed(const bytes::Source& compressed,
                                            const std::vector<std::string>& descriptors) {
  CheckTransforms(descriptors);
  auto chain = std::make_unique<Chain>(compressed);
  for (size_t i = 0; i < descriptors.size(); ++i) chain->AddZstd();
  return chain;
}

std::string LibraryVersion() { return ZstdVersion(); }

}  // namespace ck::compress
