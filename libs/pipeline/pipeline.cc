#include "libs/pipeline/pipeline.h"

#include <utility>
#include <variant>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/pipeline/sidecars.h"
#include "libs/pipeline/source_checks.h"
#include "libs/transform/copy.h"

namespace ck::pipeline {
namespace {

using checkpoint::Checkpoint;

checkpoint::Format FormatOf(plan::Format format) {
  switch (format) {
    case plan::Format::kTorchDist:
      return checkpoint::Format::kTorchDist;
    case plan::Format::kFsdpDtensor:
      return checkpoint::Format::kFsdpDtensor;
    case plan::Format::kDcp:
      return checkpoint::Format::kDcp;
    case plan::Format::kSafetensors:
      return checkpoint::Format::kSafetensors;
  }
  throw InternalError("internal.check_failed", "a plan's format is one of four");
}

std::shared_ptr<const Checkpoint> OpenInput(const plan::Input& input) {
  auto opened = Checkpoint::Open(input.path);
  if (opened->format() != FormatOf(input.format)) {
    throw PreconditionError("pipeline.input_changed", Cat(input.path, " is ", Name(opened->format()), ", the plan says ", Name(FormatOf(input.format))));
  }
  return opened;
}

// The step of the plan that is not built in this version, if any.
void RefuseUnsupportedSteps(const plan::Plan& plan) {
  for (const plan::Step& step : plan.steps) {
    if (std::holds_alternative<plan::MergeStep>(step)) continue;
    throw InputError("pipeline.unsupported_step", Cat("step ", Quote(plan::OpName(step)), " is not available in this version"));
  }
}

}  // namespace

transform::MergeInputs OpenInputs(const plan::Plan& plan) {
  transform::MergeInputs out;
  for (const plan::Input& input : plan.inputs) out.checkpoints.push_back(OpenInput(input));
  const auto* merge = plan::FindStep<plan::MergeStep>(plan);
  const auto* common = merge ? std::get_if<std::string>(&merge->common_from) : nullptr;
  if (common) out.common = Checkpoint::Open(*common);
  return out;
}

std::vector<plan::Finding> CheckSteps(const plan::Plan& plan, const transform::MergeInputs& inputs) {
  const auto* merge = plan::FindStep<plan::MergeStep>(plan);
  return merge ? transform::CheckMerge(plan, *merge, inputs) : std::vector<plan::Finding>();
}

transform::View BuildView(const plan::Plan& plan, const transform::MergeInputs& inputs, const std::string& producer) {
  RefuseUnsupportedSteps(plan);
  const auto* merge = plan::FindStep<plan::MergeStep>(plan);
  const int64_t* number = std::get_if<int64_t>(&plan.target);
  transform::View view = merge ? transform::MergeView(plan, *merge, inputs, producer)
                               : transform::CopyView(inputs.checkpoints[0], number ? std::optional(*number) : std::nullopt);
  const Checkpoint& sidecar_source = *view.inputs[view.common_input];
  AddSidecars(sidecar_source, merge ? SidecarRule::kChanged : SidecarRule::kCopy, view);
  CheckSourceCoverage(view);
  transform::CheckView(view);
  return view;
}

}  // namespace ck::pipeline
