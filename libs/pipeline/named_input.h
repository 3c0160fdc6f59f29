// An input that a command line names: a checkpoint, or a root that a marker resolves.
#ifndef CK_PIPELINE_NAMED_INPUT_H_
#define CK_PIPELINE_NAMED_INPUT_H_

#include <string>

#include "libs/checkpoint/discover.h"
#include "libs/plan/plan.h"

namespace ck::pipeline {

struct NamedInput {
  plan::Input input;           // without a weight
  bool through_root = false;   // a root was given
  std::string note;            // for people; "" when there is nothing to say
};

// Errors: those of checkpoint::Resolve and of opening (only a directory without metadata.json is opened, to tell its format).
NamedInput ResolveInput(const std::string& path);

// The plan's input for one checkpoint that was found.
plan::Input InputFor(const std::string& path, const checkpoint::Iteration& iteration);

}  // namespace ck::pipeline

#endif  // CK_PIPELINE_NAMED_INPUT_H_
