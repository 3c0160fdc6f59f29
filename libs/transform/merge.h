// ck-merge as a view: the weighted sum of the model tensors of several checkpoints of one layout.
//
// Checks.  Fail-closed and complete: every input is compared with the first, and every violation is reported, not only the first
//          (ids merge.*; docs/manual/errors.md). Nothing is written when there is one.
// Rules.   docs/manual/ck-merge.md. Extra states are copied from one source; optimizer, rng and rerun state is refused, or left out with
//          weights_only; the common state follows MergeStep::common_from.
#ifndef CK_TRANSFORM_MERGE_H_
#define CK_TRANSFORM_MERGE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"
#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::transform {

struct MergeInputs {
  std::vector<std::shared_ptr<const checkpoint::Checkpoint>> checkpoints;  // of plan.inputs, in order
  // The checkpoint that MergeStep::common_from names by path; it supplies common state and extra states.
  std::shared_ptr<const checkpoint::Checkpoint> common;
};

// Everything that is wrong with merging these, as findings of severity error. Empty when the merge can go ahead.
std::vector<plan::Finding> CheckMerge(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs);

// Precondition: CheckMerge found nothing. `producer` goes into the provenance, e.g. "ck-merge 0.1.0".
View MergeView(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs, const std::string& producer);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_MERGE_H_
