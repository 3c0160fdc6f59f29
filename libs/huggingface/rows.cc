#include "libs/huggingface/rows.h"

namespace ck::huggingface {
namespace {

// `count` rows at `begin` of every group of `group_rows`, one after the other.
std::vector<RowRange> OfEachGroup(uint64_t groups, uint64_t group_rows, uint64_t begin, uint64_t count) {
  std::vector<RowRange> out;
  for (uint64_t group = 0; group < groups; ++group) out.push_back({.source = group * group_rows + begin, .target = group * count, .rows = count});
  return out;
}

// Of tensors one after the other, with these numbers of rows: for each group its share of every tensor.
std::vector<RowRange> ByGroup(uint64_t groups, const std::vector<uint64_t>& tensor_rows) {
  std::vector<RowRange> out;
  uint64_t target = 0;
  for (uint64_t group = 0; group < groups; ++group) {
    uint64_t begin = 0;
    for (const uint64_t rows : tensor_rows) {
      const uint64_t share = rows / groups;
      out.push_back({.source = begin + group * share, .target = target, .rows = share});
      target += share;
      begin += rows;
    }
  }
  return out;
}

}  // namespace

std::vector<RowRange> QueryRows(const Heads& heads) {
  const uint64_t per_group = heads.heads / heads.groups;
  return OfEachGroup(heads.groups, (per_group + 2) * heads.head_dim, 0, per_group * heads.head_dim);
}

std::vector<RowRange> KeyRows(const Heads& heads) {
  const uint64_t per_group = heads.heads / heads.groups;
  return OfEachGroup(heads.groups, (per_group + 2) * heads.head_dim, per_group * heads.head_dim, heads.head_dim);
}

std::vector<RowRange> ValueRows(const Heads& heads) {
  const uint64_t per_group = heads.heads / heads.groups;
  return OfEachGroup(heads.groups, (per_group + 2) * heads.head_dim, (per_group + 1) * heads.head_dim, heads.head_dim);
}

std::vector<RowRange> GatedQueryRows(const Heads& heads) {
  const uint64_t per_group = heads.heads / heads.groups, d = heads.head_dim;
  std::vector<RowRange> out;
  for (uint64_t head = 0; head < heads.heads; ++head) {
    const uint64_t query = (head / per_group * (2 * per_group + 2) + head % per_group) * d;
    out.push_back({.source = query, .target = 2 * head * d, .rows = d});
    out.push_back({.source = query + per_group * d, .target = (2 * head + 1) * d, .rows = d});
  }
  return out;
}

std::vector<RowRange> GatedKeyRows(const Heads& heads) {
  const uint64_t per_group = heads.heads / heads.groups;
  return OfEachGroup(heads.groups, (2 * per_group + 2) * heads.head_dim, 2 * per_group * heads.head_dim, heads.head_dim);
}

std::vector<RowRange> GatedValueRows(const Heads& heads) {
  const uint64_t per_group = heads.heads / heads.groups;
  return OfEachGroup(heads.groups, (2 * per_group + 2) * heads.head_dim, (2 * per_group + 1) * heads.head_dim, heads.head_dim);
}

std::vector<RowRange> DeltaProjectionRows(const DeltaHeads& heads) {
  const uint64_t keys = heads.key_heads * heads.key_dim, values = heads.value_heads * heads.value_dim;
  return ByGroup(heads.key_heads, {keys, keys, values, values});
}

std::vector<RowRange> DeltaGateRows(const DeltaHeads& heads) { return ByGroup(heads.key_heads, {heads.value_heads, heads.value_heads}); }

std::vector<RowRange> QueryKeyValueRows(const Heads& heads) {
  std::vector<RowRange> out;
  uint64_t target = 0;
  for (const auto& part : {QueryRows(heads), KeyRows(heads), ValueRows(heads)}) {
    const uint64_t begin = target;
    for (RowRange range : part) {
      range.target += begin;
      target = range.target + range.rows;
      out.push_back(range);
    }
  }
  return out;
}

std::vector<RowRange> RowsFrom(uint64_t begin, uint64_t rows) { return {{.source = begin, .target = 0, .rows = rows}}; }

}  // namespace ck::huggingface
