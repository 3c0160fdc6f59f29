// DecodeMetadata, in four steps: the pickle, the tensors and objects, the items that belong to them, and the rest.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/plain_name.h"
#include "libs/base/text.h"
#include "libs/dcp/metadata.h"
#include "libs/dcp/nodes.h"
#include "libs/dcp/properties.h"
#include "libs/dcp/settle.h"
#include "libs/pickle/allowlist.h"
#include "libs/pickle/unpickle.h"

namespace ck::dcp {
namespace {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

// What a pickle may unfold to, in words of 8 bytes: references make a few bytes stand for a list of millions, and a list of such
// references for millions of lists. Files of torch need about 1 word a node, those of ck about 3.
constexpr uint64_t kWordsPerNode = 16;
constexpr uint64_t kFreeWords = 1'000'000;
constexpr uint64_t kWordsPerChunk = 16;

constexpr std::string_view kOriginalShape = "nd_reformulated_orig_global_shape";

class Decoder {
 public:
  explicit Decoder(const pickle::Graph& graph) : nodes_(graph), words_left_(kFreeWords + kWordsPerNode * graph.size()) {}

  Metadata Decode(Ref root);

 private:
  void Charge(uint64_t words);
  std::string Copy(std::string_view text);
  void ReadNames(Ref dict);
  void ReadTensor(std::string_view name, Ref value);
  void ReadChunk(Ref value, Tensor& tensor);
  void ReadItems(Ref dict);
  void ReadItem(Ref key, Ref value);
  Item ReadStorageInfo(Ref value);
  size_t NumberOf(std::string_view name);
  Item& ItemOf(std::string_view name, Ref offset);
  uint32_t FileNumber(Ref name);
  void ReadPlannerData(Ref dict);
  void ReadOriginalShapes(Ref dict);
  void ReadUnknown();

  Nodes nodes_;
  uint64_t words_left_;
  Metadata out_;
  // Name -> number of the tensor, or of the object after all tensors.
  std::unordered_map<std::string_view, size_t> numbers_;
  size_t next_number_ = 0;
  std::unordered_map<std::string_view, uint32_t> file_numbers_;
  Dims offset_;  // scratch of ReadItem
};

// Called before anything is copied that other parts of the graph may share.
void Decoder::Charge(uint64_t words) {
  if (words > words_left_) {
    throw InputError("dcp.bad_metadata", Cat("the pickle of ", nodes_.graph().size(), " nodes unfolds to more than ", kWordsPerNode * 8,
                                             " bytes a node: its parts refer to the same lists again and again"));
  }
  words_left_ -= words;
}

std::string Decoder::Copy(std::string_view text) {
  Charge(4 + text.size() / 8);
  return std::string(text);
}

void Decoder::ReadNames(Ref dict) {
  for (const auto& [key, value] : nodes_.DictEntries(dict, "state_dict_metadata")) {
    const std::string_view name = nodes_.String(key, "key of state_dict_metadata");
    try {
      if (nodes_.IsInstance(value, Class::kObject)) {
        nodes_.Attributes<0>(value, Class::kObject, {});
        out_.objects.push_back({std::string(name), {kNoFile, 0, 0}});
      } else {
        ReadTensor(name, value);
      }
    } catch (const Error& error) {
      throw error.At(Quote(name));
    }
  }
}

void Decoder::ReadTensor(std::string_view name, Ref value) {
  if (!nodes_.IsInstance(value, Class::kTensor)) {
    nodes_.Unexpected(value, "entry", "torch's TensorStorageMetadata or BytesStorageMetadata");
  }
  const auto [properties, size, chunks] = nodes_.Attributes<3>(value, Class::kTensor, {"properties", "size", "chunks"});
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = ReadDType(nodes_, properties);
  nodes_.ReadDims(size, "size", tensor.shape);
  const std::optional<uint64_t> elements = Volume(tensor.shape);
  if (!elements || !CheckedMul(*elements, ElementSize(tensor.dtype))) {
    throw InputError("dcp.bad_metadata", Cat("size ", FormatDims(tensor.shape), " has more than 2^64-1 bytes"));
  }
  const std::span<const Ref> items = nodes_.SequenceItems(chunks, "chunks");
  Charge(items.size() * (kWordsPerChunk + 2 * tensor.shape.size()));
  tensor.chunks.reserve(items.size());
  for (const Ref chunk : items) ReadChunk(chunk, tensor);
  SettleChunks(tensor);
  out_.tensors.push_back(std::move(tensor));
}

void Decoder::ReadChunk(Ref value, Tensor& tensor) {
  const auto [offsets, sizes] = nodes_.Attributes<2>(value, Class::kChunk, {"offsets", "sizes"});
  Chunk& chunk = tensor.chunks.emplace_back();
  chunk.item.file = kNoFile;
  nodes_.ReadDims(offsets, "offsets of a chunk", chunk.box.offset);
  nodes_.ReadDims(sizes, "sizes of a chunk", chunk.box.shape);
  if (chunk.box.offset.size() != tensor.shape.size() || chunk.box.shape.size() != tensor.shape.size()) {
    throw InputError("dcp.bad_metadata", Cat("chunk has offsets ", FormatDims(chunk.box.offset), " and sizes ", FormatDims(chunk.box.shape),
                                             ", expected as many dimensions as the tensor ", FormatDims(tensor.shape)));
  }
  // No sum of an offset and a size overflows: each is below 2^63.
}

void Decoder::ReadItems(Ref dict) {
  numbers_.reserve(out_.tensors.size() + out_.objects.size());
  const auto number = [&](std::string_view name) {
    if (!numbers_.emplace(name, numbers_.size()).second) {
      throw InputError("dcp.bad_metadata", Cat("state_dict_metadata has ", Quote(name), " twice"));
    }
  };
  for (const Tensor& tensor : out_.tensors) number(tensor.name);
  for (const Object& object : out_.objects) number(object.name);
  if (dict == kNoRef) return;  // then every chunk lacks its item, if there are any
  for (const auto& [key, value] : nodes_.DictEntries(dict, "storage_data")) ReadItem(key, value);
}

void Decoder::ReadItem(Ref key, Ref value) {
  // `index` is a hint that torch itself does not trust.
  const auto [fqn, offset, index] = nodes_.Attributes<3>(key, Class::kIndex, {"fqn", "offset", "index"});
  const std::string_view name = nodes_.String(fqn, "fqn of MetadataIndex");
  try {
    Item& item = ItemOf(name, offset);
    if (item.file != kNoFile) {
      const std::string where = offset == kNoRef ? std::string("the object") : Cat("the chunk at ", FormatDims(offset_));
      throw InputError("dcp.duplicate_item", Cat("storage_data has two items for ", where));
    }
    item = ReadStorageInfo(value);
  } catch (const Error& error) {
    throw error.At(Quote(name));
  }
}

// Ranks write their items in the order of state_dict_metadata, most often: the next name is tried before the table.
size_t Decoder::NumberOf(std::string_view name) {
  if (next_number_ >= out_.tensors.size() || out_.tensors[next_number_].name != name) {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      throw InputError("dcp.item_without_chunk", "storage_data has an item of this name, state_dict_metadata has not");
    }
    next_number_ = found->second;
  }
  return next_number_++;
}

// The place of the item with this key: of the object, or of the chunk that begins at `offset`.
Item& Decoder::ItemOf(std::string_view name, Ref offset) {
  const size_t number = NumberOf(name);
  if (number >= out_.tensors.size()) {
    if (offset != kNoRef) throw InputError("dcp.item_without_chunk", "the item has an offset, but is a byte object");
    return out_.objects[number - out_.tensors.size()].item;
  }
  if (offset == kNoRef) throw InputError("dcp.item_without_chunk", "the item has no offset, but is a tensor");
  nodes_.ReadDims(offset, "offset of MetadataIndex", offset_);
  std::vector<Chunk>& chunks = out_.tensors[number].chunks;
  const auto chunk = std::lower_bound(chunks.begin(), chunks.end(), offset_,
                                      [](const Chunk& a, const Dims& b) { return a.box.offset < b; });
  if (chunk == chunks.end() || chunk->box.offset != offset_) {
    throw InputError("dcp.item_without_chunk", Cat("no chunk begins at ", FormatDims(offset_), ", where storage_data has an item"));
  }
  return chunk->item;
}

Item Decoder::ReadStorageInfo(Ref value) {
  const auto [path, offset, length, transforms] =
      nodes_.Attributes<4>(value, Class::kStorageInfo, {"relative_path", "offset", "length", "transform_descriptors"});
  const Item item = {FileNumber(path), nodes_.Count(offset, "offset of the item"), nodes_.Count(length, "length of the item")};
  if (transforms == kNoRef) return item;
  std::vector<std::string> descriptors;
  for (const Ref descriptor : nodes_.SequenceItems(transforms, "transform_descriptors")) {
    descriptors.push_back(Copy(nodes_.String(descriptor, "transform descriptor")));
  }
  if (descriptors.empty()) return item;
  const auto [place, is_new] = out_.transforms.try_emplace({item.file, item.offset}, descriptors);
  if (!is_new && place->second != descriptors) {
    throw InputError("dcp.bad_metadata", Cat("two items at byte ", item.offset, " of the same file have different transforms"));
  }
  return item;
}

uint32_t Decoder::FileNumber(Ref name) {
  const std::string_view text = nodes_.String(name, "relative_path");
  const auto [place, is_new] = file_numbers_.try_emplace(text, static_cast<uint32_t>(out_.files.size()));
  if (is_new) {
    if (!IsPlainName(text)) {
      throw InputError("dcp.unsafe_path", Cat("relative_path ", Quote(text), " is not a plain name inside the checkpoint's directory"));
    }
    out_.files.emplace_back(text);
  }
  return place->second;
}

void Decoder::ReadPlannerData(Ref dict) {
  if (dict == kNoRef) return;
  std::map<std::string, Path>& paths = out_.planner_data.emplace();
  for (const auto& [key, value] : nodes_.DictEntries(dict, "planner_data")) {
    Path path;
    for (const Ref element : nodes_.SequenceItems(value, "path of planner_data")) {
      if (nodes_.graph().kind(element) == Kind::kInt) {
        Charge(4);
        path.emplace_back(nodes_.graph().AsInt(element));
      } else {
        path.emplace_back(Copy(nodes_.String(element, "element of a path of planner_data")));
      }
    }
    paths.insert_or_assign(std::string(nodes_.String(key, "key of planner_data")), std::move(path));
  }
}

void Decoder::ReadOriginalShapes(Ref dict) {
  if (dict == kNoRef) return;
  for (const auto& [key, value] : nodes_.DictEntries(dict, "mcore_data")) {
    const std::string_view name = nodes_.String(key, "key of mcore_data");
    if (nodes_.graph().kind(value) == Kind::kNone) continue;
    for (const auto& [member, shape] : nodes_.DictEntries(value, "entry of mcore_data")) {
      const std::string_view member_name = nodes_.String(member, "key in mcore_data");
      if (member_name == kOriginalShape) {
        nodes_.ReadDims(shape, kOriginalShape, out_.original_shapes[std::string(name)]);
      } else {
        nodes_.Note(Cat("ignored member ", Quote(member_name), " of mcore_data: ck does not know it"));
      }
    }
  }
}

// Classes that ck does not know can only hang under attributes that it does not read: everything else was looked at.
void Decoder::ReadUnknown() {
  for (const pickle::GlobalUse& use : pickle::ListGlobals(nodes_.graph())) {
    if (!use.known) out_.unknown_globals.push_back(Cat(use.module, ".", use.name));
  }
  for (const std::string& name : out_.unknown_attributes) {
    nodes_.Note(Cat("ignored attribute ", Quote(name), " of the metadata: ck does not know it"));
  }
}

Metadata Decoder::Decode(Ref root) {
  if (!nodes_.IsInstance(root, Class::kMetadata)) {
    throw InputError("dcp.not_metadata", Cat("the pickle holds ", nodes_.Describe(root), ", expected torch's Metadata"));
  }
  const pickle::Graph& graph = nodes_.graph();
  const Ref state = graph.state(root);
  if (state == kNoRef || graph.kind(state) != Kind::kDict) nodes_.Unexpected(state, "state of Metadata", "a dict of attributes");
  Ref names = kNoRef, items = kNoRef, planner_data = kNoRef, mcore_data = kNoRef;
  for (const auto& [key, value] : graph.entries(state)) {
    const std::string_view name = nodes_.String(key, "name of an attribute of Metadata");
    const bool is_none = graph.kind(value) == Kind::kNone;
    if (name == "state_dict_metadata") {
      names = value;
    } else if (name == "storage_data") {
      items = is_none ? kNoRef : value;
    } else if (name == "planner_data") {
      planner_data = is_none ? kNoRef : value;
    } else if (name == "mcore_data") {
      mcore_data = is_none ? kNoRef : value;
    } else if (name == "version") {
      if (graph.kind(value) == Kind::kString) out_.version = graph.bytes(value);
    } else if (name != "storage_meta" && name != "all_local_plans") {  // who saved it, and the plans of the ranks
      out_.unknown_attributes.emplace_back(name);
    }
  }
  ReadNames(names);
  ReadItems(items);
  ReadPlannerData(planner_data);
  ReadOriginalShapes(mcore_data);
  ReadUnknown();
  out_.notes = nodes_.TakeNotes();
  Settle(out_);
  return std::move(out_);
}

}  // namespace

Metadata DecodeMetadata(std::string_view pickle) {
  const pickle::Unpickled unpickled = pickle::Unpickle(pickle);
  Metadata metadata = Decoder(unpickled.graph).Decode(unpickled.root);
  if (unpickled.bytes_used < pickle.size()) {
    metadata.notes.push_back(Cat(pickle.size() - unpickled.bytes_used, " bytes follow the pickle"));
  }
  return metadata;
}

}  // namespace ck::dcp
