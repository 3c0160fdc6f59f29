#include "libs/pipeline/pipeline.h"

#include <utility>
#include <variant>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/metadata_hash.h"
#include "libs/huggingface/export.h"
#include "libs/huggingface/import.h"
#include "libs/pipeline/sidecars.h"
#include "libs/pipeline/source_checks.h"
#include "libs/transform/common_warnings.h"
#include "libs/transform/copy.h"
#include "libs/transform/retarget.h"

namespace ck::pipeline {
namespace {

using checkpoint::Checkpoint;

// What of a step is not built in this version.
void RefuseUnsupported(const plan::SplitStep& split) {
  if (split.mapping) throw InputError("pipeline.unsupported_step", "step \"split\" with a mapping of one's own is not available in this version");
}

// The view before any change of keys. Precondition: the merge's checks found nothing.
transform::View SourceView(const plan::Plan& plan, const transform::MergeInputs& inputs, const std::string& producer) {
  if (const auto* merge = plan::FindStep<plan::MergeStep>(plan)) return transform::MergeView(plan, *merge, inputs, producer);
  const int64_t* number = std::get_if<int64_t>(&plan.target);
  return transform::CopyView(inputs.checkpoints[0], number ? std::optional(*number) : std::nullopt);
}

transform::View SplitView(const transform::View& view, const plan::SplitStep& split, const plan::Plan& plan) {
  RefuseUnsupported(split);
  if (split.to == plan::SplitStep::To::kHf) return huggingface::ExportView(view, split);
  const int64_t* number = std::get_if<int64_t>(&plan.target);
  return huggingface::ImportView(view, split, number ? *number : 0);
}

// Beside weights that are not the source's, or counters that start again, the source's progress is no longer true.
SidecarRule SidecarRuleOf(const plan::Plan& plan) {
  const auto* retarget = plan::FindStep<plan::RetargetStep>(plan);
  const bool changed = plan::FindStep<plan::MergeStep>(plan) || (retarget && retarget->reset_iterations);
  return changed ? SidecarRule::kChanged : SidecarRule::kCopy;
}

}  // namespace

std::shared_ptr<const Checkpoint> OpenInput(const plan::Input& input) {
  auto opened = Checkpoint::Open(input.path);
  if (opened->format() != input.format) {
    throw PreconditionError("pipeline.input_changed", Cat(input.path, " is ", Name(opened->format()), ", the plan says ", Name(input.format)));
  }
  if (!input.metadata_sha256) return opened;
  const std::string found = checkpoint::MetadataSha256(*opened);
  if (found != *input.metadata_sha256) {
    throw PreconditionError("pipeline.input_changed",
                            Cat("the metadata of ", input.path, " has SHA-256 ", found, ", the plan says ", *input.metadata_sha256));
  }
  return opened;
}

transform::MergeInputs OpenInputs(const plan::Plan& plan) {
  transform::MergeInputs out;
  for (const plan::Input& input : plan.inputs) out.checkpoints.push_back(OpenInput(input));
  const auto* merge = plan::FindStep<plan::MergeStep>(plan);
  const auto* common = merge ? std::get_if<std::string>(&merge->common_from) : nullptr;
  if (common) out.common = Checkpoint::Open(*common);
  return out;
}

std::vector<plan::Finding> CheckSteps(const plan::Plan& plan, const transform::MergeInputs& inputs) {
  std::vector<plan::Finding> findings;
  if (const auto* merge = plan::FindStep<plan::MergeStep>(plan)) findings = transform::CheckMerge(plan, *merge, inputs);
  const auto* retarget = plan::FindStep<plan::RetargetStep>(plan);
  const auto* split = plan::FindStep<plan::SplitStep>(plan);
  if (!findings.empty() || (!retarget && !split)) return findings;
  transform::View view = SourceView(plan, inputs, "");
  if (retarget) {
    transform::Retargeted retargeted = transform::Retarget(*retarget, std::move(view), "");
    if (!retargeted.findings.empty() || !split) return std::move(retargeted.findings);
    view = std::move(retargeted.view);
  }
  try {
    SplitView(view, *split, plan);
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;
    findings.push_back({.id = error.id(), .severity = plan::Severity::kError, .message = error.message(), .where = {}, .found = {}, .expected = {}, .source = {}});
  }
  return findings;
}

transform::View BuildView(const plan::Plan& plan, const transform::MergeInputs& inputs, const std::string& producer) {
  transform::View view = SourceView(plan, inputs, producer);
  if (const auto* retarget = plan::FindStep<plan::RetargetStep>(plan)) {
    transform::Retargeted retargeted = transform::Retarget(*retarget, std::move(view), producer);
    Check(retargeted.findings.empty(), "CheckSteps found nothing");
    view = std::move(retargeted.view);
  }
  if (const auto* split = plan::FindStep<plan::SplitStep>(plan)) {
    view = SplitView(view, *split, plan);
    const Checkpoint& source = *view.inputs[view.common_input];
    if (split->to == plan::SplitStep::To::kMegatron) {
      AddHuggingFaceFiles(source, split->config, view);
    } else {
      AddModelFiles(source, split->config, view);
    }
  } else {
    AddSidecars(*view.inputs[view.common_input], SidecarRuleOf(plan), view);
  }
  CheckSourceCoverage(view);
  transform::WarnAboutCommonState(view);
  transform::CheckView(view);
  return view;
}

}  // namespace ck::pipeline
