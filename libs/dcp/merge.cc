#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/dcp/metadata.h"
#include "libs/dcp/settle.h"

namespace ck::dcp {
namespace {

class Merger {
 public:
  void Add(const Metadata& rank);
  Metadata Finish();

 private:
  Item Placed(const Item& item) const { return {files_[item.file], item.offset, item.length}; }
  void AddFiles(const Metadata& rank);
  void AddTensor(const Tensor& tensor);
  void AddObject(const Object& object);
  void AddNames(const Metadata& rank);
  void DropReplicas(Tensor& tensor);
  void DropUnusedTransforms();

  Metadata out_;
  std::unordered_map<std::string, size_t> tensors_, objects_;  // name -> place in out_
  std::unordered_map<std::string, uint32_t> file_numbers_;
  std::vector<uint32_t> files_;  // of the rank being added: its number -> number in out_
  uint64_t replicas_ = 0;
};

[[noreturn]] void Disagree(std::string_view name, std::string_view what) {
  throw InputError("dcp.bad_metadata", Cat("the ranks disagree on the ", what, " of ", Quote(name)));
}

// Joins `from` into `into`; a key that both have must have the same value.
template <typename Value>
void Unite(const std::map<std::string, Value>& from, std::string_view what, std::map<std::string, Value>& into) {
  for (const auto& [name, value] : from) {
    const auto [place, is_new] = into.try_emplace(name, value);
    if (!is_new && place->second != value) Disagree(name, what);
  }
}

void Unite(const std::vector<std::string>& from, std::vector<std::string>& into) {
  for (const std::string& text : from) {
    if (std::find(into.begin(), into.end(), text) == into.end()) into.push_back(text);
  }
}

void Merger::AddFiles(const Metadata& rank) {
  files_.clear();
  for (const std::string& file : rank.files) {
    const auto [place, is_new] = file_numbers_.try_emplace(file, static_cast<uint32_t>(out_.files.size()));
    if (is_new) out_.files.push_back(file);
    files_.push_back(place->second);
  }
  for (const auto& [place, descriptors] : rank.transforms) {
    out_.transforms.try_emplace({files_[place.first], place.second}, descriptors);
  }
}

void Merger::AddTensor(const Tensor& tensor) {
  if (objects_.count(tensor.name) != 0) Disagree(tensor.name, "kind");
  const auto [place, is_new] = tensors_.try_emplace(tensor.name, out_.tensors.size());
  if (is_new) out_.tensors.push_back({tensor.name, tensor.dtype, tensor.shape, {}});
  Tensor& joined = out_.tensors[place->second];
  if (joined.dtype != tensor.dtype) Disagree(tensor.name, "dtype");
  if (joined.shape != tensor.shape) Disagree(tensor.name, "shape");
  for (const Chunk& chunk : tensor.chunks) {
    const bool has_item = chunk.item.length != 0 || !chunk.box.IsEmpty();
    joined.chunks.push_back({chunk.box, has_item ? Placed(chunk.item) : Item{kNoFile, 0, 0}});
  }
}

void Merger::AddObject(const Object& object) {
  if (tensors_.count(object.name) != 0) Disagree(object.name, "kind");
  const auto [place, is_new] = objects_.try_emplace(object.name, out_.objects.size());
  if (is_new) {
    out_.objects.push_back({object.name, Placed(object.item)});
  } else {
    ++replicas_;
  }
}

void Merger::AddNames(const Metadata& rank) {
  if (rank.planner_data) {
    if (!out_.planner_data) out_.planner_data.emplace();
    Unite(*rank.planner_data, "path in planner_data", *out_.planner_data);
  }
  Unite(rank.original_shapes, "original shape", out_.original_shapes);
  Unite(rank.unknown_attributes, out_.unknown_attributes);
  Unite(rank.unknown_globals, out_.unknown_globals);
  Unite(rank.notes, out_.notes);
  if (out_.version.empty()) out_.version = rank.version;
}

void Merger::Add(const Metadata& rank) {
  AddFiles(rank);
  for (const Tensor& tensor : rank.tensors) AddTensor(tensor);
  for (const Object& object : rank.objects) AddObject(object);
  AddNames(rank);
}

void Merger::DropReplicas(Tensor& tensor) {
  std::vector<Chunk>& chunks = tensor.chunks;
  std::stable_sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) { return a.box < b.box; });
  const auto replicas = std::unique(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) { return a.box == b.box; });
  replicas_ += static_cast<uint64_t>(chunks.end() - replicas);
  chunks.erase(replicas, chunks.end());
}

void Merger::DropUnusedTransforms() {
  if (out_.transforms.empty()) return;
  std::set<std::pair<uint32_t, uint64_t>> used;
  for (const Object& object : out_.objects) used.emplace(object.item.file, object.item.offset);
  for (const Tensor& tensor : out_.tensors) {
    for (const Chunk& chunk : tensor.chunks) used.emplace(chunk.item.file, chunk.item.offset);
  }
  for (auto it = out_.transforms.begin(); it != out_.transforms.end();) {
    it = used.count(it->first) != 0 ? std::next(it) : out_.transforms.erase(it);
  }
}

Metadata Merger::Finish() {
  for (Tensor& tensor : out_.tensors) {
    DropReplicas(tensor);
    try {
      SettleChunks(tensor);
    } catch (const Error& error) {
      throw error.At(Quote(tensor.name));
    }
  }
  if (replicas_ != 0) out_.notes.push_back(Cat(replicas_, " items are stored by several ranks; the first rank's are used"));
  DropUnusedTransforms();
  Settle(out_);
  return std::move(out_);
}

}  // namespace

Metadata MergeRankLocal(const std::vector<Metadata>& ranks) {
  Merger merger;
  for (const Metadata& rank : ranks) merger.Add(rank);
  return merger.Finish();
}

}  // namespace ck::dcp
