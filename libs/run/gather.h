// Copies a box of a result out of a stored chunk, whatever the strides on either side.
#ifndef CK_RUN_GATHER_H_
#define CK_RUN_GATHER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/bytes/source.h"

namespace ck::run {

// A strided read: element (i0, i1, ..) with i_k < extents[k] lies at source_offset + element_size * sum(i_k * source_strides[k]) of the source and goes to
// element position sum(i_k * target_strides[k]) of the target. Strides are in elements. A rank of 0 is one element.
struct StridedCopy {
  uint64_t element_size = 1;   // bytes
  uint64_t source_offset = 0;  // bytes
  std::vector<uint64_t> extents;
  std::vector<uint64_t> source_strides;
  std::vector<uint64_t> target_strides;
};

// Scratch of one thread, reused between calls.
struct GatherScratch {
  std::string window;
};

// The most that one read of a scattered copy takes: runs closer together than kMaxGapBytes share a read of at most this many bytes.
inline constexpr uint64_t kWindowBytes = 256 << 10;
inline constexpr uint64_t kMaxGapBytes = 4 << 10;

// Carries the copy out. Precondition: every element read lies inside the source (else bytes.out_of_range) and every element written inside `target`.
void Gather(const bytes::Source& source, StridedCopy copy, char* target, GatherScratch& scratch);

}  // namespace ck::run

#endif  // CK_RUN_GATHER_H_
