#include "libs/run/carry_out.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/pipeline/pipeline.h"
#include "libs/pipeline/source_checks.h"
#include "libs/run/count_files.h"
#include "libs/run/execute.h"
#include "libs/run/identical.h"
#include "libs/run/index_file.h"
#include "libs/run/layout.h"
#include "libs/run/placement.h"
#include "libs/run/plan_layout.h"
#include "libs/run/process_limits.h"
#include "libs/run/publish.h"
#include "libs/run/signals.h"
#include "libs/run/verify.h"

namespace ck::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kCopyBytes = uint64_t{1} << 20;  // one step of copying a sidecar

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

uint64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

void ThrowFindings(const std::vector<plan::Finding>& findings, const Observer& observer) {
  if (findings.empty()) return;
  if (findings.size() == 1) throw InputError(findings[0].id, findings[0].message);
  for (const plan::Finding& finding : findings) {
    if (observer.finding) observer.finding(finding);
  }
  throw InputError("pipeline.checks_failed", observer.finding ? Cat(findings.size(), " checks failed; nothing was written")
                                                              : Cat(findings.size(), " checks failed, the first: ", findings[0].message));
}

// Everything that is known before the first byte is written.
struct Prepared {
  Placement placement;
  transform::View view;
  Layout layout;
};

std::vector<std::string> InputPaths(const transform::View& view) {
  std::vector<std::string> paths;
  for (const auto& input : view.inputs) paths.push_back(input->path());
  return paths;
}

Prepared Prepare(const plan::Plan& plan, const CarryOutOptions& options, const Observer& observer) {
  RaiseOpenFileLimit();
  plan::CheckRunnable(plan);
  Prepared out;
  out.placement = Place(options.output, plan.target, MarkersOf(plan));
  const transform::MergeInputs inputs = pipeline::OpenInputs(plan);
  ThrowFindings(pipeline::CheckSteps(plan, inputs), observer);
  out.view = pipeline::BuildView(plan, inputs, Producer());
  for (const plan::Finding& warning : out.view.warnings) {
    if (observer.finding) observer.finding(warning);
  }
  CheckTarget(out.placement, InputPaths(out.view));
  ThrowFindings(pipeline::CheckSourceFiles(out.view), observer);
  out.layout = LayOutPlan(plan, out.view);
  return out;
}

void CopySidecar(const transform::SidecarFile& sidecar, const std::string& path, fs::Durability durability) {
  const auto source = fs::InputFile::Open(sidecar.source_path);
  const auto target = fs::OutputFile::Create(path);
  std::string buffer;
  for (uint64_t done = 0; done < source->size();) {
    ThrowIfStopped();
    const uint64_t step = std::min(kCopyBytes, source->size() - done);
    buffer.resize(step);
    source->ReadInto(done, step, buffer.data());
    target->WriteAt(done, buffer);
    done += step;
  }
  if (durability == fs::Durability::kSync) target->Sync();
  target->Close();
}

void WriteSmallFiles(const Prepared& prepared, Staging& staging, fs::Durability durability) {
  for (const transform::SidecarFile& sidecar : prepared.view.sidecars) CopySidecar(sidecar, staging.PathFor(sidecar.name), durability);
  if (prepared.layout.index) {
    const SmallFile index = IndexOfWritten(prepared.layout, staging.directory());
    fs::WriteSmallFile(staging.PathFor(index.name), index.content, durability);
  }
  for (const SmallFile& file : prepared.layout.small_files) fs::WriteSmallFile(staging.PathFor(file.name), file.content, durability);
}

std::vector<plan::LeftOut> LeftOutOf(const transform::View& view) {
  std::vector<plan::LeftOut> out;
  for (const transform::LeftOut& left : view.left_out) out.push_back({.rule = left.rule, .count = left.count, .bytes = left.bytes});
  return out;
}

// What the result is placed under: nothing for a format without iterations, whatever its source's was.
plan::TargetIteration IterationOf(const plan::Plan& plan) {
  return MarkersOf(plan) == Markers::kAllowed ? plan.target : plan::TargetIteration();
}

plan::Result ResultOf(const plan::Plan& plan, const Prepared& prepared) {
  plan::Result out;
  out.output = prepared.placement.final_path;
  out.iteration = IterationOf(plan);
  out.format = prepared.view.format;
  out.files = prepared.layout.files.size() + prepared.layout.small_files.size() + (prepared.layout.index ? 1 : 0) + prepared.view.sidecars.size();
  out.averaged_tensors = prepared.view.averaged_tensors;
  out.copied_extra_states = prepared.view.copied_extra_states;
  out.left_out = LeftOutOf(prepared.view);
  return out;
}

// A target that the same plan made: only the marker may still be owed.
std::optional<Outcome> SkipSame(const plan::Plan& plan, const CarryOutOptions& options) {
  if (options.if_same != IfSame::kSkip) return std::nullopt;
  const Placement placement = Place(options.output, plan.target, MarkersOf(plan));
  if (!MadeFromSamePlan(placement, RecordedPlan(plan))) return std::nullopt;
  Outcome out;
  out.skipped = true;
  out.result.output = placement.final_path;
  out.result.iteration = IterationOf(plan);
  out.result.format = checkpoint::Checkpoint::Open(placement.final_path)->format();
  out.result.files = CountFiles(placement.final_path);
  out.marker_warning = UpdateMarker(placement, options.marker, options.durability).warning;
  return out;
}

uint64_t BytesToRead(const transform::View& view) {
  uint64_t total = 0;
  for (const transform::Tensor& tensor : view.tensors) {
    for (const transform::Piece& piece : tensor.pieces) {
      const transform::Leaf& leaf = view.leaves[piece.leaf];
      if (leaf.arithmetic == transform::Arithmetic::kFill) continue;
      const uint64_t reads = leaf.arithmetic == transform::Arithmetic::kWeightedSum ? leaf.terms.size() : 1;
      total += Volume(piece.target.shape).value_or(0) * ElementSize(leaf.dtype) * reads;
    }
  }
  return total;
}

size_t MostTerms(const transform::View& view) {
  size_t most = 1;
  for (const transform::Leaf& leaf : view.leaves) most = std::max(most, leaf.terms.size());
  return most;
}

std::string ExistingParent(std::string path) {
  while (!fs::Stat(path) && path != "/") path = fs::DirName(path);
  return path;
}

}  // namespace

Outcome CarryOut(const plan::Plan& plan, const CarryOutOptions& options, const Observer& observer) {
  const auto start = Clock::now();
  if (auto skipped = SkipSame(plan, options)) return std::move(*skipped);
  const Prepared prepared = Prepare(plan, options, observer);
  if (options.space == SpaceCheck::kYes) CheckSpace(prepared.placement, prepared.layout.total_bytes);
  CheckIdentical(prepared.view);
  Outcome out;
  out.result = ResultOf(plan, prepared);
  out.planned_tensor_bytes = transform::DataBytes(prepared.view);
  for (const transform::Tensor& tensor : prepared.view.tensors) out.planned_chunks += tensor.chunks.size();
  out.result.seconds.discovery = SecondsSince(start);
  const auto staging = Staging::Begin(prepared.placement, {.durability = options.durability, .marker = options.marker});
  const ExecuteOptions execute{.threads = options.threads,
                               .durability = options.durability,
                               .tile_bytes = kTileBytes,
                               .stop_requested = StopRequested,
                               .progress = observer.begin ? observer.begin(transform::DataBytes(prepared.view)) : nullptr};
  const ExecuteStatistics statistics = Execute(prepared.view, prepared.layout, staging->directory(), execute);
  const auto saving = Clock::now();
  WriteSmallFiles(prepared, *staging, options.durability);
  out.result.bytes_read = fs::BytesRead();  // reading back what was written does not count
  const Verify verify = [&](const std::string& directory) { VerifyWritten(prepared.view, prepared.layout, directory); };
  if (options.stage_only == StageOnly::kYes) {
    out.staged = true;
    out.result.output = staging->Keep(verify);
  } else {
    Published published = staging->Commit(verify);
    out.marker_warning = published.marker.warning;
    out.warnings = std::move(published.warnings);
  }
  out.result.bytes_written = fs::BytesWritten();
  out.result.seconds.load = statistics.load_seconds;
  out.load_seconds.assign(statistics.load_seconds_of_input.begin(), statistics.load_seconds_of_input.begin() + static_cast<ptrdiff_t>(plan.inputs.size()));
  out.result.seconds.accumulation = statistics.accumulation_seconds;
  out.result.seconds.save = statistics.save_seconds + SecondsSince(saving);
  out.result.seconds.total = SecondsSince(start);
  out.result.peak_memory_bytes = {PeakMemoryBytes()};
  out.notes = prepared.view.notes;
  if (statistics.inexact_additions > 0) {
    out.warnings.push_back(Cat(statistics.inexact_additions, " elements of norms to which 1 was added, or from which it was taken, had to be rounded: the way back would not restore them"));
  }
  return out;
}

DryRunReport DryRun(const plan::Plan& plan, const CarryOutOptions& options, const Observer& observer) {
  const Prepared prepared = Prepare(plan, options, observer);
  DryRunReport out;
  out.output = prepared.placement.final_path;
  out.marker = prepared.placement.marker_path;
  out.bytes_to_read = BytesToRead(prepared.view);
  out.bytes_to_write = prepared.layout.total_bytes;
  out.peak_memory_bytes = options.threads * (MostTerms(prepared.view) + 2) * kTileBytes;
  out.free_bytes = fs::FreeSpace(ExistingParent(prepared.placement.final_path));
  for (const OutputFile& file : prepared.layout.files) out.file_lines.push_back(Cat(file.name, " ", file.size_bytes));
  for (const SmallFile& file : prepared.layout.small_files) out.file_lines.push_back(Cat(file.name, " ", file.content.size()));
  if (prepared.layout.index) out.file_lines.push_back(Cat(prepared.layout.index->name, " ", prepared.layout.index->content.size()));
  for (const transform::SidecarFile& file : prepared.view.sidecars) out.file_lines.push_back(Cat(file.name, " ", file.bytes));
  out.files = out.file_lines.size();
  out.left_out = LeftOutOf(prepared.view);
  out.notes = prepared.view.notes;
  return out;
}

}  // namespace ck::run
