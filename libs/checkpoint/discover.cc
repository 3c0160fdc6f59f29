#include "libs/checkpoint/discover.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/examine.h"
#include "libs/fs/read.h"

namespace ck::checkpoint {
namespace {

constexpr std::string_view kStateNames[] = {"complete", "incomplete", "damaged", "staging"};
constexpr size_t kMaxShown = 40;  // of a marker's content

// A directory that ck-publish writes, by its name: ".NAME.ck-ID", ".NAME.ck-staged-ID" or ".NAME.ck-trash-ID". Its
// claims (".NAME.ck-claim", ".NAME.ck-new-ID") hold no checkpoint. libs/run/hidden_name_test.cc holds this against the
// writer.
std::optional<Found> AsStaging(const std::string& root, const fs::Name& name) {
  struct Kind {
    std::string_view prefix, reason;
  };
  constexpr Kind kKinds[] = {{"", "being written; 'ck-publish --gc' removes it when its owner is gone"},
                             {"staged-", "complete, waits for 'ck-publish --staged'"},
                             {"trash-", "being removed; 'ck-publish --gc' finishes it when its owner is gone"}};
  constexpr size_t kIdDigits = 12;
  const std::string_view text = name.name;
  const size_t mark = text.rfind(".ck-");
  if (!name.is_directory || !StartsWith(text, ".") || mark == std::string_view::npos || mark < 2) return std::nullopt;
  const std::string_view rest = text.substr(mark + 4);
  for (const Kind& kind : kKinds) {
    if (!StartsWith(rest, kind.prefix) || rest.size() != kind.prefix.size() + kIdDigits) continue;
    if (rest.find_first_not_of("0123456789abcdef", kind.prefix.size()) != std::string_view::npos) continue;
    Found found{.name = name.name, .path = fs::JoinPath(root, text)};
    found.iteration = IterationFromName(text.substr(1, mark - 1));
    found.state = State::kStaging;
    found.reason = std::string(kind.reason);
    return found;
  }
  return std::nullopt;
}

// ListNames does not follow links; a link named like a checkpoint may well lead to one.
bool IsDirectory(const std::string& root, const fs::Name& name) {
  if (name.is_directory) return true;
  try {
    const auto info = fs::Stat(fs::JoinPath(root, name.name));
    return info && info->type == fs::FileType::kDirectory;
  } catch (const Error&) {
    return false;
  }
}

bool LooksLikeCheckpointName(std::string_view name) {
  return StartsWith(name, "iter_") || name == "release";
}

bool HasSignOfRoot(const std::vector<fs::Name>& names) {
  return std::any_of(names.begin(), names.end(), [](const fs::Name& name) {
    return name.name == kMarkerFile || IterationFromName(name.name).known();
  });
}

// Without metadata.json a directory beside complete torch_dist ones is one that is still being written.
void CompareWithSiblings(std::vector<Found>& checkpoints) {
  const bool torch_dist = std::any_of(checkpoints.begin(), checkpoints.end(), [](const Found& found) {
    return found.complete() && found.format == Format::kTorchDist;
  });
  if (!torch_dist) return;
  for (Found& found : checkpoints) {
    if (!found.complete() || found.format != Format::kDcp) continue;
    found.state = State::kIncomplete;
    found.reason = "no metadata.json (it is written last; the complete checkpoints beside it are torch_dist)";
  }
}

bool IsNewer(const Found& a, const Iteration& than) {
  return a.iteration.number && (than.release || *a.iteration.number > *than.number);
}

void SetMarkerState(Listing& listing) {
  Marker& marker = *listing.marker;
  if (!marker.iteration) return;
  marker.state = MarkerState::kDangling;
  for (const Found& found : listing.checkpoints) {
    if (found.complete() && found.iteration == *marker.iteration) marker.state = MarkerState::kCurrent;
  }
  if (marker.state != MarkerState::kCurrent) return;
  for (const Found& found : listing.checkpoints) {
    if (found.complete() && IsNewer(found, *marker.iteration)) marker.state = MarkerState::kOlder;
  }
}

std::optional<Marker> ReadMarker(const std::string& root) {
  Marker out;
  std::string content;
  bool longer = false;
  try {
    const auto file = fs::InputFile::Open(fs::JoinPath(root, kMarkerFile));
    longer = file->size() > kMaxMarkerBytes;
    content = file->Read(0, std::min(file->size(), kMaxMarkerBytes), kMaxMarkerBytes);
  } catch (const Error& error) {
    if (error.id() == "fs.not_found") return std::nullopt;
    out.problem = error.message();
    return out;
  }
  out.value = std::string(Trim(content).substr(0, kMaxShown));
  if (!longer) out.iteration = ParseMarker(content);
  if (out.iteration) {
    out.state = MarkerState::kDangling;  // until it is compared with what is there
  } else {
    out.problem = content.empty() ? "is empty, expected a number or 'release'"
                                  : Cat("says ", Quote(content, kMaxShown), ", expected a number or 'release'");
  }
  return out;
}

auto Order(const Found& found) {
  const bool numbered = found.iteration.number.has_value();
  return std::tuple(found.state == State::kStaging, !found.iteration.release, !numbered,
                    numbered ? *found.iteration.number : 0, found.name);
}

void ListCheckpoints(const std::vector<fs::Name>& names, Depth depth, Listing& listing) {
  for (const fs::Name& name : names) {
    if (auto staging = AsStaging(listing.root, name)) {
      if (depth != Depth::kNames) staging->size_bytes = SizeOfFiles(staging->path);
      listing.checkpoints.push_back(std::move(*staging));
    } else if (IterationFromName(name.name).known() && IsDirectory(listing.root, name)) {
      listing.checkpoints.push_back(Examine(fs::JoinPath(listing.root, name.name), depth));
    } else if (LooksLikeCheckpointName(name.name)) {
      listing.strays.push_back(name.name);
    }
  }
  std::sort(listing.checkpoints.begin(), listing.checkpoints.end(),
            [](const Found& a, const Found& b) { return Order(a) < Order(b); });
  CompareWithSiblings(listing.checkpoints);
}

// The state of a directory that is named itself. Its siblings decide only where its own content does not.
Found ExamineNamed(const std::string& path, Depth depth) {
  Found found = Examine(path, depth);
  if (!found.complete() || found.format != Format::kDcp || !found.iteration.known()) return found;
  Listing siblings{.root = fs::DirName(path)};
  try {
    ListCheckpoints(fs::ListNames(siblings.root), Depth::kNames, siblings);
  } catch (const Error&) {
    return found;  // a parent that cannot be listed has no siblings to compare with
  }
  for (const Found& sibling : siblings.checkpoints) {
    if (sibling.name != found.name) continue;
    found.state = sibling.state;
    found.reason = sibling.reason;
  }
  return found;
}

}  // namespace

std::string_view Name(State state) {
  return kStateNames[static_cast<size_t>(state)];
}

Listing ListRoot(const std::string& path, Depth depth) {
  Listing out{.root = fs::AbsolutePath(path)};
  const auto info = fs::Stat(out.root);
  if (!info) throw InputError("checkpoint.not_found", Cat(Quote(path, 4096), ": no such directory"));
  if (info->type != fs::FileType::kDirectory) {
    throw InputError("checkpoint.not_a_directory", Cat(Quote(path, 4096), " is a file; a checkpoint is a directory"));
  }
  const std::vector<fs::Name> names = fs::ListNames(out.root);
  const Sign sign = SignOfCheckpoint(names);
  const bool named_like_one = IterationFromName(fs::BaseName(out.root)).known();
  const bool root_sign = HasSignOfRoot(names);
  out.is_checkpoint = sign == Sign::kStrong || (!root_sign && (named_like_one || sign == Sign::kWeak));
  if (out.is_checkpoint) {
    out.checkpoints.push_back(ExamineNamed(out.root, depth));
  } else {
    ListCheckpoints(names, depth, out);
  }
  if (depth == Depth::kLong) {
    for (Found& found : out.checkpoints) {
      if (found.complete()) LookClosely(found);
    }
  }
  if (!out.is_checkpoint) out.marker = ReadMarker(out.root);
  if (out.marker) SetMarkerState(out);
  return out;
}

Format ExactFormat(const Found& found) {
  if (found.format && *found.format != Format::kDcp) return *found.format;
  return Checkpoint::Open(found.path)->format();
}

}  // namespace ck::checkpoint
