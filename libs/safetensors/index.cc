#include <cmath>
#include <optional>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/plain_name.h"
#include "libs/base/text.h"
#include "libs/json/value.h"
#include "libs/safetensors/header.h"

namespace ck::safetensors {
namespace {

json::Value ParseText(std::string_view text) {
  if (text.size() > kMaxIndexBytes) {
    throw InputError("safetensors.bad_index", Cat("index of ", text.size(), " bytes, expected at most ", kMaxIndexBytes));
  }
  try {
    return json::Parse(text);
  } catch (const Error& error) {
    if (error.code() != Code::kInput) throw;
    const bool duplicate = error.id() == "json.duplicate_key";
    throw InputError(duplicate ? "safetensors.duplicate_key" : "safetensors.bad_index", Cat("index: ", error.message()));
  }
}

// A count under `metadata`; 0 when absent. Some tools write a whole number as a float.
uint64_t ReadCount(const json::Object& metadata, std::string_view key) {
  const json::Value* value = metadata.Find(key);
  if (value == nullptr) return 0;
  if (const std::optional<uint64_t> count = value->AsUint()) return *count;
  constexpr double kExact = 9007199254740992.0;  // 2^53: every whole number up to here is exact
  const std::optional<double> number = value->AsDouble();
  if (value->type() == json::Type::kDouble && *number >= 0 && *number <= kExact && std::floor(*number) == *number) {
    return static_cast<uint64_t>(*number);
  }
  throw InputError("safetensors.bad_index", Cat("index: ", key, " is not a count but ", json::TypeName(value->type())));
}

void ReadWeightMap(const json::Object& root, Index& index) {
  const json::Value* value = root.Find("weight_map");
  const json::Object* map = value == nullptr ? nullptr : value->AsObject();
  if (map == nullptr) throw InputError("safetensors.bad_index", "index: weight_map is missing or not an object");
  for (const auto& [name, file] : map->members()) {
    const std::string* text = file.AsString();
    if (text == nullptr) {
      throw InputError("safetensors.bad_index", Cat("index: tensor ", Quote(name), ": file name is ", json::TypeName(file.type()),
                                                    ", expected a string"));
    }
    if (!IsPlainName(*text)) {
      throw InputError("safetensors.unsafe_path", Cat("index: tensor ", Quote(name), ": file ", Quote(*text),
                                                      " is not a plain name inside the model's directory"));
    }
    index.weight_map.emplace(name, *text);
  }
}

}  // namespace

Index ReadIndex(std::string_view json) {
  const json::Value root = ParseText(json);
  const json::Object* object = root.AsObject();
  if (object == nullptr) {
    throw InputError("safetensors.bad_index", Cat("index is ", json::TypeName(root.type()), ", expected an object"));
  }
  Index index;
  ReadWeightMap(*object, index);
  if (const json::Value* metadata = object->Find("metadata")) {
    if (metadata->AsObject() == nullptr) throw InputError("safetensors.bad_index", "index: metadata is not an object");
    index.total_size = ReadCount(*metadata->AsObject(), "total_size");
    index.total_parameters = ReadCount(*metadata->AsObject(), "total_parameters");
  }
  return index;
}

std::string WriteIndex(const Index& index) {
  json::Object metadata;
  if (index.total_parameters != 0) metadata.Set("total_parameters", index.total_parameters);
  metadata.Set("total_size", index.total_size);
  json::Object map;
  for (const auto& [name, file] : index.weight_map) {
    Check(IsPlainName(file), "a shard's name is a plain one");
    map.Set(name, file);
  }
  json::Object root;
  root.Set("metadata", std::move(metadata));
  root.Set("weight_map", std::move(map));
  return json::Write(std::move(root), {.indent = 2, .final_newline = true});
}

}  // namespace ck::safetensors
