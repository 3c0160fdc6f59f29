// Checks of what a view reads, from metadata and file sizes alone: before the first output byte, over all inputs.
#ifndef CK_PIPELINE_SOURCE_CHECKS_H_
#define CK_PIPELINE_SOURCE_CHECKS_H_

#include <vector>

#include "libs/plan/documents.h"
#include "libs/transform/view.h"

namespace ck::pipeline {

// Throws coverage.rank, coverage.out_of_range, coverage.overlap or coverage.hole (kInput) for the first tensor that the view reads and whose stored chunks do
// not tile it.
void CheckSourceCoverage(const transform::View& view);

// One finding for each data file that the view reads and that is missing (checkpoint.missing_file) or too short (checkpoint.short_file).
std::vector<plan::Finding> CheckSourceFiles(const transform::View& view);

}  // namespace ck::pipeline

#endif  // CK_PIPELINE_SOURCE_CHECKS_H_
