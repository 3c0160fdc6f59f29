// How many layers each pipeline stage gets: the rule of verl's Megatron model merger.
#ifndef CK_MEGATRON_SHARDS_H_
#define CK_MEGATRON_SHARDS_H_

#include <cstdint>
#include <vector>

namespace ck::megatron {

inline constexpr uint64_t kMaxShardLayers = 1'000'000;  // far beyond any model; bounds the search
inline constexpr uint64_t kMaxStages = 100'000;

// The layers of each stage, first to last. One stage has them all, two have half each (the second the odd one). Otherwise every middle stage has the same
// number, the first and the last share the rest and have at least one and at most as many as a middle stage; of all such splits the one whose first
// stage is nearest to the middle ones, the smallest middle first.
// Errors. shards.no_split when there is none, shards.out_of_range for 0 stages or more than the limits (kInput).
std::vector<uint64_t> PipelineShards(uint64_t layers, uint64_t stages);

}  // namespace ck::megatron

#endif  // CK_MEGATRON_SHARDS_H_
