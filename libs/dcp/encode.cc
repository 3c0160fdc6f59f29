// EncodeMetadata writes opcodes directly: a graph of a large `.metadata` would be many times its size. Every string, class, dtype and size is
// written once and then referred to through the memo.
#include <unordered_map>

#include "libs/base/error.h"
#include "libs/dcp/metadata.h"
#include "libs/bytes/reader.h"

namespace ck::dcp {
namespace {

constexpr char kMetadataModule[] = "torch.distributed.checkpoint.metadata";
constexpr char kFilesystemModule[] = "torch.distributed.checkpoint.filesystem";
// Fixed, where torch has a path and a random id: the bytes are a function of the metadata.
constexpr char kCheckpointId[] = "ck";
constexpr char kSaveId[] = "00000000-0000-0000-0000-000000000000";
constexpr char kVersion[] = "1.0.0";
// Entries between MARK and SETITEMS or APPENDS, as Python has it: bounds the reader's stack.
constexpr size_t kBatch = 1000;

enum Opcode : char {
  kAppends = 'e', kBinGet = 'h', kBinInt = 'J', kBinInt1 = 'K', kBinInt2 = 'M', kBinUnicode = 'X', kBuild = 'b',
  kEmptyDict = '}', kEmptyList = ']', kEmptyTuple = ')', kLongBinGet = 'j', kMark = '(', kNone = 'N', kReduce = 'R',
  kSetItems = 'u', kStop = '.', kTuple = 't',
  kBinUnicode8 = '\x8d', kLong1 = '\x8a', kMemoize = '\x94', kNewFalse = '\x89', kNewObj = '\x81', kProto = '\x80',
  kShortBinUnicode = '\x8c', kStackGlobal = '\x93', kTuple1 = '\x85',
};

// Small pieces of the pickle language. Every function but Put leaves one more value on the stack.
class Writer {
 public:
  void Put(Opcode opcode) { out_.push_back(opcode); }
  void None() { Put(kNone); }
  void Int(uint64_t value);
  void Text(std::string_view text);
  void Global(std::string_view module, std::string_view name);
  void Tuple(const Dims& dims);
  void Size(const Dims& dims);
  void Properties(DType dtype);
  // An object without attributes; Begin and End around keys and values give it some.
  void NewObject(std::string_view module, std::string_view name);
  void BeginObject(std::string_view module, std::string_view name);
  void EndObject() { Put(kSetItems), Put(kBuild); }
  std::string Take() { return std::move(out_); }

 private:
  // True when the value with this key was written before: then it is on the stack now. Keys begin with a letter of their type.
  bool Recall(const std::string& key);
  void Remember(std::string key);

  std::string out_;
  std::unordered_map<std::string, uint32_t> memo_;
};

// A dict or list under construction: opens and closes batches.
class Batches {
 public:
  Batches(Writer& writer, Opcode close) : writer_(writer), close_(close) {}
  void Next() {
    if (count_ % kBatch == 0) {
      if (count_ != 0) writer_.Put(close_);
      writer_.Put(kMark);
    }
    ++count_;
  }
  void Finish() {
    if (count_ != 0) writer_.Put(close_);
  }

 private:
  Writer& writer_;
  Opcode close_;
  size_t count_ = 0;
};

bool Writer::Recall(const std::string& key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) return false;
  if (found->second < 256) {
    Put(kBinGet);
    out_.push_back(static_cast<char>(found->second));
  } else {
    Put(kLongBinGet);
    bytes::PutU32(out_, found->second);
  }
  return true;
}

void Writer::Remember(std::string key) {
  Put(kMemoize);
  memo_.emplace(std::move(key), static_cast<uint32_t>(memo_.size()));
}

void Writer::Int(uint64_t value) {
  if (value < 0x100) {
    Put(kBinInt1);
    out_.push_back(static_cast<char>(value));
  } else if (value < 0x10000) {
    Put(kBinInt2);
    bytes::PutU16(out_, static_cast<uint16_t>(value));
  } else if (value < 0x80000000) {
    Put(kBinInt);
    bytes::PutU32(out_, static_cast<uint32_t>(value));
  } else {
    std::string digits;  // two's complement, so that the top bit of the last byte is the sign
    for (uint64_t rest = value; rest != 0; rest >>= 8) digits.push_back(static_cast<char>(rest & 0xff));
    if ((static_cast<unsigned char>(digits.back()) & 0x80) != 0) digits.push_back('\0');
    Put(kLong1);
    out_.push_back(static_cast<char>(digits.size()));
    out_ += digits;
  }
}

void Writer::Text(std::string_view text) {
  std::string key = "s";
  key += text;
  if (Recall(key)) return;
  if (text.size() < 0x100) {
    Put(kShortBinUnicode);
    out_.push_back(static_cast<char>(text.size()));
  } else if (text.size() <= 0xffffffff) {
    Put(kBinUnicode);
    bytes::PutU32(out_, static_cast<uint32_t>(text.size()));
  } else {
    Put(kBinUnicode8);
    bytes::PutU64(out_, text.size());
  }
  out_ += text;
  Remember(std::move(key));
}

void Writer::Global(std::string_view module, std::string_view name) {
  std::string key = "g";
  key.append(module).append(" ").append(name);
  if (Recall(key)) return;
  Text(module);
  Text(name);
  Put(kStackGlobal);
  Remember(std::move(key));
}

void Writer::Tuple(const Dims& dims) {
  if (dims.empty()) return Put(kEmptyTuple);
  Put(kMark);
  for (const uint64_t dim : dims) Int(dim);
  Put(kTuple);
}

void Writer::Size(const Dims& dims) {
  std::string key = "d";
  for (const uint64_t dim : dims) bytes::PutU64(key, dim);
  if (Recall(key)) return;
  Global("torch", "Size");
  Tuple(dims);
  Put(kTuple1);
  Put(kReduce);
  Remember(std::move(key));
}

void Writer::Properties(DType dtype) {
  std::string key = "p";
  key += TorchName(dtype);
  if (Recall(key)) return;
  NewObject(kMetadataModule, "TensorProperties");
  Put(kMark);
  Global("torch", TorchName(dtype));
  Global("torch.serialization", "_get_layout");
  Text("torch.strided");
  Put(kTuple1);
  Put(kReduce);
  Put(kNewFalse);  // requires_grad
  Global(kMetadataModule, "_MEM_FORMAT_ENCODING");
  Int(0);  // contiguous
  Put(kTuple1);
  Put(kReduce);
  Put(kNewFalse);  // pin_memory
  Put(kTuple);
  Put(kBuild);
  Remember(std::move(key));
}

void Writer::NewObject(std::string_view module, std::string_view name) {
  Global(module, name);
  Put(kEmptyTuple);
  Put(kNewObj);
}

void Writer::BeginObject(std::string_view module, std::string_view name) {
  NewObject(module, name);
  Put(kEmptyDict);
  Put(kMark);
}

class Encoder {
 public:
  explicit Encoder(const Metadata& metadata) : metadata_(metadata) {}
  std::string Encode();

 private:
  void WriteTensor(const Tensor& tensor);
  void WriteNames();
  void WriteItem(std::string_view name, const Dims* offset, const Item& item);
  void WriteItems();
  void WritePlannerData();
  void WriteStorageMeta();
  void WriteOriginalShapes();

  const Metadata& metadata_;
  Writer w_;
};

void Encoder::WriteTensor(const Tensor& tensor) {
  w_.BeginObject(kMetadataModule, "TensorStorageMetadata");
  w_.Text("properties");
  w_.Properties(tensor.dtype);
  w_.Text("size");
  w_.Size(tensor.shape);
  w_.Text("chunks");
  w_.Put(kEmptyList);
  Batches batches(w_, kAppends);
  for (const Chunk& chunk : tensor.chunks) {
    batches.Next();
    w_.BeginObject(kMetadataModule, "ChunkStorageMetadata");
    w_.Text("offsets");
    w_.Size(chunk.box.offset);
    w_.Text("sizes");
    w_.Size(chunk.box.shape);
    w_.EndObject();
  }
  batches.Finish();
  w_.EndObject();
}

void Encoder::WriteNames() {
  w_.Put(kEmptyDict);
  Batches batches(w_, kSetItems);
  for (const Object& object : metadata_.objects) {
    batches.Next();
    w_.Text(object.name);
    w_.NewObject(kMetadataModule, "BytesStorageMetadata");
  }
  for (const Tensor& tensor : metadata_.tensors) {
    batches.Next();
    w_.Text(tensor.name);
    WriteTensor(tensor);
  }
  batches.Finish();
}

void Encoder::WriteItem(std::string_view name, const Dims* offset, const Item& item) {
  Check(item.file < metadata_.files.size(), "an item's file is one of the metadata");
  w_.BeginObject(kMetadataModule, "MetadataIndex");
  w_.Text("fqn");
  w_.Text(name);
  w_.Text("index");
  w_.None();
  if (offset != nullptr) {
    w_.Text("offset");
    w_.Size(*offset);
  }
  w_.EndObject();
  w_.BeginObject(kFilesystemModule, "_StorageInfo");
  w_.Text("relative_path");
  w_.Text(metadata_.files[item.file]);
  w_.Text("offset");
  w_.Int(item.offset);
  w_.Text("length");
  w_.Int(item.length);
  const auto transforms = metadata_.transforms.find({item.file, item.offset});
  if (transforms != metadata_.transforms.end()) {
    w_.Text("transform_descriptors");
    w_.Put(kEmptyList);
    Batches batches(w_, kAppends);
    for (const std::string& descriptor : transforms->second) {
      batches.Next();
      w_.Text(descriptor);
    }
    batches.Finish();
  }
  w_.EndObject();
}

void Encoder::WriteItems() {
  w_.Put(kEmptyDict);
  Batches batches(w_, kSetItems);
  for (const Object& object : metadata_.objects) {
    batches.Next();
    WriteItem(object.name, nullptr, object.item);
  }
  for (const Tensor& tensor : metadata_.tensors) {
    for (const Chunk& chunk : tensor.chunks) {
      if (chunk.item.length == 0 && chunk.box.IsEmpty()) continue;
      batches.Next();
      WriteItem(tensor.name, &chunk.box.offset, chunk.item);
    }
  }
  batches.Finish();
}

void Encoder::WritePlannerData() {
  if (!metadata_.planner_data) return w_.None();
  w_.Put(kEmptyDict);
  Batches batches(w_, kSetItems);
  for (const auto& [name, path] : *metadata_.planner_data) {
    batches.Next();
    w_.Text(name);
    w_.Put(kMark);
    for (const PathElement& element : path) {
      if (const std::string* key = std::get_if<std::string>(&element)) {
        w_.Text(*key);
      } else {
        const int64_t index = std::get<int64_t>(element);
        Check(index >= 0, "a list index is not negative");
        w_.Int(static_cast<uint64_t>(index));
      }
    }
    w_.Put(kTuple);
  }
  batches.Finish();
}

void Encoder::WriteStorageMeta() {
  w_.BeginObject(kMetadataModule, "StorageMeta");
  w_.Text("checkpoint_id");
  w_.Text(kCheckpointId);
  w_.Text("save_id");
  w_.Text(kSaveId);
  w_.Text("load_id");
  w_.None();
  w_.Text("modules");  // without it newer versions of torch cannot show or compare the object
  w_.Put(kEmptyList);
  w_.EndObject();
}

void Encoder::WriteOriginalShapes() {
  w_.Put(kEmptyDict);
  Batches batches(w_, kSetItems);
  for (const auto& [name, shape] : metadata_.original_shapes) {
    batches.Next();
    w_.Text(name);
    w_.Put(kEmptyDict);
    w_.Put(kMark);
    w_.Text("nd_reformulated_orig_global_shape");
    w_.Tuple(shape);
    w_.Put(kSetItems);
  }
  batches.Finish();
}

std::string Encoder::Encode() {
  w_.Put(kProto);
  w_.Put(static_cast<Opcode>(4));
  w_.BeginObject(kMetadataModule, "Metadata");
  w_.Text("state_dict_metadata");
  WriteNames();
  w_.Text("planner_data");
  WritePlannerData();
  w_.Text("storage_data");
  WriteItems();
  w_.Text("storage_meta");
  WriteStorageMeta();
  w_.Text("version");
  w_.Text(kVersion);
  if (!metadata_.original_shapes.empty()) {
    w_.Text("mcore_data");
    WriteOriginalShapes();
  }
  w_.EndObject();
  w_.Put(kStop);
  return w_.Take();
}

}  // namespace

std::string EncodeMetadata(const Metadata& metadata) { return Encoder(metadata).Encode(); }

}  // namespace ck::dcp
