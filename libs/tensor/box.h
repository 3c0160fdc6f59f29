// Shapes and boxes: half-open index ranges in every dimension.
#ifndef CK_TENSOR_BOX_H_
#define CK_TENSOR_BOX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ck {

using Dims = std::vector<uint64_t>;

// The most dimensions a tensor may have here (torch's own limit is 64).
inline constexpr size_t kMaxRank = 64;

// The number of elements; 1 for no dimensions. nullopt when it does not fit 64 bits.
std::optional<uint64_t> Volume(const Dims& shape);

// Strides, in elements, of a row-major tensor. Precondition: Volume(shape) fits.
Dims RowMajorStrides(const Dims& shape);

// The box [offset, offset + shape) of a tensor. Both members have the tensor's rank.
struct Box {
  Dims offset;
  Dims shape;

  static Box Whole(const Dims& shape) { return {Dims(shape.size(), 0), shape}; }
  size_t rank() const { return offset.size(); }
  // True when some dimension is 0; a box of rank 0 is not empty.
  bool IsEmpty() const;
  friend bool operator==(const Box&, const Box&) = default;
  friend auto operator<=>(const Box&, const Box&) = default;
};

// "[1, 0] + [1, 40]".
std::string FormatBox(const Box& box);

// True when `inner` has the rank of `outer` and lies inside it. Overflow-safe.
bool Contains(const Box& outer, const Box& inner);

// The common part, empty optional when there is none (a shared face is none). Precondition: equal rank, no overflow in
// offset + shape. Boxes of rank 0 intersect.
std::optional<Box> Intersect(const Box& a, const Box& b);

// What is wrong with a set of chunks that should tile a tensor exactly.
struct CoverageFault {
  enum class Kind { kRank, kOutOfRange, kOverlap, kHole };
  Kind kind;
  size_t chunk = 0;        // the chunk at fault (kRank, kOutOfRange, kOverlap)
  size_t other_chunk = 0;  // the chunk it overlaps (kOverlap)
  Box where;  // the common part (kOverlap), a part that no chunk covers (kHole), the chunk itself otherwise
};

// Checks that `chunks` cover a tensor of this shape exactly once. Chunks of volume 0 are legal anywhere inside and
// count for nothing. Returns at most `limit` faults, none when the chunks tile the tensor. Overflow-safe for any
// numbers, and close to linear in the number of chunks (sort and sweep; a regular grid never compares all pairs).
std::vector<CoverageFault> CheckCoverage(const Dims& shape, const std::vector<Box>& chunks, size_t limit = 16);

}  // namespace ck

#endif  // CK_TENSOR_BOX_H_
