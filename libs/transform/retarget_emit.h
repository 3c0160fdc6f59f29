// Writes the layers that retarget has arranged as tensors and objects of a view.
#ifndef CK_TRANSFORM_RETARGET_EMIT_H_
#define CK_TRANSFORM_RETARGET_EMIT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libs/megatron/model_args.h"
#include "libs/plan/plan.h"
#include "libs/transform/retarget_source.h"
#include "libs/transform/view.h"

namespace ck::transform {

// Counts what a result does not have, by rule.
class LeftOutTally {
 public:
  void Add(const std::string& rule, uint64_t bytes, uint64_t count = 1);
  std::vector<LeftOut> Take() const;  // by rule

 private:
  std::map<std::string, std::pair<uint64_t, uint64_t>> by_rule_;  // count, bytes
};

// The stored bytes of an object of a view.
uint64_t ObjectBytes(const View& view, uint32_t object);

// output_layer._extra_state: kept as it is; also added, empty, where it is missing (a strict load of a Hybrid model asks for it); left out (GPT has none).
enum class OutputExtraState { kKeep, kAdd, kDrop };

struct EmitOptions {
  plan::RetargetStep::ExtraState extra_state = plan::RetargetStep::ExtraState::kMap;
  OutputExtraState output_extra_state = OutputExtraState::kKeep;
  megatron::LayerKeys keys = megatron::LayerKeys::kPerLayer;
  std::vector<uint64_t> empty_extra_states;  // Mamba layers that get empty ones, because they are fresh
};

// The view of `source` with `model`'s entries outside the layers under their keys, and `layers` instead of its layers. Precondition for kStacked: all layers
// have the same tensors. Tensors and objects are not sorted; what the caller must still set: common, planner_data, notes, left_out.
View EmitModel(const View& source, const SourceModel& model, const std::vector<ModelLayer>& layers, const EmitOptions& options, LeftOutTally& left_out);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_EMIT_H_
