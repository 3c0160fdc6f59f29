// CheckCoverage: cut the tensor into regions until each region is covered by one chunk, by none (a hole) or by several
// (an overlap).
//
// A region is cut along one dimension, preferably at coordinates that no chunk crosses, all of them at once: a regular
// grid of any rank takes one sort per dimension, and so does a list of uneven rows or buckets. Where every coordinate
// is crossed (a pinwheel), the cut that splits the chunks most evenly is taken and the chunks it crosses go to both
// sides. Volumes are never multiplied, so nothing overflows. A layout that can only be peeled chunk by chunk (a spiral)
// costs the square of its chunks in time; memory stays linear.
#include <algorithm>
#include <set>
#include <utility>

#include "libs/tensor/box.h"

namespace ck {
namespace {

using ChunkIds = std::vector<size_t>;

struct Region {
  Box box;
  ChunkIds chunks;  // those that have a common part with the box
};

// The part of a chunk along one dimension, clipped to the region.
struct Span {
  uint64_t begin, end;
  size_t chunk;
};

struct Cut {
  size_t dimension = 0;
  std::vector<uint64_t> coordinates;  // ascending, strictly inside the region
  size_t larger_side = 0;             // chunks on the fuller side of a crossed cut
};

class Sweep {
 public:
  Sweep(const std::vector<Box>& chunks, size_t limit) : chunks_(chunks), limit_(limit) {}

  std::vector<CoverageFault> Run(Region whole) {
    pending_.push_back(std::move(whole));
    while (!pending_.empty() && faults_.size() < limit_) {
      const Region region = std::move(pending_.back());
      pending_.pop_back();
      if (!Settle(region)) Split(region, ChooseCut(region));
    }
    return std::move(faults_);
  }

 private:
  // True when the region needs no further cut: its coverage is known, and its faults are noted.
  bool Settle(const Region& region) {
    if (region.chunks.empty()) {
      faults_.push_back({CoverageFault::Kind::kHole, 0, 0, region.box});
      return true;
    }
    const auto covering = std::find_if(region.chunks.begin(), region.chunks.end(),
                                       [&](size_t chunk) { return Contains(chunks_[chunk], region.box); });
    if (covering == region.chunks.end()) return false;
    for (const size_t other : region.chunks) {
      if (other != *covering) NoteOverlap(*covering, other);
    }
    return true;
  }

  void NoteOverlap(size_t a, size_t b) {
    const auto [low, high] = std::minmax(a, b);
    if (faults_.size() >= limit_ || !overlaps_.insert({low, high}).second) return;
    faults_.push_back({CoverageFault::Kind::kOverlap, low, high, *Intersect(chunks_[low], chunks_[high])});
  }

  std::vector<Span> Spans(const Region& region, size_t dimension) const {
    const uint64_t begin = region.box.offset[dimension];
    const uint64_t end = begin + region.box.shape[dimension];
    std::vector<Span> spans;
    spans.reserve(region.chunks.size());
    for (const size_t chunk : region.chunks) {
      const uint64_t chunk_begin = chunks_[chunk].offset[dimension];
      spans.push_back(
          {std::max(begin, chunk_begin), std::min(end, chunk_begin + chunks_[chunk].shape[dimension]), chunk});
    }
    return spans;
  }

  // The uncrossed cuts of the first dimension that has any, else the most even cut of all dimensions.
  Cut ChooseCut(const Region& region) const {
    Cut best;
    for (size_t d = 0; d < region.box.rank(); ++d) {
      const uint64_t begin = region.box.offset[d], end = begin + region.box.shape[d];
      std::vector<Span> spans = Spans(region, d);
      const bool all_full =
          std::all_of(spans.begin(), spans.end(), [&](const Span& s) { return s.begin == begin && s.end == end; });
      if (all_full) continue;
      Cut cut{d, UncrossedCuts(spans, begin, end), 0};
      if (!cut.coordinates.empty()) return cut;
      cut = MostEvenCut(spans, begin, end, d);
      if (best.coordinates.empty() || cut.larger_side < best.larger_side) best = std::move(cut);
    }
    return best;
  }

  static std::vector<uint64_t> UncrossedCuts(std::vector<Span>& spans, uint64_t begin, uint64_t end) {
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::vector<uint64_t> cuts;
    const auto add = [&](uint64_t at) {
      if (at > begin && at < end && (cuts.empty() || cuts.back() != at)) cuts.push_back(at);
    };
    uint64_t reached = begin;  // everything seen so far ends here or before
    for (const Span& span : spans) {
      if (span.begin >= reached) {
        add(reached);
        add(span.begin);
      }
      reached = std::max(reached, span.end);
    }
    add(reached);
    return cuts;
  }

  static Cut MostEvenCut(const std::vector<Span>& spans, uint64_t begin, uint64_t end, size_t dimension) {
    std::vector<uint64_t> begins, ends;
    for (const Span& span : spans) {
      begins.push_back(span.begin);
      ends.push_back(span.end);
    }
    std::sort(begins.begin(), begins.end());
    std::sort(ends.begin(), ends.end());
    Cut best{dimension, {}, 0};
    const auto consider = [&](uint64_t at) {
      if (at <= begin || at >= end) return;
      const auto before = std::lower_bound(begins.begin(), begins.end(), at) - begins.begin();
      const auto after = ends.end() - std::upper_bound(ends.begin(), ends.end(), at);
      const auto larger = static_cast<size_t>(std::max<ptrdiff_t>(before, after));
      if (best.coordinates.empty() || larger < best.larger_side) best = {dimension, {at}, larger};
    };
    for (const uint64_t at : begins) consider(at);
    for (const uint64_t at : ends) consider(at);
    return best;
  }

  // Replaces the region by its parts, the one of lowest offset on top.
  void Split(const Region& region, const Cut& cut) {
    const size_t d = cut.dimension;
    const uint64_t end = region.box.offset[d] + region.box.shape[d];
    std::vector<Region> parts;
    uint64_t begin = region.box.offset[d];
    for (size_t i = 0; i <= cut.coordinates.size(); ++i) {
      const uint64_t next = i < cut.coordinates.size() ? cut.coordinates[i] : end;
      Region part{region.box, {}};
      part.box.offset[d] = begin;
      part.box.shape[d] = next - begin;
      parts.push_back(std::move(part));
      begin = next;
    }
    for (const Span& span : Spans(region, d)) {
      const auto first = std::upper_bound(cut.coordinates.begin(), cut.coordinates.end(), span.begin);
      for (auto part = static_cast<size_t>(first - cut.coordinates.begin()); part < parts.size(); ++part) {
        if (parts[part].box.offset[d] >= span.end) break;
        parts[part].chunks.push_back(span.chunk);
      }
    }
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) pending_.push_back(std::move(*part));
  }

  const std::vector<Box>& chunks_;
  const size_t limit_;
  std::vector<Region> pending_;  // a stack: regions are worked off in ascending order
  std::set<std::pair<size_t, size_t>> overlaps_;
  std::vector<CoverageFault> faults_;
};

}  // namespace

std::vector<CoverageFault> CheckCoverage(const Dims& shape, const std::vector<Box>& chunks, size_t limit) {
  const Box whole = Box::Whole(shape);
  std::vector<CoverageFault> faults;
  Region region{whole, {}};
  for (size_t i = 0; i < chunks.size(); ++i) {
    const bool same_rank = chunks[i].offset.size() == shape.size() && chunks[i].shape.size() == shape.size();
    if (same_rank && Contains(whole, chunks[i])) {
      if (!chunks[i].IsEmpty()) region.chunks.push_back(i);
      continue;
    }
    const auto kind = same_rank ? CoverageFault::Kind::kOutOfRange : CoverageFault::Kind::kRank;
    if (faults.size() < limit) faults.push_back({kind, i, i, chunks[i]});
  }
  // A chunk that lies elsewhere leaves a hole, too: its own fault says more than the holes would.
  if (!faults.empty() || whole.IsEmpty()) return faults;
  return Sweep(chunks, limit).Run(std::move(region));
}

}  // namespace ck
