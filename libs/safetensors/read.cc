#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/reader.h"
#include "libs/json/value.h"
#include "libs/safetensors/file_dtype.h"
#include "libs/safetensors/header.h"

namespace ck::safetensors {
namespace {

constexpr uint64_t kPrefixBytes = 8;  // the length of the JSON text, little-endian

// The member's type for a message; "nothing" when it is absent.
std::string_view Found(const json::Value* value) { return value == nullptr ? "nothing" : json::TypeName(value->type()); }

json::Value ParseText(std::string_view text) {
  try {
    return json::Parse(text);
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;
    const bool duplicate = error.id() == "json.duplicate_key";
    throw InputError(duplicate ? "safetensors.duplicate_key" : "safetensors.bad_json", Cat("header: ", error.message()));
  }
}

std::map<std::string, std::string> ReadMetadata(const json::Value& value) {
  const json::Object* object = value.AsObject();
  if (object == nullptr) {
    throw InputError("safetensors.bad_metadata", Cat("__metadata__ is ", Found(&value), ", expected an object of strings"));
  }
  std::map<std::string, std::string> metadata;
  for (const auto& [key, member] : object->members()) {
    const std::string* text = member.AsString();
    if (text == nullptr) {
      throw InputError("safetensors.bad_metadata",
                       Cat("__metadata__ member ", Quote(key), " is ", Found(&member), ", expected a string"));
    }
    metadata.emplace(key, *text);
  }
  return metadata;
}

DType ReadDType(const json::Object& entry) {
  const json::Value* value = entry.Find("dtype");
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  if (text == nullptr) throw InputError("safetensors.unknown_dtype", Cat("dtype is ", Found(value), ", expected a string"));
  const std::optional<DType> dtype = FileDType(*text);
  if (!dtype) throw InputError("safetensors.unknown_dtype", Cat("dtype ", Quote(*text), " is not one that ck reads"));
  return *dtype;
}

Dims ReadShape(const json::Object& entry) {
  const json::Value* value = entry.Find("shape");
  const json::Array* array = value == nullptr ? nullptr : value->AsArray();
  if (array == nullptr) throw InputError("safetensors.bad_shape", Cat("shape is ", Found(value), ", expected an array"));
  if (array->size() > kMaxRank) {
    throw InputError("safetensors.bad_shape", Cat("shape has ", array->size(), " dimensions, expected at most ", kMaxRank));
  }
  Dims shape;
  for (const json::Value& element : *array) {
    const std::optional<uint64_t> dim = element.AsUint();
    if (!dim) {
      throw InputError("safetensors.bad_shape",
                       Cat("dimension ", shape.size(), " of shape is ", Found(&element), ", expected an integer from 0 to 2^64-1"));
    }
    shape.push_back(*dim);
  }
  return shape;
}

std::pair<uint64_t, uint64_t> ReadOffsets(const json::Object& entry) {
  const json::Value* value = entry.Find("data_offsets");
  const json::Array* array = value == nullptr ? nullptr : value->AsArray();
  if (array == nullptr) {
    throw InputError("safetensors.bad_offsets", Cat("data_offsets is ", Found(value), ", expected an array of two integers"));
  }
  if (array->size() != 2) {
    throw InputError("safetensors.bad_offsets", Cat("data_offsets has ", array->size(), " elements, expected two"));
  }
  const std::optional<uint64_t> begin = (*array)[0].AsUint();
  const std::optional<uint64_t> end = (*array)[1].AsUint();
  if (!begin || !end) {
    throw InputError("safetensors.bad_offsets", "data_offsets holds something else than integers from 0 to 2^64-1");
  }
  if (*begin > *end) throw InputError("safetensors.bad_offsets", Cat("data_offsets end at ", *end, ", before they begin at ", *begin));
  return {*begin, *end};
}

// The stored bytes; multiplied in order, so that an overflow before a dimension of 0 is one, as in the Rust library.
uint64_t StoredBytes(DType dtype, const Dims& shape) {
  std::optional<uint64_t> bytes = ElementSize(dtype);
  std::optional<uint64_t> elements = 1;
  for (const uint64_t dim : shape) {
    elements = CheckedMul(*elements, dim);
    if (!elements) break;
  }
  if (elements) bytes = CheckedMul(*elements, *bytes);
  if (!elements || !bytes) {
    throw InputError("safetensors.bad_shape", Cat("shape ", FormatDims(shape), " has more than 2^64-1 bytes"));
  }
  return *bytes;
}

// A tensor with its offsets still counted from the start of the data.
Tensor ReadTensor(const std::string& name, const json::Value& value) {
  const json::Object* entry = value.AsObject();
  if (entry == nullptr) throw InputError("safetensors.bad_json", Cat("entry is ", Found(&value), ", expected an object"));
  Tensor tensor;
  tensor.name = name;
  tensor.dtype = ReadDType(*entry);
  tensor.shape = ReadShape(*entry);
  if (tensor.dtype == DType::kF4) {
    if (tensor.shape.empty() || tensor.shape.back() % 2 != 0) {
      throw InputError("safetensors.bad_shape",
                       Cat("shape ", FormatDims(tensor.shape), " of F4 has no even last dimension: rows must be whole bytes"));
    }
    tensor.shape.back() /= 2;
  }
  std::tie(tensor.begin, tensor.end) = ReadOffsets(*entry);
  const uint64_t expected = StoredBytes(tensor.dtype, tensor.shape);
  if (tensor.end - tensor.begin != expected) {
    throw InputError("safetensors.size_mismatch",
                     Cat("data_offsets span ", tensor.end - tensor.begin, " bytes, expected ", expected, " for ", Name(tensor.dtype),
                         " ", FormatDims(tensor.shape)));
  }
  return tensor;
}

// The data must be the tensors one after the other: no byte unused, none used twice.
void CheckLayout(std::vector<const Tensor*> order, uint64_t data_bytes) {
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return std::tie(a->begin, a->end, a->name) < std::tie(b->begin, b->end, b->name);
  });
  uint64_t position = 0;
  for (const Tensor* tensor : order) {
    if (tensor->end > data_bytes) {
      throw InputError("safetensors.truncated", Cat("tensor ", Quote(tensor->name), " ends at byte ", tensor->end,
                                                    " of the data, but the file has only ", data_bytes));
    }
    if (tensor->begin != position) {
      const bool hole = tensor->begin > position;
      throw InputError(hole ? "safetensors.hole" : "safetensors.overlap",
                       Cat("tensor ", Quote(tensor->name), " begins at byte ", tensor->begin, " of the data, expected ", position,
                           ", where the one before ends"));
    }
    position = tensor->end;
  }
  if (position != data_bytes) {
    throw InputError("safetensors.trailing_bytes",
                     Cat("the tensors end at byte ", position, " of the data, the file goes on to byte ", data_bytes));
  }
}

Header ParseHeader(std::string_view text, uint64_t data_begin, uint64_t data_bytes) {
  const json::Value root = ParseText(text);
  const json::Object* object = root.AsObject();
  if (object == nullptr) throw InputError("safetensors.bad_json", Cat("header is ", Found(&root), ", expected an object"));
  Header header;
  header.data_begin = data_begin;
  header.tensors.reserve(object->size());
  for (const auto& [name, value] : object->members()) {
    if (name == "__metadata__") {
      header.metadata = ReadMetadata(value);
      continue;
    }
    try {
      header.tensors.push_back(ReadTensor(name, value));
    } catch (const Error& error) {
      throw error.At(Cat("tensor ", Quote(name)));
    }
  }
  std::vector<const Tensor*> order;
  order.reserve(header.tensors.size());
  for (const Tensor& tensor : header.tensors) order.push_back(&tensor);
  CheckLayout(std::move(order), data_bytes);
  for (Tensor& tensor : header.tensors) {  // no overflow: both ends lie inside the file now
    tensor.begin += data_begin;
    tensor.end += data_begin;
  }
  std::sort(header.tensors.begin(), header.tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  return header;
}

}  // namespace

Header ReadHeader(const bytes::Source& file) {
  const uint64_t file_bytes = file.size();
  if (file_bytes < kPrefixBytes) {
    throw InputError("safetensors.too_short", Cat(file.name(), ": ", file_bytes, " bytes, expected at least ", kPrefixBytes));
  }
  const std::string prefix = file.Read(0, kPrefixBytes, kPrefixBytes);
  const uint64_t header_bytes = bytes::Reader(prefix, "safetensors.too_short", "header length").U64();
  if (header_bytes > kMaxHeaderBytes) {
    throw InputError("safetensors.header_too_long",
                     Cat(file.name(), ": header of ", header_bytes, " bytes, the format allows ", kMaxHeaderBytes));
  }
  if (header_bytes > file_bytes - kPrefixBytes) {
    throw InputError("safetensors.header_past_end", Cat(file.name(), ": header of ", header_bytes, " bytes, the file has ",
                                                        file_bytes - kPrefixBytes, " after the length"));
  }
  const std::string text = file.Read(kPrefixBytes, header_bytes, kMaxHeaderBytes);
  const uint64_t data_begin = kPrefixBytes + header_bytes;
  try {
    return ParseHeader(text, data_begin, file_bytes - data_begin);
  } catch (const Error& error) {
    throw error.At(file.name());
  }
}

}  // namespace ck::safetensors
