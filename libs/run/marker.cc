#include "libs/run/marker.h"

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/run/claim.h"
#include "libs/run/hidden_name.h"

namespace ck::run {
namespace {

constexpr uint64_t kMaxMarkerBytes = 64;  // 20 digits and white space
constexpr size_t kQuoteBytes = 40;
// Another process holds the marker for a few system calls; slow network disks included.
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kPause{20};

// Orders markers by what a run would resume from. nullopt: not a marker Megatron would read.
std::optional<int64_t> Rank(std::string_view text) {
  const std::string_view value = Trim(text);
  if (value == "release") return -1;
  if (value.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return ParseInt64(value);
}

std::unique_ptr<Claim> TakeWithPatience(const std::string& marker_path) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    try {
      return Claim::Take(fs::DirName(marker_path), fs::BaseName(marker_path));
    } catch (const Error& error) {
      if (error.id() != "publish.claimed" || std::chrono::steady_clock::now() >= deadline) throw;
    }
    std::this_thread::sleep_for(kPause);
  }
}

// What stands in the way of writing `value`, or "".
std::string ReasonToKeep(const std::string& marker_path, std::string_view value) {
  const auto info = fs::Stat(marker_path);
  if (!info) return "";
  if (info->type != fs::FileType::kFile) return "it is not a regular file";
  if (info->size_bytes > kMaxMarkerBytes) return Cat("it has ", info->size_bytes, " bytes and is no marker");
  const std::string text = fs::ReadSmallFile(marker_path, kMaxMarkerBytes);
  const auto old_rank = Rank(text);
  if (!old_rank) return Cat("it holds ", Quote(text, kQuoteBytes), ", which is no iteration");
  if (*old_rank > *Rank(value)) return Cat("it names ", Quote(Trim(text), kQuoteBytes), ", and a run would resume from an earlier place");
  return "";
}

bool HoldsValue(const std::string& marker_path, std::string_view value) {
  const auto info = fs::Stat(marker_path);
  if (!info || info->type != fs::FileType::kFile || info->size_bytes > kMaxMarkerBytes) return false;
  return Rank(fs::ReadSmallFile(marker_path, kMaxMarkerBytes)) == Rank(value);
}

void Replace(const std::string& marker_path, const std::string& value, const Claim& claim, fs::Durability durability) {
  const std::string directory = fs::DirName(marker_path);
  const std::string temporary =
      fs::JoinPath(directory, FormatHiddenName({fs::BaseName(marker_path), HiddenName::Kind::kStaging, claim.id()}));
  const auto old = fs::Stat(marker_path);
  try {
    const auto file = fs::OutputFile::Create(temporary);
    if (old && old->type == fs::FileType::kFile) file->SetMode(old->mode);
    file->WriteAt(0, value + "\n");
    if (durability == fs::Durability::kSync) file->Sync();
    file->Close();
    fs::RenameReplace(temporary, marker_path);
  } catch (const Error&) {
    fs::RemoveTree(temporary);
    throw;
  }
  if (durability == fs::Durability::kSync) fs::SyncDirectory(directory);
}

}  // namespace

MarkerChange UpdateMarker(const Placement& placement, MarkerPolicy policy, fs::Durability durability) {
  if (placement.marker_path.empty()) return {};
  const auto published = fs::Stat(placement.final_path);
  if (!published || published->type != fs::FileType::kDirectory) {
    throw PreconditionError("publish.not_published", Cat(Quote(placement.final_path, 4096), " is not there: the marker would name nothing"));
  }
  const auto claim = TakeWithPatience(placement.marker_path);
  const std::string left = claim->TrySweep();
  if (HoldsValue(placement.marker_path, placement.marker_value)) return {MarkerChange::Outcome::kAlready, left};
  if (policy == MarkerPolicy::kNeverLower) {
    const std::string reason = ReasonToKeep(placement.marker_path, placement.marker_value);
    if (!reason.empty()) {
      return {MarkerChange::Outcome::kKept, Cat("marker ", Quote(placement.marker_path, 4096), " was not set to ", placement.marker_value,
                                                ": ", reason, " (--force-marker sets it)")};
    }
  }
  Replace(placement.marker_path, placement.marker_value, *claim, durability);
  return {MarkerChange::Outcome::kWritten, left};
}

}  // namespace ck::run
