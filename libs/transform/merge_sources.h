// Which checkpoint gives a merge's result what is not averaged: the common state and the extra states.
#ifndef CK_TRANSFORM_MERGE_SOURCES_H_
#define CK_TRANSFORM_MERGE_SOURCES_H_

#include <cstdint>
#include <optional>

#include "libs/checkpoint/checkpoint.h"
#include "libs/plan/plan.h"
#include "libs/transform/merge.h"

namespace ck::transform {

// Indices into the inputs, followed by the explicit checkpoint where there is one.
struct MergeSources {
  uint32_t common = 0;
  uint32_t extra_state = 0;
};

// The explicit checkpoint for both; else the inputs that the step names. Common state by default: the first input whose recorded iteration is the
// output's, else input 0.
MergeSources ChooseSources(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs);

// What the common state says, in the form that the format has; nullopt when it says nothing or cannot be read.
std::optional<int64_t> RecordedIteration(const checkpoint::Checkpoint& source);

// False for a checkpoint of model shards only. Errors: those of checkpoint::ReadCommonState.
bool HasCommonState(const checkpoint::Checkpoint& source);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_MERGE_SOURCES_H_
