#include "libs/huggingface/rows.h"

namespace ck::huggingface {
namespace {

// `count` rows at `begin` of every group of `group_rows`, one after the other.
std::vector<RowRange> OfEachGroup(uint64_t groups, uint64_t group_rows, uint64_t begin, uint64_t count) {
  std::vector<RowRange> out;
  for (uint64_t group = 0; group < groups; ++group) out.push_back({.source = group * group_rows + begin, .target = group * count, .rows = count});
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
