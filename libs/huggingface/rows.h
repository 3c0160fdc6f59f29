// Which rows of a fused Megatron tensor are which rows of a Hugging Face tensor. Index algebra only.
// Source. docs/formats/huggingface.md
#ifndef CK_HUGGINGFACE_ROWS_H_
#define CK_HUGGINGFACE_ROWS_H_

#include <cstdint>
#include <vector>

namespace ck::huggingface {

// Rows [source, source + rows) become rows [target, target + rows).
struct RowRange {
  uint64_t source = 0;
  uint64_t target = 0;
  uint64_t rows = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Query heads, key/value groups, elements per head. groups divides heads.
struct Heads {
  uint64_t heads = 0;
  uint64_t groups = 0;
  uint64_t head_dim = 0;
};

// linear_qkv holds, for each group in turn, its heads/groups query heads, its key and its value, head_dim rows each.
std::vector<RowRange> QueryRows(const Heads& heads);
std::vector<RowRange> KeyRows(const Heads& heads);
std::vector<RowRange> ValueRows(const Heads& heads);

// All of them, query, key and value one after the other.
std::vector<RowRange> QueryKeyValueRows(const Heads& heads);

// Rows [begin, begin + rows) alone: a half of a gated fc1, or a vocabulary without its padding.
std::vector<RowRange> RowsFrom(uint64_t begin, uint64_t rows);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_ROWS_H_
