#include "libs/checkpoint/examine.h"

#include <algorithm>
#include <map>
#include <set>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/data_files.h"
#include "libs/checkpoint/detect.h"

namespace ck::checkpoint {
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kDataSuffix = ".distcp";

// With kNames no entry is looked at: what is no directory counts as a file.
std::vector<fs::Entry> Entries(const std::string& path, Depth depth) {
  if (depth != Depth::kNames) return fs::ListDirectory(path);
  std::vector<fs::Entry> out;
  for (fs::Name& name : fs::ListNames(path)) {
    const fs::FileType type = name.is_directory ? fs::FileType::kDirectory : fs::FileType::kFile;
    out.push_back({.name = std::move(name.name), .info = {.type = type}, .vanished = false});
  }
  return out;
}

bool HasData(const std::vector<fs::Entry>& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const fs::Entry& entry) { return EndsWith(entry.name, kDataSuffix); });
}

// N of "model-00001-of-0000N.safetensors".
std::optional<uint64_t> ShardCount(std::string_view name) {
  constexpr std::string_view kSuffix = ".safetensors", kOf = "-of-";
  if (!EndsWith(name, kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  const size_t of = name.rfind(kOf);
  return of == std::string_view::npos ? std::nullopt : ParseUint64(name.substr(of + kOf.size()));
}

// Why a directory of safetensors files is not complete, as far as names tell; "" when they do not.
std::string SafetensorsGap(const std::vector<fs::Entry>& entries) {
  uint64_t files = 0;
  bool index = false, single = false;
  std::map<uint64_t, uint64_t> shards;  // stated count -> found
  for (const fs::Entry& entry : entries) {
    if (entry.name == kIndexName) index = true;
    if (!EndsWith(entry.name, ".safetensors")) continue;
    ++files;
    if (entry.name == "model.safetensors") single = true;
    if (const auto count = ShardCount(entry.name)) ++shards[*count];
  }
  if (!index) return single || files == 1 ? "" : Cat("no ", kIndexName, " beside ", files, " .safetensors files");
  if (files == 0) return Cat("no .safetensors file beside ", kIndexName);
  for (const auto& [count, found] : shards) {
    if (found < count) return Cat(found, " of ", count, " .safetensors files");
  }
  return "";
}

// "" when complete.
std::string DcpGap(const Detected& detected, const std::vector<fs::Entry>& entries) {
  if (!detected.has_metadata) return "no .metadata";
  if (!detected.has_metadata_json && detected.has_common_pt) return "no metadata.json (it is written last)";
  return HasData(entries) ? "" : "no data file (*.distcp)";
}

void Set(Found& found, std::optional<Format> format, State state_of_gap, std::string gap) {
  found.format = format;
  found.state = gap.empty() ? State::kComplete : state_of_gap;
  found.reason = std::move(gap);
}

void Judge(const Detected& detected, const std::vector<fs::Entry>& entries, Found& found) {
  switch (detected.kind) {
    case Kind::kNothing:
      return Set(found, std::nullopt, State::kIncomplete, "no .metadata / metadata.json");
    case Kind::kUnsupported:
      found.unsupported = true;
      return Set(found, std::nullopt, State::kDamaged, Cat("not supported: ", detected.what));
    case Kind::kBadMetadataJson:
      return Set(found, std::nullopt, State::kDamaged, detected.what);
    case Kind::kTorchDist:
      return Set(found, Format::kTorchDist, State::kIncomplete, DcpGap(detected, entries));
    case Kind::kFsdpDtensor:
      return Set(found, Format::kFsdpDtensor, State::kIncomplete, DcpGap(detected, entries));
    case Kind::kDcp:
      // common.pt belongs to torch_dist, whose metadata.json is still to come.
      return Set(found, detected.has_common_pt ? Format::kTorchDist : Format::kDcp, State::kIncomplete,
                 DcpGap(detected, entries));
    case Kind::kSafetensors:
      return Set(found, Format::kSafetensors, State::kIncomplete, SafetensorsGap(entries));
  }
}

uint64_t SizeOf(const std::vector<fs::Entry>& entries) {
  uint64_t bytes = 0;
  for (const fs::Entry& entry : entries) {
    if (entry.info.type == fs::FileType::kFile) bytes += entry.info.size_bytes;
  }
  return bytes;
}

}  // namespace

uint64_t SizeOfFiles(const std::string& path) {
  try {
    return SizeOf(fs::ListDirectory(path));
  } catch (const Error&) {
    return 0;  // gone or closed to us; its state says nothing about its contents
  }
}

Found Examine(const std::string& path, Depth depth) {
  Found found{.name = fs::BaseName(path), .path = path};
  found.iteration = IterationFromName(found.name);
  try {
    const std::vector<fs::Entry> entries = Entries(path, depth);
    found.size_bytes = SizeOf(entries);
    for (const fs::Entry& entry : entries) {
      if (EndsWith(entry.name, ".tmp")) found.strays.push_back(entry.name);
    }
    Judge(Detect(path, entries), entries, found);
  } catch (const Error& error) {
    if (error.id() == "fs.not_found" || error.id() == "fs.not_a_directory") {
      Set(found, std::nullopt, State::kIncomplete, "vanished while it was looked at");
    } else {
      Set(found, std::nullopt, State::kDamaged, Cat("cannot be looked at: ", error.message()));
    }
  }
  return found;
}

void LookClosely(Found& found) {
  try {
    const auto checkpoint = Checkpoint::Open(found.path);
    found.format = checkpoint->format();
    const std::string problems = Describe(CheckDataFiles(*checkpoint), *checkpoint);
    if (!problems.empty()) Set(found, found.format, State::kDamaged, problems);
    for (const Sidecar& sidecar : checkpoint->sidecars()) {
      if (EndsWith(sidecar.name, kDataSuffix)) found.strays.push_back(sidecar.name);
    }
  } catch (const Error& error) {
    found.unsupported = error.id() == "checkpoint.unsupported_format";
    // The path stands beside the reason already.
    const std::string where = Cat(Quote(found.path, 4096), ": ");
    const bool has_where = StartsWith(error.message(), where);
    Set(found, found.format, State::kDamaged, has_where ? error.message().substr(where.size()) : error.message());
  }
}

Sign SignOfCheckpoint(const std::vector<fs::Name>& names) {
  Sign sign = Sign::kNone;
  for (const fs::Name& name : names) {
    const std::string& text = name.name;
    if (StartsWith(text, "mp_rank_")) sign = Sign::kWeak;
    if (name.is_directory) continue;
    if (text == "metadata.json" || text == ".metadata" || IsRankLocalMetadata(text)) return Sign::kStrong;
    if (text == "common.pt" || EndsWith(text, ".safetensors") || text == kIndexName || EndsWith(text, kDataSuffix))
      sign = Sign::kWeak;
  }
  return sign;
}

}  // namespace ck::checkpoint
