// The common state of a result: a copy of a source's, with the few changes that the result needs. Every other value is kept exactly.
#ifndef CK_MEGATRON_COMMON_DOCUMENT_H_
#define CK_MEGATRON_COMMON_DOCUMENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/checkpoint/common_state.h"
#include "libs/pickle/graph.h"

namespace ck::megatron {

struct CommonDocument {
  pickle::Graph graph;
  pickle::Ref root = pickle::kNoRef;            // a dict
  std::map<std::string, std::string> storages;  // the bytes of each storage that the graph names
};

// An empty dict when the source has no common state.
CommonDocument CopyCommonState(const checkpoint::CommonState& source);

// Sets `iteration`, and `args.iteration` where args has one.
void SetIteration(CommonDocument& document, int64_t iteration);

// Classes and functions in the document that Megatron-Core's restricted load of common.pt refuses, as "module.name". The embedded form of the common state is
// loaded without that restriction, so a source can hold them and work.
std::vector<std::string> RefusedClasses(const CommonDocument& document);

// Removes the optimizer, rng and rerun state that the result's tensors no longer match. Returns the names removed.
std::vector<std::string> DropTrainingState(CommonDocument& document);

// The rng and rerun state alone: the optimizer state stays.
std::vector<std::string> DropRunState(CommonDocument& document);

// Where a merge's result came from: `weighted_merge_provenance` of the common state (docs/manual/ck-merge.md).
struct MergeProvenance {
  std::vector<std::string> input_paths;
  std::vector<std::optional<int64_t>> source_iterations;
  std::vector<double> weights;
  bool normalize = false;
  std::string merge_style;  // "manual" or a schedule
  std::optional<int64_t> output_iteration;
  std::string output_dtype;
  int64_t extra_state_source_index = 0;
  std::string extra_state_source_path;
  std::optional<std::string> common_state_source_path;
  std::string producer;
};

// An earlier provenance in the document is kept inside the new one, as `source_provenance`.
void SetProvenance(CommonDocument& document, const MergeProvenance& provenance);

// How a result's architecture was changed: `retarget_provenance` of the common state (docs/manual/ck-retarget.md); replaces an earlier one.
struct RetargetProvenance {
  std::string direction;  // "gpt-to-hybrid", "hybrid-to-gpt"
  std::string pattern;
  std::string seed;
  std::vector<uint64_t> fresh_layers, dropped_layers;  // by hybrid layer
  std::string producer;
};

void SetProvenance(CommonDocument& document, const RetargetProvenance& provenance);

}  // namespace ck::megatron

#endif  // CK_MEGATRON_COMMON_DOCUMENT_H_
