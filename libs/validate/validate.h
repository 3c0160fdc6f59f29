// Checks checkpoints and plans without reading tensor data: metadata, names, sizes, item headers, byte objects, common state.
//
// Model.   Whatever is found is data: a plan::Report with findings of severity error or warning, each with a stable id (docs/manual/ck-validate.md
//          lists them). An error that stops the reading of one checkpoint (a damaged `.metadata`) is a finding with that error's id.
// Trust.   Input is hostile. At most kMaxFindingsPerId findings of one id and checkpoint are kept; the rest is counted.
// Errors.  Only what leaves the question open is thrown: a path that is not there or no directory (kInput: checkpoint.not_found, checkpoint.not_a_directory), whatever the environment
//          does not let us read (kEnvironment), pipeline.input_changed (kPrecondition), plan.no_inputs (kInput).
// Cost.    Near-linear in the number of chunks. One or two small reads per item.
// Source.  docs/manual/ck-validate.md, docs/formats/*.md
#ifndef CK_VALIDATE_VALIDATE_H_
#define CK_VALIDATE_VALIDATE_H_

#include <string>
#include <vector>

#include "libs/plan/documents.h"
#include "libs/plan/plan.h"

namespace ck::validate {

using plan::Finding;
using plan::Severity;

struct Options {
  unsigned threads = 1;  // that read item headers; the report does not depend on it
};

// Each directory is a checkpoint itself (not a root with a marker).
plan::Report CheckCheckpoints(const std::vector<std::string>& directories, const Options& options);

// The inputs of a plan, each by itself, and against each other when the plan has a merge step or several inputs. Without a merge step yet, what
// --weights-only or --copy-identical of the merge to come would settle is a warning.
plan::Report CheckPlan(const plan::Plan& plan, const Options& options);

}  // namespace ck::validate

#endif  // CK_VALIDATE_VALIDATE_H_
