#include "libs/json/value.h"

#include <algorithm>
#include <limits>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/json/hash.h"

namespace ck::json {
namespace {

constexpr size_t kLinearMembers = 16;  // below this a scan is faster than hashing

// The slot that holds `key`, or the free one where it belongs. The table is never full.
size_t FindSlot(const std::vector<uint32_t>& slots, const std::vector<Member>& members, std::string_view key) {
  const size_t mask = slots.size() - 1;
  size_t slot = static_cast<size_t>(HashKey(key)) & mask;
  while (slots[slot] != 0 && members[slots[slot] - 1].first != key) slot = (slot + 1) & mask;
  return slot;
}

}  // namespace

const Value* Object::Find(std::string_view key) const {
  if (!slots_.empty()) {
    const uint32_t found = slots_[FindSlot(slots_, members_, key)];
    return found == 0 ? nullptr : &members_[found - 1].second;
  }
  for (const Member& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Value* Object::Find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).Find(key)); }

Object& Object::Set(std::string_view key, Value value) {
  if (Value* found = Find(key)) {
    *found = std::move(value);
    return *this;
  }
  members_.emplace_back(std::string(key), std::move(value));
  AddToIndex(members_.size() - 1);
  return *this;
}

bool Object::Erase(std::string_view key) {
  const auto member = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.first == key; });
  if (member == members_.end()) return false;
  members_.erase(member);
  RebuildIndex();
  return true;
}

void Object::AddToIndex(size_t position) {
  Check(position < std::numeric_limits<uint32_t>::max(), "a JSON object has fewer than 2^32 - 1 members");
  if (members_.size() <= kLinearMembers) return;
  if (members_.size() * 2 > slots_.size()) {
    RebuildIndex();
  } else {
    slots_[FindSlot(slots_, members_, members_[position].first)] = static_cast<uint32_t>(position + 1);
  }
}

void Object::RebuildIndex() {
  slots_.clear();
  if (members_.size() <= kLinearMembers) return;
  size_t size = 4 * kLinearMembers;
  while (size < members_.size() * 4) size *= 2;
  slots_.resize(size);
  for (size_t i = 0; i < members_.size(); ++i) {
    slots_[FindSlot(slots_, members_, members_[i].first)] = static_cast<uint32_t>(i + 1);
  }
}

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.members_.begin(), a.members_.end(), [&](const Member& member) {
    const Value* other = b.Find(member.first);
    return other != nullptr && *other == member.second;
  });
}

Value::Value(uint64_t v) {
  if (v <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    data_ = static_cast<int64_t>(v);
  } else {
    data_ = v;
  }
}

Value::Value(Array v) : data_(std::move(v)) {}
Value::Value(Object v) : data_(std::move(v)) {}

Type Value::type() const { return static_cast<Type>(data_.index()); }

std::optional<bool> Value::AsBool() const {
  const bool* v = std::get_if<bool>(&data_);
  return v == nullptr ? std::nullopt : std::optional(*v);
}

std::optional<int64_t> Value::AsInt() const {
  const int64_t* v = std::get_if<int64_t>(&data_);
  return v == nullptr ? std::nullopt : std::optional(*v);
}

std::optional<uint64_t> Value::AsUint() const {
  if (const uint64_t* v = std::get_if<uint64_t>(&data_)) return *v;
  const int64_t* v = std::get_if<int64_t>(&data_);
  return v == nullptr || *v < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(*v));
}

std::optional<double> Value::AsDouble() const {
  if (const double* v = std::get_if<double>(&data_)) return *v;
  if (const int64_t* v = std::get_if<int64_t>(&data_)) return static_cast<double>(*v);
  if (const uint64_t* v = std::get_if<uint64_t>(&data_)) return static_cast<double>(*v);
  return std::nullopt;
}

const std::string* Value::AsString() const { return std::get_if<std::string>(&data_); }
const Array* Value::AsArray() const { return std::get_if<Array>(&data_); }
Array* Value::AsArray() { return std::get_if<Array>(&data_); }
const Object* Value::AsObject() const { return std::get_if<Object>(&data_); }
Object* Value::AsObject() { return std::get_if<Object>(&data_); }

bool operator==(const Value& a, const Value& b) { return a.data_ == b.data_; }

std::string_view TypeName(Type type) {
  switch (type) {
    case Type::kNull: return "null";
    case Type::kBool: return "boolean";
    case Type::kInt:
    case Type::kUint: return "integer";
    case Type::kDouble: return "number";
    case Type::kString: return "string";
    case Type::kArray: return "array";
    case Type::kObject: return "object";
  }
  return "unknown";
}

std::string ToUtf8(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  while (!bytes.empty()) {
    const size_t good = Utf8PrefixLength(bytes);
    out.append(bytes.substr(0, good));
    bytes.remove_prefix(good);
    if (bytes.empty()) break;
    const auto byte = static_cast<uint8_t>(bytes.front());
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
    bytes.remove_prefix(1);
  }
  return out;
}

}  // namespace ck::json
