#include "libs/transform/merge_sources.h"

#include <algorithm>
#include <string>

#include "libs/base/error.h"
#include "libs/checkpoint/common_state.h"
#include "libs/transform/loose_common.h"
#include "libs/transform/merge_rules.h"

namespace ck::transform {
namespace {

using checkpoint::Checkpoint;

// The directory's name stands in for a record that is not there.
bool IsOfIteration(const Checkpoint& input, int64_t wanted) {
  if (const auto recorded = RecordedIteration(input)) return *recorded == wanted;
  const auto& number = input.iteration().number;
  return number && *number == static_cast<uint64_t>(wanted);
}

uint32_t ChooseCommon(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs) {
  if (const uint64_t* index = std::get_if<uint64_t>(&step.common_from)) return static_cast<uint32_t>(*index);
  const int64_t* wanted = std::get_if<int64_t>(&plan.target);
  for (uint32_t i = 0; wanted && i < inputs.checkpoints.size(); ++i) {
    if (IsOfIteration(*inputs.checkpoints[i], *wanted)) return i;
  }
  return 0;
}

}  // namespace

MergeSources ChooseSources(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs) {
  const auto count = static_cast<uint32_t>(inputs.checkpoints.size());
  if (inputs.common) return {.common = count, .extra_state = count};
  return {.common = ChooseCommon(plan, step, inputs), .extra_state = static_cast<uint32_t>(step.extra_state_from)};
}

std::optional<int64_t> RecordedIteration(const Checkpoint& source) {
  try {
    return source.format() == checkpoint::Format::kTorchDist ? checkpoint::ReadCommonState(source).iteration() : LooseIteration(source);
  } catch (const Error&) {
    return std::nullopt;  // the checks of a merge read it again and say why
  }
}

bool HasCommonState(const Checkpoint& source) {
  if (source.format() == checkpoint::Format::kTorchDist) return checkpoint::ReadCommonState(source).form != checkpoint::CommonForm::kNone;
  return std::any_of(source.objects().begin(), source.objects().end(),
                     [&](const dcp::Object& object) { return RoleOf(source.format(), object) == ObjectRole::kCommon; });
}

}  // namespace ck::transform
