#include "libs/checkpoint/detect.h"

#include <algorithm>
#include <optional>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/json/value.h"

namespace ck::checkpoint {
namespace {

constexpr uint64_t kMaxMetadataJson = 1 << 20;  // four keys; anything longer is not a metadata.json

bool HasFile(const std::vector<fs::Entry>& entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(), [&](const fs::Entry& entry) {
    return entry.name == name && entry.info.type == fs::FileType::kFile;
  });
}

bool AnyName(const std::vector<fs::Entry>& entries, bool (*test)(std::string_view)) {
  return std::any_of(entries.begin(), entries.end(), [&](const fs::Entry& entry) { return test(entry.name); });
}

// Kind and `what` from metadata.json's content.
void ReadBackend(const std::string& path, Detected& out) {
  out.kind = Kind::kBadMetadataJson;
  json::Value document;
  try {
    document = json::Parse(fs::ReadSmallFile(path, kMaxMetadataJson));
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;  // a disk that fails says nothing about the file
    out.what = Cat("metadata.json: ", error.message());
    return;
  }
  const json::Object* object = document.AsObject();
  const json::Value* backend = object ? object->Find("sharded_backend") : nullptr;
  const std::string* name = backend ? backend->AsString() : nullptr;
  if (!name) {
    out.what = "metadata.json has no string 'sharded_backend'";
    return;
  }
  const json::Value* version_value = object->Find("sharded_backend_version");
  const std::optional<int64_t> version = version_value ? version_value->AsInt() : 1;
  const bool known = *name == "torch_dist" || *name == "fsdp_dtensor";
  if (known && version == 1) {
    out.kind = *name == "torch_dist" ? Kind::kTorchDist : Kind::kFsdpDtensor;
    return;
  }
  out.kind = Kind::kUnsupported;
  if (known) {
    out.what = Cat(*name, " version ", version ? Cat(*version) : "that is no integer", "; only version 1 is known");
  } else if (*name == "zarr") {
    out.what = "zarr layout of old Megatron-Core; re-save it as torch_dist with Megatron-Core 0.15 or older";
  } else {
    out.what = Cat("sharded backend ", Quote(*name), "; only torch_dist and fsdp_dtensor are known");
  }
}

}  // namespace

bool IsRankLocalMetadata(std::string_view name) {
  constexpr std::string_view kPrefix = "__", kSuffix = ".metadata";
  if (name.size() <= kPrefix.size() + kSuffix.size()) return false;
  if (!StartsWith(name, kPrefix) || !EndsWith(name, kSuffix)) return false;
  return ParseUint64(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size())).has_value();
}

Detected Detect(const std::string& directory, const std::vector<fs::Entry>& entries) {
  Detected out;
  const bool has_dot_metadata = HasFile(entries, ".metadata");
  out.rank_local = !has_dot_metadata && AnyName(entries, IsRankLocalMetadata);
  out.has_metadata = has_dot_metadata || out.rank_local;
  out.has_metadata_json = HasFile(entries, "metadata.json");
  out.has_common_pt = HasFile(entries, "common.pt");
  const auto is_mp_rank = [](std::string_view name) { return StartsWith(name, "mp_rank_"); };
  const auto is_safetensors = [](std::string_view name) {
    return EndsWith(name, ".safetensors") || name == "model.safetensors.index.json";
  };
  if (out.has_metadata_json) {
    ReadBackend(fs::JoinPath(directory, "metadata.json"), out);
  } else if (AnyName(entries, is_mp_rank)) {
    out.kind = Kind::kUnsupported;
    out.what =
        "legacy mp_rank layout (--ckpt-format torch); convert it to torch_dist with Megatron's "
        "tools/checkpoint/convert.py first";
  } else if (out.has_metadata) {
    out.kind = Kind::kDcp;
  } else if (AnyName(entries, is_safetensors)) {
    out.kind = Kind::kSafetensors;
  }
  return out;
}

}  // namespace ck::checkpoint
