// The files beside the data.
#include <algorithm>
#include <set>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/json/value.h"
#include "libs/validate/checks.h"

namespace ck::validate {
namespace {

constexpr uint64_t kMaxMetadataJsonBytes = 1 << 20;    // four keys
constexpr uint64_t kMaxIntegrityBytes = 64 << 20;      // 100 bytes a file: half a million files
constexpr char kIntegrity[] = "integrity.json", kMetadataJson[] = "metadata.json";

bool IsLeftover(std::string_view name) { return EndsWith(name, ".tmp") || EndsWith(name, ".bck"); }

void CheckNames(const Checkpoint& checkpoint, Findings& findings) {
  for (const checkpoint::Sidecar& sidecar : checkpoint.sidecars()) {
    if (IsLeftover(sidecar.name)) {
      findings.AddWarning("files.stray", Cat(Quote(sidecar.name), " is the leftover of a write that did not finish"), {.where = sidecar.name});
    } else if (EndsWith(sidecar.name, ".distcp") && sidecar.size_bytes > 0) {  // torch writes empty ones for threads without items
      findings.AddWarning("files.stale", Cat(Quote(sidecar.name), " is a data file that the metadata does not refer to; of an earlier save into this directory?"),
                          {.where = sidecar.name, .source = ".metadata"});
    } else if (sidecar.name == "modelopt_state") {
      findings.AddWarning("files.modelopt_state", "holds a modelopt_state: its weights are quantised, which ck does not read", {.where = sidecar.name});
    }
  }
}

// Reads a JSON object; nullopt when it is none, which has been reported under `id`.
std::optional<json::Object> ReadObject(const Checkpoint& checkpoint, const char* name, uint64_t limit_bytes, std::string_view id, Findings& findings) {
  try {
    const json::Value document = json::Parse(fs::ReadSmallFile(fs::JoinPath(checkpoint.path(), name), limit_bytes));
    if (const json::Object* object = document.AsObject()) return *object;
    findings.AddError(id, Cat(name, " is ", json::TypeName(document.type()), ", expected an object"), {.where = name});
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;
    findings.AddError(id, Cat(name, ": ", error.message()), {.where = name});
  }
  return std::nullopt;
}

void CheckMetadataJson(const Checkpoint& checkpoint, Findings& findings) {
  if (!fs::Stat(fs::JoinPath(checkpoint.path(), kMetadataJson))) return;
  const auto object = ReadObject(checkpoint, kMetadataJson, kMaxMetadataJsonBytes, "checkpoint.bad_metadata_json", findings);
  if (!object) return;
  if (checkpoint.format() == checkpoint::Format::kFsdpDtensor) {
    findings.AddWarning("metadata_json.of_fsdp_dtensor", "has a metadata.json: Megatron takes every directory with one for torch_dist, this one is fsdp_dtensor",
                        {.where = kMetadataJson});
  }
  static const std::set<std::string, std::less<>> kKnown = {"sharded_backend", "sharded_backend_version", "common_backend", "common_backend_version"};
  std::vector<std::string> extra;
  for (const json::Member& member : object->members()) {
    if (kKnown.count(member.first) == 0) extra.push_back(Quote(member.first));
  }
  if (extra.empty()) return;
  findings.AddWarning("metadata_json.extra_keys", Cat("metadata.json has ", Join(extra, ", "), "; Megatron-Core up to 0.18 fails on a key that it does not know"),
                      {.where = kMetadataJson, .found = Join(extra, ", "), .source = "Megatron-Core 0.18's CheckpointingConfig"});
}

bool IsSha256(const json::Value& value) {
  const std::string* text = value.AsString();
  return text && text->size() == 64 && std::all_of(text->begin(), text->end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void CheckListedFile(const Checkpoint& checkpoint, const json::Member& member, Findings& findings) {
  const auto& [name, hash] = member;
  if (!fs::IsPlainName(name)) {
    return findings.AddError("integrity.malformed", Cat("integrity.json lists ", Quote(name), ", which is no plain name inside the directory"), {.where = kIntegrity});
  }
  if (!IsSha256(hash)) findings.AddError("integrity.malformed", Cat("integrity.json has no SHA-256 for ", Quote(name)), {.where = kIntegrity});
  const auto info = fs::Stat(fs::JoinPath(checkpoint.path(), name));
  if (!info || info->type != fs::FileType::kFile) {
    findings.AddError("integrity.missing_file", Cat("integrity.json lists ", Quote(name), ", which is not there"), {.where = name, .source = kIntegrity});
  }
}

void CheckIntegrity(const Checkpoint& checkpoint, Findings& findings) {
  if (!fs::Stat(fs::JoinPath(checkpoint.path(), kIntegrity))) return;
  const auto object = ReadObject(checkpoint, kIntegrity, kMaxIntegrityBytes, "integrity.malformed", findings);
  if (!object) return;
  const json::Value* algorithm = object->Find("algorithm");
  const std::string* name = algorithm ? algorithm->AsString() : nullptr;
  if (algorithm && (!name || *name != "sha256")) {
    return findings.AddWarning("integrity.unknown_algorithm",
                               Cat("integrity.json uses ", name ? Quote(*name) : std::string("no named algorithm"), "; only sha256 can be verified"),
                               {.where = kIntegrity, .found = name ? std::optional(*name) : std::nullopt, .expected = "sha256"});
  }
  const json::Value* files = object->Find("files");
  if (!files || !files->AsObject()) return findings.AddError("integrity.malformed", "integrity.json has no object 'files'", {.where = kIntegrity});
  for (const json::Member& member : files->AsObject()->members()) CheckListedFile(checkpoint, member, findings);
}

}  // namespace

void CheckSurroundings(const Checkpoint& checkpoint, Findings& findings) {
  CheckNames(checkpoint, findings);
  CheckMetadataJson(checkpoint, findings);
  CheckIntegrity(checkpoint, findings);
}

}  // namespace ck::validate
