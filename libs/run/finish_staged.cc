#include "libs/run/finish_staged.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/fs/read.h"
#include "libs/plan/plan.h"
#include "libs/run/count_files.h"
#include "libs/run/placement.h"
#include "libs/run/publish.h"
#include "libs/run/verify.h"

namespace ck::run {
namespace {

constexpr uint64_t kMaxPlanBytes = uint64_t{64} << 20;  // as for a plan on stdin

plan::Plan ReadPlanBeside(const std::string& directory) {
  const std::string path = fs::JoinPath(directory, kPlanFile);
  try {
    return plan::Decode(fs::ReadSmallFile(path, kMaxPlanBytes));
  } catch (const Error& error) {
    throw error.At(path);
  }
}

}  // namespace

Finished FinishStaged(const FinishOptions& options) {
  const std::string staged = fs::AbsolutePath(options.staged);
  const std::string output = options.output ? *options.output : StagedFor(staged);
  const plan::Plan plan = ReadPlanBeside(staged);
  const Placement placement = Place(output, plan.target, MarkersOf(plan));
  CheckTarget(placement, {});
  const auto staging = Staging::Adopt(staged, placement, {.durability = options.durability, .marker = options.marker});
  const Published published = staging->Commit(VerifyReadable);
  const auto checkpoint = checkpoint::Checkpoint::Open(published.path);
  Finished out;
  out.warnings = published.warnings;
  out.marker_warning = published.marker.warning;
  out.result.output = published.path;
  if (MarkersOf(plan) == Markers::kAllowed) out.result.iteration = plan.target;
  out.result.format = checkpoint->format();
  out.result.files = CountFiles(published.path);
  out.result.bytes_read = fs::BytesRead();
  out.result.bytes_written = fs::BytesWritten();
  return out;
}

}  // namespace ck::run
