#include "libs/checkpoint/checkpoint.h"

#include <algorithm>
#include <set>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/detect.h"
#include "libs/checkpoint/megatron_args.h"
#include "libs/checkpoint/open_safetensors.h"
#include "libs/compress/stream.h"
#include "libs/fs/read.h"
#include "libs/torchsave/read.h"

namespace ck::checkpoint {
namespace {

constexpr size_t kMaxShownPath = 4096;  // PATH_MAX: a path is shown whole
// One item's bytes with everything they come from kept alive.
class OwnedSlice : public bytes::Source {
 public:
  OwnedSlice(std::shared_ptr<const bytes::Source> file, uint64_t offset, uint64_t length)
      : file_(std::move(file)), slice_(*file_, offset, length) {}
  uint64_t size() const override { return slice_.size(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override { slice_.ReadInto(offset, length, out); }
  std::string name() const override { return slice_.name(); }

 private:
  std::shared_ptr<const bytes::Source> file_;
  bytes::SliceSource slice_;
};

class OwnedDecompressed : public bytes::Source {
 public:
  OwnedDecompressed(std::shared_ptr<const bytes::Source> item, const std::vector<std::string>& transforms)
      : item_(std::move(item)), plain_(compress::Decompressed(*item_, transforms)) {}
  uint64_t size() const override { return plain_->size(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override { plain_->ReadInto(offset, length, out); }
  std::string name() const override { return item_->name(); }

 private:
  std::shared_ptr<const bytes::Source> item_;
  std::unique_ptr<bytes::Source> plain_;
};

// A short item, read once: its header is looked at and its data copied from memory.
class OwnedString : public bytes::Source {
 public:
  OwnedString(std::string data, std::string name) : data_(std::move(data)), name_(std::move(name)) {}
  uint64_t size() const override { return data_.size(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    CheckRange(offset, length);
    data_.copy(out, length, offset);
  }
  std::string name() const override { return name_; }
  const std::string& data() const { return data_; }

 private:
  std::string data_;
  std::string name_;
};

[[noreturn]] void Unsupported(const std::string& what) {
  throw InputError("checkpoint.unsupported_format", Cat("not supported: ", what));
}

// torch's SerializationFormat.SAFETENSORS gives every tensor of a file the same offset, so the items cannot be told
// apart.
// Sorted in one block of memory: there are some millions of chunks in a large checkpoint.
bool TensorsShareAnOffset(const dcp::Metadata& metadata) {
  std::vector<std::pair<uint32_t, uint64_t>> places;
  for (const dcp::Tensor& tensor : metadata.tensors) {
    for (const dcp::Chunk& chunk : tensor.chunks) {
      if (chunk.item.length > 0) places.emplace_back(chunk.item.file, chunk.item.offset);
    }
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) != places.end();
}

bool LooksLikeSafetensors(const bytes::Source& item) {
  if (item.size() < 9) return false;
  const std::string head = item.Read(0, 9, 9);
  return head[8] == '{' && head[4] == 0 && head[5] == 0 && head[6] == 0 && head[7] == 0;
}

constexpr char kSafetensorsItems[] =
    "tensors stored with torch's SerializationFormat.SAFETENSORS; save them with the default format (TORCH_SAVE)";

template <typename Named>
const Named* FindByName(const std::vector<Named>& sorted, std::string_view name) {
  const auto at = std::lower_bound(sorted.begin(), sorted.end(), name,
                                   [](const Named& entry, std::string_view wanted) { return entry.name < wanted; });
  return at != sorted.end() && at->name == name ? &*at : nullptr;
}

dcp::Metadata ReadMetadataFile(const std::string& directory, const std::string& name) {
  try {
    return dcp::DecodeMetadata(fs::ReadSmallFile(fs::JoinPath(directory, name), kMaxMetadataBytes));
  } catch (const Error& error) {
    throw error.At(name);
  }
}

dcp::Metadata ReadRankLocal(const std::string& directory) {
  std::vector<dcp::Metadata> ranks;
  for (const fs::Entry& entry : fs::ListDirectory(directory)) {
    if (IsRankLocalMetadata(entry.name)) ranks.push_back(ReadMetadataFile(directory, entry.name));
  }
  return dcp::MergeRankLocal(ranks);
}

}  // namespace

Checkpoint::~Checkpoint() = default;

std::shared_ptr<const Checkpoint> Checkpoint::Open(const std::string& directory) {
  std::shared_ptr<Checkpoint> out(new Checkpoint());
  out->path_ = fs::AbsolutePath(directory);
  out->iteration_ = IterationFromName(fs::BaseName(out->path_));
  try {
    const auto info = fs::Stat(out->path_);
    if (!info) throw InputError("checkpoint.not_found", "no such directory");
    if (info->type != fs::FileType::kDirectory)
      throw InputError("checkpoint.not_a_directory", "is a file; a checkpoint is a directory");
    const Detected detected = Detect(out->path_, fs::ListDirectory(out->path_));
    switch (detected.kind) {
      case Kind::kNothing:
        throw InputError("checkpoint.not_found",
                         "no checkpoint here; looked for metadata.json, .metadata, __R.metadata and *.safetensors");
      case Kind::kUnsupported:
        Unsupported(detected.what);
      case Kind::kBadMetadataJson:
        throw InputError("checkpoint.bad_metadata_json", detected.what);
      case Kind::kTorchDist:
      case Kind::kFsdpDtensor:
      case Kind::kDcp:
        if (!detected.has_metadata)
          throw InputError("checkpoint.no_metadata", "incomplete: no .metadata beside metadata.json");
        out->format_ = detected.kind == Kind::kTorchDist ? Format::kTorchDist
                       : detected.kind == Kind::kDcp     ? Format::kDcp
                                                         : Format::kFsdpDtensor;
        out->OpenDcp(detected.rank_local);
        break;
      case Kind::kSafetensors:
        out->OpenSafetensors();
        break;
    }
    out->FindFilesAndSidecars();
  } catch (const Error& error) {
    throw error.At(Quote(out->path_, kMaxShownPath));
  }
  return out;
}

void Checkpoint::OpenDcp(bool rank_local) {
  rank_local_ = rank_local;
  metadata_ = rank_local ? ReadRankLocal(path_) : ReadMetadataFile(path_, ".metadata");
  for (const auto& [item, transforms] : metadata_.transforms) compress::CheckTransforms(transforms);
  if (TensorsShareAnOffset(metadata_)) Unsupported(kSafetensorsItems);
  if (format_ != Format::kDcp) return;
  // Without metadata.json only the saved arguments and the keys tell Megatron's two DCP formats from a plain one.
  const std::string saved_as = SavedFormat(*this);
  if (saved_as == "torch_dcp")
    Unsupported("torch_dcp layout (FSDP2); save it with --ckpt-format fsdp_dtensor or torch_dist");
  if (saved_as == "fsdp_dtensor") format_ = Format::kFsdpDtensor;
}

void Checkpoint::OpenSafetensors() {
  format_ = Format::kSafetensors;
  metadata_ = ReadSafetensorsDirectory(path_);
}

void Checkpoint::FindFilesAndSidecars() {
  std::map<std::string, uint64_t, std::less<>> sizes;
  const std::set<std::string> data_files(metadata_.files.begin(), metadata_.files.end());
  for (const fs::Entry& entry : fs::ListDirectory(path_)) {
    if (entry.info.type == fs::FileType::kFile) sizes[entry.name] = entry.info.size_bytes;
    const bool structural = entry.name == ".metadata" || entry.name == "metadata.json" || entry.name == "common.pt" ||
                            IsRankLocalMetadata(entry.name) || data_files.count(entry.name) > 0 ||
                            entry.name == "model.safetensors.index.json";
    if (structural) continue;
    const bool directory = entry.info.type == fs::FileType::kDirectory;
    sidecars_.push_back(
        {.name = entry.name,
         .directory = directory,
         .special = !directory && entry.info.type != fs::FileType::kFile,
         .size_bytes = directory ? 0 : entry.info.size_bytes});
  }
  for (const std::string& name : metadata_.files) {
    const auto at = sizes.find(name);
    files_.push_back({.name = name, .size_bytes = at == sizes.end() ? std::nullopt : std::optional(at->second)});
  }
}

const dcp::Tensor* Checkpoint::FindTensor(std::string_view name) const {
  return FindByName(metadata_.tensors, name);
}
const dcp::Object* Checkpoint::FindObject(std::string_view name) const {
  return FindByName(metadata_.objects, name);
}

std::shared_ptr<const bytes::Source> Checkpoint::OpenFile(uint32_t file) const {
  const std::lock_guard lock(mutex_);
  const auto at = open_files_.find(file);
  if (at != open_files_.end()) return at->second;
  const std::string& name = metadata_.files[file];
  std::shared_ptr<const bytes::Source> opened;
  try {
    opened = fs::InputFile::Open(fs::JoinPath(path_, name));
  } catch (const Error& error) {
    if (error.id() == "fs.not_found") {
      throw InputError("checkpoint.missing_file", Cat(Quote(path_, kMaxShownPath), ": data file ", Quote(name),
                                                      " is missing; the metadata refers to it"));
    }
    throw;
  }
  if (open_files_.size() >= kMaxOpenFiles) {
    open_files_.erase(open_order_.front());
    open_order_.erase(open_order_.begin());
  }
  open_files_[file] = opened;
  open_order_.push_back(file);
  return opened;
}

bool Checkpoint::IsCompressed(const dcp::Item& item) const {
  return !metadata_.transforms.empty() && metadata_.transforms.count({item.file, item.offset}) > 0;
}

std::shared_ptr<const bytes::Source> Checkpoint::OpenItem(const dcp::Item& item) const {
  auto file = OpenFile(item.file);
  if (!RangeFits(item.offset, item.length, file->size())) {
    throw InputError("checkpoint.short_file",
                     Cat(Quote(file->name(), kMaxShownPath), " has ", file->size(), " bytes, the metadata wants bytes ",
                         item.offset, " + ", item.length, " of it (a truncated copy, or still being copied?)"));
  }
  auto stored = std::make_shared<OwnedSlice>(std::move(file), item.offset, item.length);
  if (!IsCompressed(item)) return stored;
  return std::make_shared<OwnedDecompressed>(std::move(stored), metadata_.transforms.at({item.file, item.offset}));
}

LocatedChunk Checkpoint::Locate(const dcp::Tensor& tensor, const dcp::Chunk& chunk) const {
  LocatedChunk out{.source = OpenItem(chunk.item),
                   .data_offset = 0,
                   .shape = chunk.box.shape,
                   .strides = {},
                   .compressed = IsCompressed(chunk.item)};
  if (format_ == Format::kSafetensors) {
    out.strides = RowMajorStrides(out.shape);
    return out;
  }
  const auto where = [&] {
    return Cat(Quote(out.source->name(), kMaxShownPath), " at byte ", chunk.item.offset, ", a chunk of ", Quote(tensor.name));
  };
  torchsave::TensorView view;
  try {
    if (out.source->size() <= torchsave::kWholeItemBytes) {
      auto item = std::make_shared<OwnedString>(out.source->Read(0, out.source->size(), torchsave::kWholeItemBytes), out.source->name());
      view = torchsave::ReadTensorItem(item->data(), item->name(), tensor.dtype, chunk.box.shape);
      out.source = std::move(item);
    } else {
      view = torchsave::ReadTensorItem(*out.source);
    }
  } catch (const Error& error) {
    if (error.id() == "torchsave.not_torch" && LooksLikeSafetensors(*out.source)) Unsupported(kSafetensorsItems);
    throw error.At(where());
  }
  if (view.dtype != tensor.dtype || view.shape != chunk.box.shape) {
    throw InputError("checkpoint.item_mismatch",
                     Cat(where(), ": the item is ", Name(view.dtype), " ", FormatDims(view.shape), ", the metadata says ",
                         Name(tensor.dtype), " ", FormatDims(chunk.box.shape)));
  }
  if (view.conj || view.neg) {
    throw InputError("checkpoint.unresolved_view",
                     Cat(where(), ": stored as a lazy conjugate or negative view; save the resolved tensor"));
  }
  out.strides = view.strides;
  out.data_offset = view.data_offset();
  return out;
}

std::string Checkpoint::ReadObject(const dcp::Object& object) const {
  const auto item = OpenItem(object.item);
  return item->Read(0, item->size(), kMaxObjectBytes);
}

}  // namespace ck::checkpoint
