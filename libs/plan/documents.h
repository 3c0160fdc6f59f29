// The documents that the tools print beside the plan: listing, meta, coefficients, report, result. Plain structs and
// their JSON.
//
// Every member is always written, in the order of the schema; what is not known is null. Names, paths and texts that
// are not UTF-8 are written with their bad bytes as \xNN.
// Source.  docs/schemas/*.schema.json.
#ifndef CK_PLAN_DOCUMENTS_H_
#define CK_PLAN_DOCUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/json/value.h"
#include "libs/plan/plan.h"

namespace ck::plan {

// ---- ck.listing

enum class MarkerState {
  kCurrent,    // names the newest complete checkpoint
  kOlder,      // names a complete checkpoint, but a newer one exists
  kDangling,   // names no complete checkpoint
  kMalformed,  // neither a number nor "release"
};

enum class CheckpointState { kComplete, kIncomplete, kDamaged, kStaging };

std::string_view NameOf(MarkerState state);
std::string_view NameOf(CheckpointState state);

struct Marker {
  std::string value;  // as found in the file
  MarkerState state = MarkerState::kCurrent;
};

struct ListedCheckpoint {
  std::string path;
  std::optional<int64_t> iteration;
  std::optional<std::string> format;  // also formats that ck only names: "zarr", ...
  CheckpointState state = CheckpointState::kComplete;
  std::optional<std::string> reason;  // why it is not complete
  uint64_t bytes = 0;
};

struct Listing {
  std::string root;
  std::optional<Marker> marker;
  std::vector<ListedCheckpoint> checkpoints;
  std::vector<std::string> strays;  // paths of what looks like a part of a checkpoint and belongs to none
};

json::Value ToJson(const Listing& listing);

// ---- ck.meta

struct MetaChunk {
  std::vector<uint64_t> offset;
  std::vector<uint64_t> shape;
  std::optional<std::string> file;
};

struct MetaTensor {
  std::string name;
  std::string dtype;  // safetensors' name: BF16, F32, I64, ...
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  std::optional<std::vector<MetaChunk>> chunk_list = {};  // the member is left out when empty
};

struct MetaObject {
  std::string name;
  uint64_t bytes = 0;
  std::optional<std::string> file;
};

enum class CommonForm { kCommonPt, kEmbedded, kNone };
std::string_view NameOf(CommonForm form);

struct MetaFile {
  std::string name;
  std::optional<uint64_t> bytes;  // nullopt: the metadata refers to it, and it is missing
};

struct Totals {
  uint64_t tensors = 0;
  uint64_t elements = 0;
  uint64_t bytes = 0;
  uint64_t objects = 0;
};

struct Meta {
  std::optional<std::string> path;  // nullopt for the result of a plan
  std::string format;
  std::optional<int64_t> iteration;
  std::vector<MetaTensor> tensors;
  std::vector<MetaObject> objects;
  CommonForm common_form = CommonForm::kNone;
  json::Value common_state;
  std::vector<MetaFile> files;
  Totals totals;
};

json::Value ToJson(const Meta& meta);

// ---- ck.coefficients

struct CoefficientsDocument {
  std::string style;
  std::string seed = "0";
  std::vector<double> weights;
};

json::Value ToJson(const CoefficientsDocument& document);

// ---- ck.report

enum class Severity { kError, kWarning };
std::string_view NameOf(Severity severity);

// What a check found. Data, never an exception. `id` is stable, as an error's is.
struct Finding {
  std::string id;
  Severity severity = Severity::kError;
  std::string message;               // one line, complete without the members below
  std::optional<std::string> where;  // file, tensor, member
  std::optional<std::string> found;
  std::optional<std::string> expected;
  std::optional<std::string> source;  // where the expectation comes from
};

struct Checked {
  std::string what;  // "tensor data"
  bool looked_at = false;
  std::optional<std::string> note;  // "needs --deep"
};

struct Report {
  std::vector<Checked> checked;
  std::vector<Finding> findings;
};

// No finding of severity error: warnings leave a report clean.
bool IsClean(const Report& report);
json::Value ToJson(const Report& report);

// ---- ck.result

struct LeftOut {
  std::string rule;  // which rule left them out
  uint64_t count = 0;
  uint64_t bytes = 0;
};

struct Seconds {
  double discovery = 0;
  double load = 0;  // summed over threads, as are the next two
  double accumulation = 0;
  double save = 0;
  double total = 0;  // wall time
};

struct Result {
  std::string output;
  TargetIteration iteration;
  Format format = Format::kTorchDist;
  uint64_t files = 0;
  uint64_t averaged_tensors = 0;
  uint64_t copied_extra_states = 0;
  std::vector<LeftOut> left_out;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  Seconds seconds;
  std::vector<uint64_t> peak_memory_bytes;  // one per rank
};

json::Value ToJson(const Result& result);

}  // namespace ck::plan

#endif  // CK_PLAN_DOCUMENTS_H_
