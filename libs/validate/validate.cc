#include "libs/validate/validate.h"

#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/detect.h"
#include "libs/fs/read.h"
#include "libs/pipeline/pipeline.h"
#include "libs/validate/checks.h"
#include "libs/validate/findings.h"

namespace ck::validate {
namespace {

using checkpoint::Format;
using CheckpointRef = std::shared_ptr<const Checkpoint>;

constexpr char kNeedsDeep[] = "needs --deep";

// One report over any number of checkpoints.
class Validation {
 public:
  explicit Validation(const Options& options) : options_(options) {}

  // Opens the checkpoint with `open` and checks it. Nullptr when it cannot be opened, which is then a finding.
  CheckpointRef Check(const std::string& path, const std::function<CheckpointRef()>& open) {
    Findings findings(path);
    const CheckpointRef opened = Open(path, open, findings);
    if (opened) {
      CheckOpen(*opened, findings);
    } else {
      ++unopened_;
    }
    ++checkpoints_;
    Append(findings.Take());
    return opened;
  }

  void Append(std::vector<Finding> findings) {
    findings_.insert(findings_.end(), std::make_move_iterator(findings.begin()), std::make_move_iterator(findings.end()));
  }

  // What the checks of a step meet in reading one input has been found there, under the same id.
  void AppendUnlessFound(std::vector<Finding> findings) {
    std::set<std::string> ids;
    for (const Finding& finding : findings_) ids.insert(finding.id);
    std::erase_if(findings, [&](const Finding& finding) { return ids.count(finding.id) > 0; });
    Append(std::move(findings));
  }

  plan::Report Finish() {
    checked_.push_back({.what = "format, version and metadata", .looked_at = true, .note = {}});
    AddChecked("data files: there, and as long as the metadata says");
    AddChecked("coverage of every tensor by its chunks");
    AddChecked("item headers: dtype, shape and storage size", compressed_items_);
    AddChecked("byte objects: archive and pickle", compressed_objects_);
    AddChecked("common state, saved arguments against shapes, keys");
    AddChecked("files beside the data");
    if (inputs_compared_) checked_.push_back({.what = "the steps of the plan, and its inputs against each other", .looked_at = true, .note = {}});
    for (const char* what : {"tensor data (NaN, Inf)", "checksums (CRC-32 of records, SHA-256 of integrity.json)"}) {
      checked_.push_back({.what = what, .looked_at = false, .note = kNeedsDeep});
    }
    return {.checked = std::move(checked_), .findings = std::move(findings_)};
  }

  void set_inputs_compared() { inputs_compared_ = true; }

 private:
  CheckpointRef Open(const std::string& path, const std::function<CheckpointRef()>& open, Findings& findings) {
    const auto info = fs::Stat(path);
    if (!info) throw InputError("checkpoint.not_found", Cat(path, ": no such directory"));
    if (info->type != fs::FileType::kDirectory) throw InputError("checkpoint.not_a_directory", Cat(path, ": is a file; a checkpoint is a directory"));
    if (checkpoint::Detect(path, fs::ListDirectory(path)).kind == checkpoint::Kind::kSafetensors) CheckSafetensorsDirectory(path, findings);
    if (findings.has_errors()) return nullptr;
    try {
      return open();
    } catch (const Error& error) {
      findings.AddCaught(error);
      return nullptr;
    }
  }

  void CheckOpen(const Checkpoint& checkpoint, Findings& findings) {
    // The scan of a safetensors directory has said what its notes say.
    if (checkpoint.format() != Format::kSafetensors) CheckMetadataNotes(checkpoint, findings);
    CheckDataFiles(checkpoint, findings);
    CheckItemPlacement(checkpoint, findings);
    CheckCoverage(checkpoint, findings);
    compressed_items_ += CheckItemHeaders(checkpoint, options_.threads, findings);
    compressed_objects_ += CheckObjects(checkpoint, findings);
    CheckSurroundings(checkpoint, findings);
    CheckCommonState(checkpoint, findings);
    CheckKeys(checkpoint, findings);
  }

  // What is looked at in every checkpoint that can be opened, but for so many compressed parts.
  void AddChecked(std::string what, uint64_t compressed = 0) {
    std::vector<std::string> notes;
    if (unopened_ > 0) notes.push_back(Cat("not in ", unopened_, " of ", checkpoints_, " checkpoints: cannot be opened"));
    if (compressed > 0) notes.push_back(Cat("not of ", compressed, " compressed ones: ", kNeedsDeep));
    checked_.push_back({.what = std::move(what),
                        .looked_at = unopened_ < checkpoints_,
                        .note = notes.empty() ? std::nullopt : std::optional(Join(notes, "; "))});
  }

  const Options options_;
  std::vector<Finding> findings_;
  std::vector<plan::Checked> checked_;
  uint64_t checkpoints_ = 0, unopened_ = 0, compressed_items_ = 0, compressed_objects_ = 0;
  bool inputs_compared_ = false;
};

// What an option of a merge to come would settle.
bool DependsOnTheMerge(const Finding& finding) { return finding.id == "merge.training_state" || finding.id == "merge.not_floating"; }

// The checks of the plan's steps; several inputs without a step yet can only be meant for a merge.
std::vector<Finding> CheckStepsAgainstInputs(const plan::Plan& plan, const transform::MergeInputs& inputs) {
  if (!plan.steps.empty()) return pipeline::CheckSteps(plan, inputs);
  plan::Plan merging = plan;
  merging.steps = {plan::MergeStep()};
  std::vector<Finding> findings = pipeline::CheckSteps(merging, inputs);
  for (Finding& finding : findings) {
    if (DependsOnTheMerge(finding)) finding.severity = Severity::kWarning;
  }
  return findings;
}

Finding AboutThePlan(const Error& error) {
  if (error.code() != Code::kInput) throw error;
  return {.id = error.id(), .severity = Severity::kError, .message = error.message(), .where = "the plan", .found = {}, .expected = {}, .source = {}};
}

// Can the plan be carried out as it stands? A plan that has no step yet is not finished, and that is no fault.
std::vector<Finding> CheckFinished(const plan::Plan& plan) {
  if (plan.steps.empty()) return {};
  try {
    plan::CheckRunnable(plan);
  } catch (const Error& error) {
    return {AboutThePlan(error)};
  }
  return {};
}

}  // namespace

plan::Report CheckCheckpoints(const std::vector<std::string>& directories, const Options& options) {
  Validation validation(options);
  for (const std::string& directory : directories) {
    const std::string path = fs::AbsolutePath(directory);
    validation.Check(path, [&] { return Checkpoint::Open(path); });
  }
  return validation.Finish();
}

plan::Report CheckPlan(const plan::Plan& plan, const Options& options) {
  if (plan.inputs.empty()) throw InputError("plan.no_inputs", "the plan has no inputs to check");
  Validation validation(options);
  transform::MergeInputs inputs;
  bool all_open = true;
  for (const plan::Input& input : plan.inputs) {
    inputs.checkpoints.push_back(validation.Check(input.path, [&] { return pipeline::OpenInput(input); }));
    all_open = all_open && inputs.checkpoints.back();
  }
  const auto* merge = plan::FindStep<plan::MergeStep>(plan);
  if (const std::string* common = merge ? std::get_if<std::string>(&merge->common_from) : nullptr) {
    inputs.common = validation.Check(*common, [&] { return Checkpoint::Open(*common); });
    all_open = all_open && inputs.common;
  }
  std::vector<Finding> unfinished = CheckFinished(plan);
  const bool steps_can_be_checked = all_open && unfinished.empty() && (!plan.steps.empty() || plan.inputs.size() > 1);
  validation.Append(std::move(unfinished));
  if (steps_can_be_checked) {
    try {
      validation.AppendUnlessFound(CheckStepsAgainstInputs(plan, inputs));
    } catch (const Error& error) {
      validation.AppendUnlessFound({AboutThePlan(error)});
    }
    validation.set_inputs_compared();
  }
  return validation.Finish();
}

}  // namespace ck::validate
