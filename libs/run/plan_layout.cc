#include "libs/run/plan_layout.h"

#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/run/file_names.h"

namespace ck::run {
namespace {

constexpr char kProducer[] = "ck";

Layout LayOut(const plan::Plan& plan, const transform::View& view) {
  if (view.format != checkpoint::Format::kSafetensors) return LayOutDcp(view);
  SafetensorsLimits limits;
  if (const auto* split = plan::FindStep<plan::SplitStep>(plan)) limits.max_shard_size = split->max_shard_size;
  return LayOutSafetensors(view, limits);
}

}  // namespace

std::string Producer() { return Cat(kProducer, " ", kVersion); }

std::string RecordedPlan(plan::Plan plan) {
  plan.producer = {kProducer, std::string(kVersion)};
  return plan::Encode(plan);
}

Layout LayOutPlan(const plan::Plan& plan, const transform::View& view) {
  Layout out = LayOut(plan, view);
  // In front: metadata.json, which marks the directory complete, stays last.
  out.small_files.insert(out.small_files.begin(), {.name = kPlanFile, .content = RecordedPlan(plan)});
  out.total_bytes += out.small_files[0].content.size();
  for (const transform::SidecarFile& sidecar : view.sidecars) out.total_bytes += sidecar.bytes;
  return out;
}

}  // namespace ck::run
