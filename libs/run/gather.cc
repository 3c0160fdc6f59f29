#include "libs/run/gather.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace ck::run {
namespace {

// Dimensions of extent 1 say nothing; dimensions sorted by source stride, largest first, make neighbours in the source neighbours in the walk.
void SortDimensions(StridedCopy& copy) {
  std::vector<size_t> order(copy.extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t d) { return copy.extents[d] == 1; });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return copy.source_strides[a] > copy.source_strides[b]; });
  StridedCopy sorted{.element_size = copy.element_size, .source_offset = copy.source_offset, .extents = {}, .source_strides = {}, .target_strides = {}};
  for (const size_t d : order) {
    sorted.extents.push_back(copy.extents[d]);
    sorted.source_strides.push_back(copy.source_strides[d]);
    sorted.target_strides.push_back(copy.target_strides[d]);
  }
  copy = std::move(sorted);
}

// Joins neighbouring dimensions that are one run on both sides.
void JoinDimensions(StridedCopy& copy) {
  StridedCopy joined{.element_size = copy.element_size, .source_offset = copy.source_offset, .extents = {}, .source_strides = {}, .target_strides = {}};
  for (size_t d = 0; d < copy.extents.size(); ++d) {
    if (!joined.extents.empty() && joined.source_strides.back() == copy.source_strides[d] * copy.extents[d] &&
        joined.target_strides.back() == copy.target_strides[d] * copy.extents[d]) {
      joined.extents.back() *= copy.extents[d];
      joined.source_strides.back() = copy.source_strides[d];
      joined.target_strides.back() = copy.target_strides[d];
    } else {
      joined.extents.push_back(copy.extents[d]);
      joined.source_strides.push_back(copy.source_strides[d]);
      joined.target_strides.push_back(copy.target_strides[d]);
    }
  }
  copy = std::move(joined);
}

// The innermost dimension of a walk: `count` elements, `stride` apart in the source and `target_stride` in the target.
struct Run {
  uint64_t count = 1;
  uint64_t stride = 1;
  uint64_t target_stride = 1;
};

Run TakeInnermost(StridedCopy& copy) {
  if (copy.extents.empty()) return {};
  const Run run{.count = copy.extents.back(), .stride = copy.source_strides.back(), .target_stride = copy.target_strides.back()};
  copy.extents.pop_back();
  copy.source_strides.pop_back();
  copy.target_strides.pop_back();
  return run;
}

enum class ReadAhead { kNo, kYes };

// Bytes of the source up to `end`, read in pieces of up to kWindowBytes when reading ahead pays.
class Window {
 public:
  Window(const bytes::Source& source, uint64_t end, ReadAhead read_ahead, std::string& buffer)
      : source_(source), end_(end), read_ahead_(read_ahead), buffer_(buffer) {
    if (buffer_.size() < kWindowBytes) buffer_.resize(kWindowBytes);
  }

  // The `length` bytes at `offset`; length is at most kWindowBytes.
  const char* At(uint64_t offset, uint64_t length) {
    if (offset < begin_ || offset + length > begin_ + filled_) Fill(offset, length);
    return buffer_.data() + (offset - begin_);
  }

 private:
  void Fill(uint64_t offset, uint64_t length) {
    const uint64_t wanted = read_ahead_ == ReadAhead::kYes ? std::min(kWindowBytes, end_ - offset) : length;
    source_.ReadInto(offset, wanted, buffer_.data());
    begin_ = offset;
    filled_ = wanted;
  }

  const bytes::Source& source_;
  uint64_t end_;
  ReadAhead read_ahead_;
  std::string& buffer_;
  uint64_t begin_ = 0;
  uint64_t filled_ = 0;
};

void ScatterElements(const char* from, const Run& run, uint64_t element_size, char* to) {
  for (uint64_t i = 0; i < run.count; ++i) {
    std::memcpy(to + i * run.target_stride * element_size, from + i * run.stride * element_size, element_size);
  }
}

// Calls visit(source element, target element) for every position of the outer dimensions, in source order.
template <typename Visit>
void Walk(const StridedCopy& outer, Visit visit) {
  std::vector<uint64_t> index(outer.extents.size(), 0);
  uint64_t source = 0, target = 0;
  while (true) {
    visit(source, target);
    size_t d = index.size();
    while (d > 0) {
      --d;
      source += outer.source_strides[d];
      target += outer.target_strides[d];
      if (++index[d] < outer.extents[d]) break;
      source -= outer.source_strides[d] * outer.extents[d];
      target -= outer.target_strides[d] * outer.extents[d];
      index[d] = 0;
      if (d == 0) return;
    }
    if (index.empty()) return;
  }
}

}  // namespace

void Gather(const bytes::Source& source, StridedCopy copy, char* target, GatherScratch& scratch) {
  if (std::find(copy.extents.begin(), copy.extents.end(), 0u) != copy.extents.end()) return;
  SortDimensions(copy);
  JoinDimensions(copy);
  uint64_t last = 0;
  for (size_t d = 0; d < copy.extents.size(); ++d) last += (copy.extents[d] - 1) * copy.source_strides[d];
  const uint64_t size = copy.element_size;
  const uint64_t end = copy.source_offset + (last + 1) * size;
  Run run = TakeInnermost(copy);
  if (run.stride == 1 && run.target_stride == 1 && (copy.extents.empty() || run.count * size >= kWindowBytes / 4)) {
    // Long runs go straight to their place.
    Walk(copy, [&](uint64_t from, uint64_t to) {
      source.ReadInto(copy.source_offset + from * size, run.count * size, target + to * size);
    });
    return;
  }
  // Short or strided runs: cut the run so that its span fits the window.
  const uint64_t per_window = std::max<uint64_t>(1, kWindowBytes / (std::max<uint64_t>(run.stride, 1) * size));
  const uint64_t span_elements = (run.count - 1) * run.stride + 1;
  const uint64_t next = copy.extents.empty() ? span_elements : copy.source_strides.back();
  const bool gap_is_short = next <= span_elements || (next - span_elements) * size <= kMaxGapBytes;
  Window window(source, end, gap_is_short ? ReadAhead::kYes : ReadAhead::kNo, scratch.window);
  Walk(copy, [&](uint64_t from, uint64_t to) {
    for (uint64_t begin = 0; begin < run.count; begin += per_window) {
      const Run part{.count = std::min(per_window, run.count - begin), .stride = run.stride, .target_stride = run.target_stride};
      const uint64_t span = ((part.count - 1) * run.stride + 1) * size;
      const char* bytes = window.At(copy.source_offset + (from + begin * run.stride) * size, span);
      char* out = target + (to + begin * run.target_stride) * size;
      if (run.stride == 1 && run.target_stride == 1) {
        std::memcpy(out, bytes, span);
      } else {
        ScatterElements(bytes, part, size, out);
      }
    }
  });
}

}  // namespace ck::run
