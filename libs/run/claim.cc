// The claim on NAME is the directory `.NAME.ck-claim` with exactly one entry, an empty file whose name says who the owner is and what
// its id is. A directory with content cannot be replaced by rename, and a file can be renamed by one process only: that is all it needs.
//
//   Taking     1. mkdir `.NAME.ck-new-ID`               a crash leaves an empty directory: swept by the next owner of NAME
//              2. create the owner's entry in it        a crash leaves an entry of a dead owner: swept
//              3. rename it to `.NAME.ck-claim`         refused while a claim with an entry is there; a crash leaves a dead owner's claim
//   Over-      4. rename the dead owner's entry to ours: of several that try, one succeeds. A crash leaves our claim with a dead owner.
//   taking     5. remove what step 1 and 2 made
//   Releasing  6. remove the entry                      a crash leaves an empty claim, which step 3 of the next owner replaces
//              7. rmdir `.NAME.ck-claim`
//
// Everything an owner writes is named `.NAME.ck-ID` and exists only while its claim does. So whoever holds the claim knows that any other
// `.NAME.ck-*` (but a staged one, which has no owner) was left by a process that ended, and may remove it. It is renamed first: should its
// owner live after all (someone removed the claim by hand), that owner's publishing rename fails instead of publishing half a directory.
#include "libs/run/claim.h"

#include <optional>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/owner.h"
#include "libs/fs/read.h"
#include "libs/fs/write.h"
#include "libs/run/hidden_name.h"

namespace ck::run {
namespace {

// How often a claim that changes under our eyes is looked at again. Each time another process has made progress.
constexpr int kMaxAttempts = 100;

// "PROCESS,ID": see fs::EncodeProcess.
struct Owner {
  fs::Process process;
  std::string id;
};

std::optional<Owner> ParseRecord(std::string_view record) {
  const size_t comma = record.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto process = fs::DecodeProcess(record.substr(0, comma));
  if (!process) return std::nullopt;
  return Owner{*process, std::string(record.substr(comma + 1))};
}

// Entries of a claim directory; empty also when it is not there.
std::vector<fs::Name> Records(const std::string& path) {
  try {
    return fs::ListNames(path);
  } catch (const Error& error) {
    if (error.id() == "fs.not_found") return {};
    throw;
  }
}

// True when every record is of an owner that is certainly gone.
bool AllGone(const std::vector<fs::Name>& records) {
  for (const fs::Name& record : records) {
    const auto owner = ParseRecord(record.name);
    if (!owner || fs::LivenessOf(owner->process) != fs::Liveness::kGone) return false;
  }
  return true;
}

[[noreturn]] void ThrowClaimed(const std::string& directory, const std::string& name, const std::string& claim_path,
                               const std::string& record) {
  const std::string target = Quote(fs::JoinPath(directory, name), 4096);
  const auto owner = ParseRecord(record);
  const std::string by = owner ? fs::Describe(owner->process) : Cat("an unknown process (", Quote(record), ")");
  const bool alive = owner && fs::LivenessOf(owner->process) == fs::Liveness::kAlive;
  const std::string advice = alive ? "" : Cat("; if that process is gone, remove ", Quote(claim_path, 4096));
  throw PreconditionError("publish.claimed", Cat(target, " is being written by ", by, advice));
}

// Removal is tried twice: one transient failure must not leave terabytes behind.
template <typename Remove>
bool TryTwice(Remove remove) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      return remove();
    } catch (const std::exception&) {
    }
  }
  return false;
}

}  // namespace

Claim::Claim(std::string directory, std::string name) : directory_(std::move(directory)), name_(std::move(name)), id_(NewId()) {
  claim_path_ = fs::JoinPath(directory_, FormatHiddenName({name_, HiddenName::Kind::kClaim, ""}));
  record_ = Cat(fs::EncodeProcess(fs::ThisProcess()), ",", id_);
}

Claim::~Claim() { Release(); }

std::unique_ptr<Claim> Claim::Take(const std::string& directory, const std::string& name) {
  std::unique_ptr<Claim> claim(new Claim(directory, name));
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (claim->TakeOver() || claim->Prepare()) {
      claim->held_ = true;
      return claim;
    }
  }
  throw PreconditionError("publish.claimed",
                          Cat(Quote(fs::JoinPath(directory, name), 4096), " is claimed by one process after another: try again later"));
}

// Steps 1 to 3. False when another claim came first.
bool Claim::Prepare() {
  const std::string path = fs::JoinPath(directory_, FormatHiddenName({name_, HiddenName::Kind::kNewClaim, id_}));
  bool made = false;
  try {
    fs::MakeDirectory(path);
    made = true;
    fs::WriteSmallFile(fs::JoinPath(path, record_), "", fs::Durability::kNoSync);
    fs::RenameReplace(path, claim_path_);
    return true;
  } catch (const Error& error) {
    const bool swept = made && !TryTwice([&] { return fs::NameTaken(path); });
    TryTwice([&] {
      fs::RemoveTree(path);
      return true;
    });
    // Step 3 refused; or an owner of the claim took our new directory, still without an entry, for an old one.
    if (error.id() == "fs.exists" || swept) return false;
    throw;
  }
}

// Step 4. False when there is no claim, or the one there was is being released or taken by another process.
bool Claim::TakeOver() {
  const auto records = Records(claim_path_);
  if (records.empty()) return false;
  if (!AllGone(records)) {
    for (const fs::Name& record : records) {
      const auto owner = ParseRecord(record.name);
      if (!owner || fs::LivenessOf(owner->process) != fs::Liveness::kGone) ThrowClaimed(directory_, name_, claim_path_, record.name);
    }
    return false;  // it ended between the two looks
  }
  const std::string old_path = fs::JoinPath(claim_path_, records[0].name);
  try {
    fs::RenameReplace(old_path, fs::JoinPath(claim_path_, record_));
  } catch (const Error& error) {
    if (fs::NameTaken(old_path)) throw error.At("a claim of a process that is gone");
    return false;
  }
  return true;
}

std::vector<std::string> Claim::Sweep() {
  std::vector<std::string> removed;
  for (const fs::Name& entry : fs::ListNames(directory_)) {
    const auto hidden = ParseHiddenName(entry.name);
    if (!hidden || hidden->name != name_ || hidden->kind == HiddenName::Kind::kClaim || hidden->kind == HiddenName::Kind::kStaged) continue;
    if (hidden->kind == HiddenName::Kind::kStaging && hidden->id == id_) continue;
    const std::string path = fs::JoinPath(directory_, entry.name);
    // Others may be at step 1 to 3.
    if (hidden->kind == HiddenName::Kind::kNewClaim && !NewClaimIsStale(path)) continue;
    std::string trash = path;
    if (hidden->kind == HiddenName::Kind::kStaging) {
      trash = fs::JoinPath(directory_, FormatHiddenName({name_, HiddenName::Kind::kTrash, NewId()}));
      fs::RenameNoReplace(path, trash);
    }
    fs::RemoveTree(trash);
    removed.push_back(path);
  }
  return removed;
}

std::string Claim::TrySweep() noexcept {
  try {
    Sweep();
    return "";
  } catch (const std::exception& error) {
    return Cat("something that an earlier run left is still there: ", error.what());
  }
}

bool Claim::NewClaimIsStale(const std::string& path) { return AllGone(Records(path)); }

void Claim::CheckHeld() const {
  if (fs::NameTaken(fs::JoinPath(claim_path_, record_))) return;
  throw EnvironmentError("publish.claim_lost", Cat("the claim ", Quote(claim_path_, 4096), " was removed by someone while this process held it"));
}

bool Claim::Release() noexcept {
  if (!std::exchange(held_, false)) return true;
  const bool entry_removed = TryTwice([&] {
    fs::RemoveFile(fs::JoinPath(claim_path_, record_));
    return true;
  });
  return entry_removed && TryTwice([&] {
           fs::RemoveEmptyDirectory(claim_path_);
           return true;
         });
}

}  // namespace ck::run
