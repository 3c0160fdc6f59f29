// Publishing: an output directory is written under a hidden name and appears under its final name in one step, complete or not at all.
//
//   Placement placement = Place(out, iteration, Markers::kAllowed);      // placement.h
//   CheckTarget(placement, inputs);
//   CheckSpace(placement, bytes);
//   auto staging = Staging::Begin(placement, options);                    // claims the name, or publish.claimed
//   ... fs::OutputFile::Create(staging->PathFor("__0_0.distcp")) ...      // every file: Sync (when options say so) and Close
//   Published done = staging->Commit(verify);                             // or Keep(verify): checked, but not published
//
// At every instant, for every crash, the final name is absent or complete and the marker names something complete. An exception or the
// end of the Staging before Commit removes what was staged. What SIGKILL leaves is removed by the next run with the same output, or by Gc.
//
// Threads. PathFor may be called from several threads; everything else from one.
// Errors.  publish.claimed, publish.target_exists, publish.not_staged, publish.not_synced, publish.unsafe_name, publish.claim_lost, run.interrupted;
//          those of marker.h and libs/fs/write.h; whatever `verify` throws.
// Source.  docs/manual/publication.md.
#ifndef CK_RUN_PUBLISH_H_
#define CK_RUN_PUBLISH_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "libs/fs/write.h"
#include "libs/run/marker.h"
#include "libs/run/placement.h"

namespace ck::run {

class Claim;

struct PublishOptions {
  fs::Durability durability = fs::Durability::kSync;
  MarkerPolicy marker = MarkerPolicy::kNeverLower;
};

struct Published {
  std::string path;
  MarkerChange marker;
  std::vector<std::string> warnings;  // one line each, beside the marker's; they leave the exit code 0
};

// Re-reads what was written in the directory it is given, and throws when that is not what the plan says.
using Verify = std::function<void(const std::string& directory)>;

class Staging {
 public:
  // Makes missing parents, claims the final name, removes what dead runs with the same output left, and makes the staging directory.
  static std::unique_ptr<Staging> Begin(const Placement& placement, const PublishOptions& options);
  // Continues with a directory that Keep returned: claims the final name. Until Commit succeeds the staged directory stays as it is.
  // The final name need not be the one it was staged for, but must be on the same file system.
  static std::unique_ptr<Staging> Adopt(const std::string& staged_directory, const Placement& placement, const PublishOptions& options);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  const std::string& directory() const { return directory_; }
  // Directories above the output that did not exist before, outermost first.
  const std::vector<std::string>& made_parents() const { return made_parents_; }

  // Where to write the file `relative` ("a.distcp", "tokenizer/vocab.json"). Directories in it are made. A name that could leave the staging
  // directory is publish.unsafe_name.
  std::string PathFor(std::string_view relative);

  // Syncs the directories, runs `verify`, publishes, updates the marker. A stop request (signals.h) is honoured until the directory is
  // published, then no more. When it throws publish.not_synced or an error about the marker, the checkpoint is published and complete.
  Published Commit(const Verify& verify);
  // The same up to `verify`, then keeps the directory as `.NAME.ck-staged-ID` and returns its path.
  std::string Keep(const Verify& verify);

  // Removes what was staged and the parents made for it. Returns "" or one line about what could not be removed. Nothing after Commit or Keep.
  std::string Abort() noexcept;

 private:
  Staging(Placement placement, const PublishOptions& options);
  void ClaimTarget();
  void Check(const Verify& verify);
  void SyncTree() const;
  void SyncParents() const;
  Published AfterRename();
  void RemoveMadeParents() noexcept;

  Placement placement_;
  PublishOptions options_;
  std::vector<std::string> made_parents_;
  std::unique_ptr<Claim> claim_;
  std::vector<std::string> warnings_;
  std::string directory_;
  bool adopted_ = false;
  bool open_ = false;  // there is something to abort
  std::mutex mutex_;   // guards the making of directories in PathFor
};

// The final path for which a directory was staged: ".NAME.ck-staged-ID" gives NAME beside it. publish.not_staged for any other name.
std::string StagedFor(const std::string& staged_directory);

}  // namespace ck::run

#endif  // CK_RUN_PUBLISH_H_
