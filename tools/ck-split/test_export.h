// `test`, the other first word of verl's merger: is the export of a checkpoint what a Hugging Face directory holds?
#ifndef CK_TOOLS_CK_SPLIT_TEST_EXPORT_H_
#define CK_TOOLS_CK_SPLIT_TEST_EXPORT_H_

#include <string>

#include "libs/cli/run_main.h"
#include "libs/plan/plan.h"

namespace ck::split {

// Compares the tensors that the plan would write with those of `reference`, by their bits, without writing them. Prints the report; 1 when they differ.
int TestExport(cli::Context& context, const plan::Plan& plan, const std::string& reference);

}  // namespace ck::split

#endif  // CK_TOOLS_CK_SPLIT_TEST_EXPORT_H_
