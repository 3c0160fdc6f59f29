// The protocol, and what a crash leaves behind at each step. "Hidden" names are those of hidden_name.h; they are ignored by every reader of
// checkpoints, and removed by the next run with the same output (steps 3, 8) or by Gc once their owner is gone.
//
//   Begin    1. make missing parents                     empty directories
//            2. claim the final name (claim.cc)          + a hidden claim. Whoever loses stops here, having changed nothing
//            3. sweep what dead runs left                the same
//            4. look again: is the final name free?      the same. (The last owner may have published between our first look and 2.)
//            5. mkdir the hidden staging directory       + an empty hidden directory
//   caller   6. write, fsync and close every file        + hidden files, complete or not
//   Commit   7. fsync every directory below it           the same
//            8. re-read and compare with the plan        the same, now known to be right
//            9. check that the claim still stands        the same
//           10. rename it to the final name, which must  the final name, complete. Before the rename it was absent. The rename may not
//               not exist                                be on disk yet; a power cut may undo it, never half of it, since 6 and 7
//           11. fsync the parent, and those of step 1    the final name, complete and durable; the marker names what it named before
//           12. claim, write, fsync and rename the       the marker is old or new, never mixed, and both are complete checkpoints;
//               marker, fsync its directory (marker.cc)  maybe a hidden file
//           13. release the claim                        a hidden claim of a dead owner
//
// An error or a stop request in 2 to 9 undoes 5, 2 and 1, in this order: the claim outlives what it covers. An error in 11 or 12 is reported,
// but the checkpoint stays: it is complete, and someone may be reading it.
#include "libs/run/publish.h"

#include <optional>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/run/claim.h"
#include "libs/run/hidden_name.h"
#include "libs/run/signals.h"

namespace ck::run {
namespace {

// Another run that fails may remove an empty parent that it made, just before we use it. Each attempt needs another such run.
constexpr int kParentAttempts = 20;

std::string Parent(const Placement& placement) { return fs::DirName(placement.final_path); }
std::string Name(const Placement& placement) { return fs::BaseName(placement.final_path); }

std::optional<HiddenName> ParseStaged(const std::string& path) {
  auto hidden = ParseHiddenName(fs::BaseName(path));
  if (hidden && hidden->kind != HiddenName::Kind::kStaged) hidden.reset();
  return hidden;
}

[[noreturn]] void ThrowTargetExists(const Placement& placement) {
  throw PreconditionError("publish.target_exists",
                          Cat("output ", Quote(placement.final_path, 4096), " exists; nothing is ever written into or over it"));
}

}  // namespace

Staging::Staging(Placement placement, const PublishOptions& options) : placement_(std::move(placement)), options_(options) {}

Staging::~Staging() { Abort(); }

std::unique_ptr<Staging> Staging::Begin(const Placement& placement, const PublishOptions& options) {
  std::unique_ptr<Staging> staging(new Staging(placement, options));
  staging->open_ = true;
  staging->ClaimTarget();
  const std::string path = fs::JoinPath(
      Parent(placement), FormatHiddenName({Name(placement), HiddenName::Kind::kStaging, staging->claim_->id()}));
  fs::MakeDirectory(path);
  staging->directory_ = path;
  return staging;
}

std::unique_ptr<Staging> Staging::Adopt(const std::string& staged_directory, const Placement& placement, const PublishOptions& options) {
  StagedFor(staged_directory);
  const std::string path = fs::AbsolutePath(staged_directory);
  const auto info = fs::Stat(path);
  if (!info || info->type != fs::FileType::kDirectory) {
    throw InputError("publish.not_staged", Cat("staged checkpoint ", Quote(path, 4096), ": no directory is there"));
  }
  std::unique_ptr<Staging> staging(new Staging(placement, options));
  staging->open_ = true;
  staging->adopted_ = true;
  staging->ClaimTarget();
  staging->directory_ = path;
  return staging;
}

// Steps 1 to 4.
void Staging::ClaimTarget() {
  for (int attempt = 1;; ++attempt) {
    try {
      for (std::string& made : fs::MakeDirectories(Parent(placement_))) made_parents_.push_back(std::move(made));
      claim_ = Claim::Take(Parent(placement_), Name(placement_));
      break;
    } catch (const Error& error) {
      if (attempt == kParentAttempts || error.id() != "fs.mkdir_failed") throw;
    }
  }
  if (std::string left = claim_->TrySweep(); !left.empty()) warnings_.push_back(std::move(left));
  if (fs::NameTaken(placement_.final_path)) ThrowTargetExists(placement_);
}

std::string Staging::PathFor(std::string_view relative) {
  const auto parts = Split(relative, '/');
  for (const std::string& part : parts) {
    if (!fs::IsPlainName(part)) {
      throw InputError("publish.unsafe_name", Cat("file name ", Quote(relative), " for the output is not a plain relative path"));
    }
  }
  const std::string path = fs::JoinPath(directory_, relative);
  if (parts.size() > 1) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fs::MakeDirectories(fs::DirName(path));
  }
  return path;
}

// Step 7. An adopted directory may have been staged without sync, so its files are synced, too.
void Staging::SyncTree() const {
  std::vector<std::string> pending = {directory_};
  while (!pending.empty()) {
    const std::string directory = std::move(pending.back());
    pending.pop_back();
    for (const fs::Name& entry : fs::ListNames(directory)) {
      const std::string path = fs::JoinPath(directory, entry.name);
      if (entry.is_directory) {
        pending.push_back(path);
      } else if (adopted_) {
        fs::SyncFile(path);
      }
    }
    fs::SyncDirectory(directory);
  }
}

// Step 11.
void Staging::SyncParents() const {
  if (options_.durability == fs::Durability::kNoSync) return;
  fs::SyncDirectory(Parent(placement_));
  for (const std::string& made : made_parents_) fs::SyncDirectory(fs::DirName(made));
}

// Steps 7 to 9.
void Staging::Check(const Verify& verify) {
  ck::Check(open_ && !directory_.empty(), "a staging directory is finished once");
  ThrowIfStopped();
  if (options_.durability == fs::Durability::kSync) SyncTree();
  verify(directory_);
  ThrowIfStopped();
  claim_->CheckHeld();
}

Published Staging::Commit(const Verify& verify) {
  Check(verify);
  try {
    fs::RenameNoReplace(directory_, placement_.final_path);
  } catch (const Error& error) {
    if (error.id() == "fs.exists") ThrowTargetExists(placement_);
    throw;
  }
  open_ = false;
  return AfterRename();
}

// Steps 11 to 13.
Published Staging::AfterRename() {
  const std::string published_but = Cat(Quote(placement_.final_path, 4096), " is published and complete, but ");
  Published published{placement_.final_path, {}, warnings_};
  try {
    SyncParents();
  } catch (const Error& error) {
    throw EnvironmentError("publish.not_synced", Cat(published_but, "might not survive a power failure: ", error.message()));
  }
  try {
    published.marker = UpdateMarker(placement_, options_.marker, options_.durability);
  } catch (const Error& error) {
    throw error.At(Cat(published_but, "its marker is not updated"));
  }
  if (!claim_->Release()) {
    published.warnings.push_back(Cat("a claim on ", Quote(placement_.final_path, 4096), " could not be removed; ck-publish --gc removes it"));
  }
  return published;
}

std::string Staging::Keep(const Verify& verify) {
  Check(verify);
  if (adopted_) {
    open_ = false;
    return directory_;
  }
  const std::string staged =
      fs::JoinPath(Parent(placement_), FormatHiddenName({Name(placement_), HiddenName::Kind::kStaged, claim_->id()}));
  fs::RenameNoReplace(directory_, staged);
  open_ = false;
  SyncParents();
  claim_->Release();
  return staged;
}

std::string Staging::Abort() noexcept {
  if (!std::exchange(open_, false)) return "";
  std::string left;
  // Twice: one transient failure must not leave terabytes behind.
  for (int attempt = 0; attempt < 2 && !adopted_ && !directory_.empty(); ++attempt) {
    try {
      fs::RemoveTree(directory_);
      left.clear();
      break;
    } catch (const std::exception& error) {
      left = Cat(Quote(directory_, 4096), " is left behind: ", error.what());
    }
  }
  if (claim_ != nullptr) claim_->Release();
  RemoveMadeParents();
  return left;
}

void Staging::RemoveMadeParents() noexcept {
  for (; !made_parents_.empty(); made_parents_.pop_back()) {
    try {
      if (!fs::RemoveEmptyDirectory(made_parents_.back())) return;  // others use it already
    } catch (const std::exception&) {
      return;  // an empty directory harms nobody
    }
  }
}

std::string StagedFor(const std::string& staged_directory) {
  const std::string path = fs::AbsolutePath(staged_directory);
  const auto hidden = ParseStaged(path);
  if (!hidden) {
    throw InputError("publish.not_staged", Cat("staged checkpoint ", Quote(path, 4096), ": expected a name like '.NAME.ck-staged-ID', as --stage-only printed"));
  }
  return fs::JoinPath(fs::DirName(path), hidden->name);
}

}  // namespace ck::run
