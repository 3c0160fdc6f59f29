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

// The same with a gate behind the query heads of each group: heads/groups query heads, as many gates, key, value. The result has each head's gate behind it.
std::vector<RowRange> GatedQueryRows(const Heads& heads);
std::vector<RowRange> GatedKeyRows(const Heads& heads);
std::vector<RowRange> GatedValueRows(const Heads& heads);

// All of them, query, key and value one after the other.
std::vector<RowRange> QueryKeyValueRows(const Heads& heads);

// A gated delta net: key_heads divides value_heads.
struct DeltaHeads {
  uint64_t key_heads = 0;
  uint64_t key_dim = 0;
  uint64_t value_heads = 0;
  uint64_t value_dim = 0;
};

// Of the rows of query, key, value and z, one after the other: for each key head its query, its key, its value heads, their z.
std::vector<RowRange> DeltaProjectionRows(const DeltaHeads& heads);
// Of the rows of beta and alpha: for each key head the beta of its value heads, then their alpha.
std::vector<RowRange> DeltaGateRows(const DeltaHeads& heads);

// Rows [begin, begin + rows) alone: a half of a gated fc1, or a vocabulary without its padding.
std::vector<RowRange> RowsFrom(uint64_t begin, uint64_t rows);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_ROWS_H_
