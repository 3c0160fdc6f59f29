// Are two checkpoints the same model? Names, shapes, dtypes and values of their tensors, whatever formats and cuts they are stored in.
//
// Values.  Exact unless a tolerance is given: two elements are the same when their bits are. With tolerances they are also the same when
//          |a - b| <= atol + rtol * |b|, b being the reference's; infinities only when equal. Elements that are no numbers ck can read (complex, 8-bit and
//          4-bit floats) are always compared by their bits.
// Memory.  Two tiles per thread and the metadata; never a function of tensor sizes.
// Not compared: byte objects and common state (one format has them, another does not).
// Errors.  Differences are findings, never exceptions: compare.missing_tensor, compare.extra_tensor, compare.shape_differs, compare.dtype_differs,
//          compare.values_differ, compare.not_covered. Thrown: run.interrupted, those of reading, and compare.bad_tolerance (kUsage).
#ifndef CK_COMPARE_COMPARE_H_
#define CK_COMPARE_COMPARE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/checkpoint/checkpoint.h"
#include "libs/plan/documents.h"
#include "libs/transform/view.h"

namespace ck::compare {

enum class NanPolicy {
  kByBits,   // a NaN equals only the NaN of the same bits
  kAnyEqual  // every NaN equals every NaN
};

struct Options {
  double atol = 0;
  double rtol = 0;
  NanPolicy nan = NanPolicy::kByBits;
  unsigned threads = 1;
  uint64_t tile_bytes = uint64_t{256} << 10;
  std::function<bool()> stop_requested = {};          // asked between tiles; may be empty
  std::function<void(uint64_t bytes)> progress = {};  // told the bytes read of both, from any thread; may be empty
};

struct Comparison {
  std::vector<plan::Finding> findings;  // by name of the tensor; found: the checked one's, expected: the reference's
  uint64_t tensors = 0;                 // compared by value
  uint64_t elements = 0;
  uint64_t different_tensors = 0;       // of those
  uint64_t different_elements = 0;
};

// The findings do not depend on the number of threads. A dtype that differs is an error, and the values are not compared, when the comparison is exact; with a
// tolerance it is a warning.
Comparison Compare(const std::shared_ptr<const checkpoint::Checkpoint>& checked, const std::shared_ptr<const checkpoint::Checkpoint>& reference,
                   const Options& options);

// The same for a result that is not written: `name` says in findings what it is. Preconditions: the view is checked (transform::CheckView), and the stored
// chunks of what it reads tile their tensors (pipeline::CheckSourceCoverage).
Comparison Compare(transform::View checked, std::string name, const std::shared_ptr<const checkpoint::Checkpoint>& reference, const Options& options);

// The bytes that Compare reads of both, for progress.
uint64_t BytesToCompare(const checkpoint::Checkpoint& checked, const checkpoint::Checkpoint& reference);
uint64_t BytesToCompare(const transform::View& checked, const checkpoint::Checkpoint& reference);

// What was looked at, and the findings.
plan::Report ReportOf(Comparison comparison, const Options& options);

}  // namespace ck::compare

#endif  // CK_COMPARE_COMPARE_H_
