#include "libs/transform/retarget_optimizer.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "libs/base/text.h"
#include "libs/megatron/keys.h"

namespace ck::transform {
namespace {

constexpr std::array<std::string_view, 4> kPlanes = {"optimizer.state.exp_avg.", "optimizer.state.exp_avg_sq.", "optimizer.state.fp32_param.", "optimizer.state.param."};
constexpr std::string_view kAdvice = "save it again with --dist-ckpt-optim-fully-reshardable, or convert without --with-optimizer and load with --no-load-optim";

std::string_view PlaneOf(std::string_view name) {
  for (const std::string_view plane : kPlanes) {
    if (StartsWith(name, plane)) return plane;
  }
  return {};
}

// Entries of optimizer state that have no model key: buckets, and whatever else.
std::vector<std::string> EntriesOutsidePlanes(const View& view, const SourceModel& model) {
  std::vector<std::string> out;
  for (const uint32_t i : model.state_tensors) {
    const std::string& name = view.tensors[i].name;
    if (megatron::Classify(name) == megatron::KeyClass::kOptimizer && PlaneOf(name).empty()) out.push_back(name);
  }
  for (const uint32_t i : model.state_objects) {
    const std::string& name = view.objects[i].name;
    if (megatron::Classify(name) == megatron::KeyClass::kOptimizer) out.push_back(name);
  }
  return out;
}

// Every tensor of the plane has a model tensor of the same place and shape.
void CheckPlane(const SourceModel& plane, const SourceModel& model, const View& view, Findings& findings) {
  std::vector<std::string> different;
  if (plane.stacked != model.stacked || plane.layers.size() != model.layers.size()) {
    findings.push_back(ErrorFinding("retarget.optimizer_mismatch", Cat(plane.prefix, "*: ", plane.layers.size(), plane.stacked ? " stacked layers" : " layers", ", the model has ", model.layers.size(),
                                                                       model.stacked ? " stacked ones" : "")));
    return;
  }
  for (uint64_t i = 0; i < plane.layers.size(); ++i) {
    for (const auto& [rest, tensor] : plane.layers[i].tensors) {
      const auto at = model.layers[i].tensors.find(rest);
      if (at == model.layers[i].tensors.end() || at->second.shape != tensor.shape) different.push_back(Cat("layer ", i, ": ", rest));
    }
  }
  for (const auto& [index, key] : plane.tensors) {
    bool found = false;
    for (const auto& [model_index, model_key] : model.tensors) found = found || (model_key == key && view.tensors[model_index].shape == view.tensors[index].shape);
    if (!found) different.push_back(key);
  }
  if (different.empty()) return;
  findings.push_back(ErrorFinding("retarget.optimizer_mismatch", Cat(plane.prefix, "*: ", different.size(), " tensors are those of no model tensor, or of another shape: ", SomeNames(different))));
}

}  // namespace

std::vector<SourceModel> ReadOptimizerPlanes(const View& view, const SourceModel& model, const megatron::CommonDocument& common, Findings& findings) {
  const std::vector<std::string> outside = EntriesOutsidePlanes(view, model);
  if (!outside.empty()) {
    findings.push_back(ErrorFinding("retarget.optimizer_format", Cat(outside.size(), " entries of the optimizer state are in buckets of its own, not under the model's keys: ", SomeNames(outside), "; ", kAdvice)));
    return {};
  }
  std::vector<SourceModel> out;
  for (const std::string_view plane : kPlanes) {
    bool present = false;
    for (const uint32_t i : model.state_tensors) present = present || StartsWith(view.tensors[i].name, plane);
    if (!present) continue;
    const size_t before = findings.size();
    SourceModel read = ReadPlane(view, std::string(plane), model.layers.size(), findings);
    if (findings.size() == before) CheckPlane(read, model, view, findings);
    out.push_back(std::move(read));
  }
  if (out.empty() && findings.empty()) {
    const bool in_common = common.graph.Find(common.root, "optimizer") != pickle::kNoRef;
    findings.push_back(ErrorFinding("retarget.no_optimizer", Cat("the checkpoint has no optimizer state to carry over", in_common ? " beside the param_groups of its common state" : "")));
  }
  return out;
}

}  // namespace ck::transform
