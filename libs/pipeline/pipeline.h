// From a plan to the view of its result: opens the inputs, checks that they fit the plan and each other, applies the steps.
// Reads metadata only. Shared by what carries a plan out (libs/run), what checks it (ck-validate) and what shows its result (ck-meta).
//
// Errors.  pipeline.input_changed (kPrecondition: an input is not what the plan says), pipeline.unsupported_step, pipeline.modelopt_state (kInput), coverage.* (source_checks.h), those of opening.
#ifndef CK_PIPELINE_PIPELINE_H_
#define CK_PIPELINE_PIPELINE_H_

#include <memory>
#include <string>
#include <vector>

#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/transform/merge.h"
#include "libs/transform/view.h"

namespace ck::pipeline {

// Opens one input and compares it with what the plan says: its format and, where the plan has it, metadata_sha256
// (checkpoint::MetadataSha256).
std::shared_ptr<const checkpoint::Checkpoint> OpenInput(const plan::Input& input);

// Opens every input of the plan, and the checkpoint that a merge's common_from names. Precondition: the plan has inputs.
transform::MergeInputs OpenInputs(const plan::Plan& plan);

// What stands against carrying the plan out: the checks of its steps. Empty when nothing does.
std::vector<plan::Finding> CheckSteps(const plan::Plan& plan, const transform::MergeInputs& inputs);

// The view of the result, checked (transform::CheckView). Precondition: plan::CheckRunnable and CheckSteps found nothing.
// `producer` goes into the provenance, e.g. "ck-merge 0.1.0".
transform::View BuildView(const plan::Plan& plan, const transform::MergeInputs& inputs, const std::string& producer);

}  // namespace ck::pipeline

#endif  // CK_PIPELINE_PIPELINE_H_
