// Carries a plan out: opens, checks, lays out, stages, fills, verifies, publishes. The one way from a plan to files, whichever tool asks.
//
// Errors.  Those of libs/plan, libs/pipeline, libs/run/placement.h and publish.h; run.verify_failed (kEnvironment); run.interrupted; merge.* through the findings:
//          one finding is thrown as itself, several as pipeline.checks_failed after each was given to Observer::finding.
#ifndef CK_RUN_CARRY_OUT_H_
#define CK_RUN_CARRY_OUT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/fs/write.h"
#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/run/marker.h"

namespace ck::run {

enum class IfSame { kFail, kSkip };        // a target made from the same plan: an error, or done already
enum class StageOnly { kNo, kYes };        // stop before the rename and keep the staged directory
enum class SpaceCheck { kYes, kNo };

struct CarryOutOptions {
  std::string output;
  unsigned threads = 1;
  fs::Durability durability = fs::Durability::kSync;
  MarkerPolicy marker = MarkerPolicy::kNeverLower;
  IfSame if_same = IfSame::kFail;
  StageOnly stage_only = StageOnly::kNo;
  SpaceCheck space = SpaceCheck::kYes;
};

// What the caller hears on the way. Every member may be empty.
struct Observer {
  std::function<void(const plan::Finding&)> finding;
  // Called once before the first data byte, with the bytes of output data to come. Returns what is told of each part written, from any thread.
  std::function<std::function<void(uint64_t bytes)>(uint64_t total_bytes)> begin;
};

struct Outcome {
  plan::Result result;
  bool skipped = false;                // the target was there, made from the same plan
  bool staged = false;                 // result.output is the staged directory
  std::vector<std::string> warnings;   // one line each, without id
  std::vector<std::string> notes;
  uint64_t planned_tensor_bytes = 0;   // of the result's tensor data
  uint64_t planned_chunks = 0;         // that it is stored in
  std::vector<double> load_seconds;    // per input of the plan, summed over threads
  std::string marker_warning;          // why the marker was left alone; empty when it was not
};

Outcome CarryOut(const plan::Plan& plan, const CarryOutOptions& options, const Observer& observer);

// What CarryOut would do, for --dry-run. Everything is checked; nothing is written.
struct DryRunReport {
  std::string output;        // the final path
  std::string marker;        // path of the marker, "" for none
  uint64_t files = 0;
  uint64_t bytes_to_read = 0;
  uint64_t bytes_to_write = 0;
  uint64_t peak_memory_bytes = 0;  // of buffers; metadata comes on top
  uint64_t free_bytes = 0;
  std::vector<std::string> file_lines;  // "NAME BYTES"
  std::vector<plan::LeftOut> left_out;
  std::vector<std::string> notes;
};

DryRunReport DryRun(const plan::Plan& plan, const CarryOutOptions& options, const Observer& observer);

}  // namespace ck::run

#endif  // CK_RUN_CARRY_OUT_H_
