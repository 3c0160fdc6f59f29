// Finds checkpoints: what is under a root, what state it is in, and which one a path or a marker means.
//
// Roots.   A root is a directory with `iter_<digits>` or `release` directories and, usually, the marker
//          `latest_checkpointed_iteration.txt`. A directory is a checkpoint itself when it has metadata.json or
//          .metadata (also rank-local); or, when it is no root, when it is named like a checkpoint or holds
//          safetensors files, *.distcp, common.pt or mp_rank_*.
// State.   From names and metadata.json alone. Megatron writes metadata.json last, so where it is missing a directory
//          is incomplete when common.pt is there, or when complete siblings are torch_dist; else it is fsdp_dtensor
//          or plain DCP, which have none.
// Trust.   Names are compared, never built: `iter_12` is found as `iter_12`. At most kMaxMarkerBytes of a marker are
//          read.
// Errors.  checkpoint.not_found, checkpoint.not_a_directory, checkpoint.incomplete, checkpoint.unusable,
//          checkpoint.unsupported_format, checkpoint.duplicate_iteration, marker.dangling, marker.malformed (kInput),
//          and those of libs/fs for the root itself. A checkpoint that cannot be looked at is a state, not an error.
// Source.  docs/manual/ck-ls.md, docs/manual/publication.md (names of staging directories).
#ifndef CK_CHECKPOINT_DISCOVER_H_
#define CK_CHECKPOINT_DISCOVER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/error.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/iteration.h"

namespace ck::checkpoint {

inline constexpr std::string_view kMarkerFile = "latest_checkpointed_iteration.txt";
inline constexpr uint64_t kMaxMarkerBytes = 64;  // 19 digits, and some white space

enum class State {
  kComplete,
  kIncomplete,  // still being written, or the writer was interrupted; also one that vanished while we looked
  kDamaged,     // cannot be used as it is: files missing or short, unreadable, or a format that is not supported
  kStaging,     // a directory that ck writes into before it is published
};
std::string_view Name(State state);  // "complete", ...

// How closely ListRoot looks.
enum class Depth {
  kNames,  // names and metadata.json
  kSizes,  // also the size of each file
  kLong,   // also parses the metadata and compares it with the files
};

struct Found {
  std::string name = {};  // as found: iter_12 stays iter_12
  std::string path = {};
  Iteration iteration = {};
  // nullopt when it cannot be told. Below kLong kDcp stands for "no metadata.json": fsdp_dtensor or plain DCP;
  // ExactFormat decides.
  std::optional<Format> format = {};
  State state = State::kComplete;
  bool unsupported = false;              // damaged because of its format, which `reason` names
  std::string reason = {};               // why it is not complete; "" when it is
  uint64_t size_bytes = 0;               // of the files directly inside; 0 with Depth::kNames
  std::vector<std::string> strays = {};  // *.tmp; with kLong also data files that the metadata does not name

  bool complete() const { return state == State::kComplete; }
};

enum class MarkerState {
  kCurrent,    // names the newest complete checkpoint
  kOlder,      // names a complete checkpoint, but a newer one exists; `release` is older than every number, as Megatron
               // resumes it as iteration 0
  kDangling,   // names no complete checkpoint
  kMalformed,  // cannot be read, or is neither a number nor `release`
};

struct Marker {
  std::string value;                   // what the file says, without white space around it; at most 40 bytes
  std::optional<Iteration> iteration;  // nullopt when malformed
  MarkerState state = MarkerState::kMalformed;
  std::string problem;  // of a malformed one
};

struct Listing {
  std::string root = {};       // absolute and cleaned, links kept
  bool is_checkpoint = false;  // `root` is a checkpoint itself; it is the only entry then
  std::optional<Marker> marker = {};
  std::vector<Found> checkpoints = {};   // release, then by iteration and name; staging directories last
  std::vector<std::string> strays = {};  // names that look like a checkpoint's and are none: iter_100.bak
};

// What is at `path`, a root or a checkpoint. Throws when the path is no directory or cannot be listed; an empty listing
// is no error.
Listing ListRoot(const std::string& path, Depth depth);

// The format of a checkpoint, opening it when `found.format` alone does not say.
Format ExactFormat(const Found& found);

// The checkpoint that the marker names, or without a marker the newest complete one; `note` then says so. Throws
// marker.*, checkpoint.duplicate_iteration, checkpoint.incomplete or checkpoint.not_found. Precondition: not
// listing.is_checkpoint.
const Found& Latest(const Listing& listing, std::string& note);

// Throws checkpoint.duplicate_iteration when another entry has the same iteration as `found`.
void CheckUnique(const Listing& listing, const Found& found);

// checkpoint.incomplete, checkpoint.unsupported_format, or checkpoint.unusable for any other damage, with the reason.
Error NotUsable(const Found& found);

// Why nothing under a root can be used: checkpoint.not_found with what was looked for, or checkpoint.incomplete with
// what each one lacks. Precondition: no entry is complete.
Error NothingComplete(const Listing& listing);

struct Resolved {
  std::string path;           // of the checkpoint, under the name that was found
  Iteration iteration;        // of its name
  bool through_root = false;  // a root was given: the result of a plan goes under this iteration
  std::string note;           // for people, "" when there is nothing to say
};

// What a directory that is named itself must be. A root always resolves to a complete checkpoint.
enum class Require {
  kComplete,
  kAny,  // for tools that say what is wrong with it
};

Resolved Resolve(const std::string& path, Require require = Require::kComplete);

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_DISCOVER_H_
