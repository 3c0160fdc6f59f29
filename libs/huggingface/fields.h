// Typed access to the members of a config.json. null counts as absent; a member of another type is an error that names
// it.
//
// Errors.  huggingface.config_missing, huggingface.config_type, huggingface.config_range, huggingface.config_conflict
// (kInput).
#ifndef CK_HUGGINGFACE_FIELDS_H_
#define CK_HUGGINGFACE_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/base/error.h"
#include "libs/json/value.h"

namespace ck::huggingface {

class Fields {
 public:
  // `where` comes before names in messages: "" for the document, "rope_scaling." for a member of it.
  explicit Fields(const json::Object& object, std::string where = "") : object_(object), where_(std::move(where)) {}

  // nullptr when absent or null. Present: absent or not, null counts as there.
  const json::Value* Find(std::string_view name) const;
  bool Present(std::string_view name) const { return object_.Find(name) != nullptr; }

  std::optional<uint64_t> Uint(std::string_view name) const;  // 0 to kMaxConfigSize
  std::optional<double> Double(std::string_view name) const;  // finite
  std::optional<bool> Bool(std::string_view name) const;
  std::optional<std::string> String(std::string_view name) const;
  std::optional<int64_t> Int(std::string_view name) const;
  std::vector<double> Doubles(std::string_view name) const;       // empty when absent
  std::vector<std::string> Strings(std::string_view name) const;  // empty when absent
  std::optional<Fields> Object(std::string_view name) const;

  // A size that must be there and positive.
  uint64_t Size(std::string_view name) const;
  // The names mean one thing: the first that is there; two that differ are an error.
  std::optional<uint64_t> UintOf(std::initializer_list<std::string_view> names) const;
  std::optional<std::string> StringOf(std::initializer_list<std::string_view> names) const;
  std::optional<double> DoubleOf(std::initializer_list<std::string_view> names) const;

  const json::Object& object() const { return object_; }
  // "config.json: 'rope_scaling.factor'"
  std::string Named(std::string_view name) const;
  Error Wrong(std::string_view name, std::string_view expected) const;
  Error Missing(std::string_view name) const;
  Error Conflict(std::string_view first, std::string_view second) const;

 private:
  const json::Object& object_;
  std::string where_;
};

// A value as JSON on one line, cut for a message.
std::string ShowValue(const json::Value& value);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_FIELDS_H_
