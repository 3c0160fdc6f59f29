// ck-retarget as a view: a GPT model's tensors as those of a Hybrid model and back, or the same model with its layers keyed the other way.
//
// Model.   A GPT layer is an attention layer and an MLP layer of the Hybrid model; the pattern says where they stand (libs/megatron/pattern.h). Only keys and
//          the layer axis change: every element of the result is one element of the view before, or of a fresh Mamba layer.
// Checks.  Fail-closed and complete: the pattern, the saved arguments and the keys themselves are checked, and every reason is reported. Every source
//          tensor is used or left out by a named rule, every target tensor covered once; anything else is a finding, before a byte is written.
// Findings retarget.*, pattern.* (docs/manual/errors.md). Errors: those of ParsePattern.
// Rules    of what is left out: optimizer, rng, rerun_state_machine, common_state.NAME, ssm, extra_state, output_extra_state.
// Source.  docs/manual/ck-retarget.md, docs/formats/megatron.md.
#ifndef CK_TRANSFORM_RETARGET_H_
#define CK_TRANSFORM_RETARGET_H_

#include <string>
#include <vector>

#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::transform {

struct Retargeted {
  std::vector<plan::Finding> findings;  // severity error; when there is one, `view` is empty
  View view;
};

// `source` is the view of the steps before, of a torch_dist checkpoint. `producer` goes into the provenance.
Retargeted Retarget(const plan::RetargetStep& step, View source, const std::string& producer);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_H_
