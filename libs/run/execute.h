// The engine: fills the files of a layout from the inputs of a view, with threads that share tiles.
//
// Files are preallocated and written in any order. The bytes are a function of the view and the layout, never of the threads.
// Memory: threads x (inputs + 2) x kTileBytes, the located chunks of the items in flight, and four bytes per tile of those (their CRCs).
#ifndef CK_RUN_EXECUTE_H_
#define CK_RUN_EXECUTE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libs/fs/write.h"
#include "libs/run/layout.h"
#include "libs/transform/view.h"

namespace ck::run {

// Bytes of result data in one unit of work: small enough that (inputs + 2) of them stay in a core's cache.
inline constexpr uint64_t kTileBytes = uint64_t{256} << 10;

struct ExecuteOptions {
  unsigned threads = 1;
  fs::Durability durability = fs::Durability::kSync;
  uint64_t tile_bytes = kTileBytes;
  // Asked between tiles; when true the engine stops with Error(kEnvironment, "run.interrupted") and the caller cleans up (a signal came).
  std::function<bool()> stop_requested;
  // Told the bytes of output data as they are written, from any thread; for progress. May be empty.
  std::function<void(uint64_t bytes)> progress;
};

// Seconds summed over threads: the engine has no phases.
struct ExecuteStatistics {
  double load_seconds = 0;
  std::vector<double> load_seconds_of_input;  // one per input of the view
  double accumulation_seconds = 0;
  double save_seconds = 0;
  uint64_t inexact_additions = 0;  // elements that taking Tensor::added away again would not restore
};

// Writes the data files (not the small files) into `directory`, synced and closed.
ExecuteStatistics Execute(const transform::View& view, const Layout& layout, const std::string& directory, const ExecuteOptions& options);

}  // namespace ck::run

#endif  // CK_RUN_EXECUTE_H_
