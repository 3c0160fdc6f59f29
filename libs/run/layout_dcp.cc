#include "libs/run/layout.h"

#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/torchsave/write.h"

namespace ck::run {
namespace {

// Hands out places for items, one after the other.
class Placer {
 public:
  explicit Placer(uint64_t target_file_bytes) : target_file_bytes_(target_file_bytes) {}

  // The file and offset of the next item.
  std::pair<uint32_t, uint64_t> Place(uint64_t bytes) {
    if (files_.empty() || (files_.back().size_bytes > 0 && files_.back().size_bytes + bytes > target_file_bytes_)) {
      files_.push_back({.name = Cat("__0_", files_.size(), ".distcp"), .size_bytes = 0, .header = {}});
    }
    const uint64_t offset = files_.back().size_bytes;
    const auto end = CheckedAdd(offset, bytes);
    if (!end) throw InputError("layout.too_large", "the output passes 2^64 bytes");
    files_.back().size_bytes = *end;
    return {static_cast<uint32_t>(files_.size() - 1), offset};
  }

  std::vector<OutputFile> Take() { return std::move(files_); }

 private:
  uint64_t target_file_bytes_;
  std::vector<OutputFile> files_;
};

uint64_t ObjectBytes(const transform::View& view, const transform::Object& object) {
  if (object.literal) return object.literal->size();
  const checkpoint::Checkpoint& input = *view.inputs[object.input];
  const dcp::Object* source = input.FindObject(object.source_name);
  Check(source != nullptr, "a view's object exists in its input");
  return input.IsCompressed(source->item) ? input.OpenItem(source->item)->size() : source->item.length;
}

void PlaceObjects(const transform::View& view, Placer& placer, Layout& out) {
  for (uint32_t i = 0; i < view.objects.size(); ++i) {
    const uint64_t bytes = ObjectBytes(view, view.objects[i]);
    const auto [file, offset] = placer.Place(bytes);
    out.objects.push_back({.object = i, .file = file, .offset = offset, .total_bytes = bytes});
  }
}

void PlaceTensors(const transform::View& view, Placer& placer, Layout& out) {
  for (uint32_t i = 0; i < view.tensors.size(); ++i) {
    const transform::Tensor& tensor = view.tensors[i];
    for (uint32_t c = 0; c < tensor.chunks.size(); ++c) {
      const auto size = torchsave::TensorItemSizeOf(tensor.dtype, tensor.chunks[c].shape);
      const auto [file, offset] = placer.Place(size.total_bytes);
      out.tensors.push_back({.tensor = i, .chunk = c, .file = file, .offset = offset, .framing = Framing::kTorchSave, .head_bytes = size.head_bytes,
                             .data_bytes = size.data_bytes, .total_bytes = size.total_bytes});
    }
  }
}

dcp::Metadata MetadataOf(const transform::View& view, const Layout& layout) {
  dcp::Metadata out;
  for (const OutputFile& file : layout.files) out.files.push_back(file.name);
  for (const ObjectItem& item : layout.objects) {
    out.objects.push_back({.name = view.objects[item.object].name, .item = {.file = item.file, .offset = item.offset, .length = item.total_bytes}});
  }
  size_t next = 0;
  for (uint32_t i = 0; i < view.tensors.size(); ++i) {
    const transform::Tensor& tensor = view.tensors[i];
    dcp::Tensor described{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .chunks = {}};
    for (; next < layout.tensors.size() && layout.tensors[next].tensor == i; ++next) {
      const TensorItem& item = layout.tensors[next];
      described.chunks.push_back({.box = tensor.chunks[item.chunk], .item = {.file = item.file, .offset = item.offset, .length = item.total_bytes}});
    }
    out.tensors.push_back(std::move(described));
  }
  out.planner_data = view.planner_data;
  return out;
}

// The four keys that every Megatron-Core reads; more would break those up to 0.18.
constexpr char kMetadataJson[] =
    R"({"sharded_backend": "torch_dist", "sharded_backend_version": 1, "common_backend": "torch", "common_backend_version": 1})";

std::string CommonFile(const megatron::CommonDocument& common) {
  return torchsave::WriteObject(common.graph, common.root, "common", [&](const std::string& key) {
    const auto at = common.storages.find(key);
    Check(at != common.storages.end(), "a storage of the common state was read before");
    return at->second;
  });
}

}  // namespace

Layout LayOutDcp(const transform::View& view, uint64_t target_file_bytes) {
  Layout out;
  Placer placer(target_file_bytes);
  PlaceObjects(view, placer, out);
  PlaceTensors(view, placer, out);
  out.files = placer.Take();
  out.small_files.push_back({.name = ".metadata", .content = dcp::EncodeMetadata(MetadataOf(view, out))});
  if (view.common) out.small_files.push_back({.name = "common.pt", .content = CommonFile(*view.common)});
  if (view.format == checkpoint::Format::kTorchDist) out.small_files.push_back({.name = "metadata.json", .content = kMetadataJson});
  for (const OutputFile& file : out.files) out.total_bytes += file.size_bytes;
  for (const SmallFile& file : out.small_files) out.total_bytes += file.content.size();
  return out;
}

}  // namespace ck::run
