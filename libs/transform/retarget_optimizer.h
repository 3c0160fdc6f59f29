// Optimizer state in model space: copies of the model's tensors (moments, fp32 masters) under the model's own keys.
#ifndef CK_TRANSFORM_RETARGET_OPTIMIZER_H_
#define CK_TRANSFORM_RETARGET_OPTIMIZER_H_

#include <vector>

#include "libs/megatron/common_document.h"
#include "libs/transform/retarget_rules.h"
#include "libs/transform/retarget_source.h"

namespace ck::transform {

// The planes of the optimizer state, one for each kind of copy: optimizer.state.{exp_avg,exp_avg_sq,param,fp32_param}. Findings: retarget.no_optimizer when
// there is none, retarget.optimizer_format when some of it is in no such plane (bucket formats), retarget.optimizer_mismatch when a plane does not
// copy the model's tensors.
std::vector<SourceModel> ReadOptimizerPlanes(const View& view, const SourceModel& model, const megatron::CommonDocument& common, Findings& findings);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_OPTIMIZER_H_
