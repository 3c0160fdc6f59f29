#include "libs/megatron/shards.h"

#include <cstdlib>
#include <optional>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::megatron {
namespace {

struct Split {
  int64_t first, middle, last;
  int64_t Unevenness() const { return std::abs(first - middle); }
};

std::optional<Split> BestSplit(int64_t layers, int64_t middle_stages) {
  std::optional<Split> best;
  for (int64_t middle = 1; middle < layers; ++middle) {
    const int64_t ends = layers - middle * middle_stages;
    if (ends < 2) break;  // an end stage would have nothing
    const Split split{.first = ends / 2, .middle = middle, .last = ends - ends / 2};
    if (split.last > middle) continue;
    if (!best || split.Unevenness() < best->Unevenness()) best = split;
  }
  return best;
}

}  // namespace

std::vector<uint64_t> PipelineShards(uint64_t layers, uint64_t stages) {
  if (stages == 0 || stages > kMaxStages || layers > kMaxShardLayers) {
    throw InputError("shards.out_of_range", Cat("a split of ", layers, " layers over ", stages, " stages: expected 1 to ", kMaxStages, " stages and at most ", kMaxShardLayers, " layers"));
  }
  if (stages == 1) return {layers};
  if (stages == 2) return {layers / 2, layers - layers / 2};
  const auto split = BestSplit(static_cast<int64_t>(layers), static_cast<int64_t>(stages) - 2);
  if (!split) {
    throw InputError("shards.no_split", Cat("no split of ", layers, " layers over ", stages,
                                            " stages: equal middle stages and a first and last stage of at least one and at most as many layers do not add up"));
  }
  std::vector<uint64_t> out(stages, static_cast<uint64_t>(split->middle));
  out.front() = static_cast<uint64_t>(split->first);
  out.back() = static_cast<uint64_t>(split->last);
  return out;
}

}  // namespace ck::megatron
