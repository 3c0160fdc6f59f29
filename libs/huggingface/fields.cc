#include "libs/huggingface/fields.h"

#include <cmath>

#include "libs/base/text.h"
#include "libs/huggingface/config.h"

namespace ck::huggingface {
namespace {

constexpr size_t kShownBytes = 120;

// First of `names` that `get` finds; a later one that differs is an error.
template <typename T, typename Get>
std::optional<T> FirstOf(const Fields& fields, std::initializer_list<std::string_view> names, const Get& get) {
  std::optional<T> out;
  std::string_view from;
  for (const std::string_view name : names) {
    const std::optional<T> value = get(name);
    if (!value) continue;
    if (out && *out != *value) throw fields.Conflict(from, name);
    if (!out) from = name;
    out = value;
  }
  return out;
}

}  // namespace

std::string ShowValue(const json::Value& value) {
  std::string text = json::Write(value, {.final_newline = false, .extensions = json::Extensions::kPythonNumbers});
  if (text.size() > kShownBytes)
    text = Cat(text.substr(0, Utf8PrefixLength(std::string_view(text).substr(0, kShownBytes))), "...");
  return text;
}

std::string Fields::Named(std::string_view name) const {
  return Cat("config.json: ", Quote(Cat(where_, name)));
}

Error Fields::Wrong(std::string_view name, std::string_view expected) const {
  const json::Value* value = object_.Find(name);
  return InputError("huggingface.config_type",
                    Cat(Named(name), " is ", value == nullptr ? "absent" : ShowValue(*value), ", expected ", expected));
}

Error Fields::Missing(std::string_view name) const {
  return InputError("huggingface.config_missing",
                    Cat(Named(name), " is missing, and the class has no default for it that is safe to assume"));
}

Error Fields::Conflict(std::string_view first, std::string_view second) const {
  const auto shown = [&](std::string_view name) {
    const json::Value* value = object_.Find(name);
    return value == nullptr ? std::string("absent") : ShowValue(*value);
  };
  return InputError("huggingface.config_conflict",
                    Cat(Named(first), " is ", shown(first), ", ", Quote(Cat(where_, second)), " is ", shown(second),
                        ": they mean the same, and versions of transformers take different ones"));
}

const json::Value* Fields::Find(std::string_view name) const {
  const json::Value* value = object_.Find(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<uint64_t> Fields::Uint(std::string_view name) const {
  const json::Value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->AsUint();
  if (!number) throw Wrong(name, "an integer that is not negative");
  if (*number > kMaxConfigSize)
    throw InputError("huggingface.config_range",
                     Cat(Named(name), " is ", *number, ", expected at most ", kMaxConfigSize));
  return number;
}

std::optional<int64_t> Fields::Int(std::string_view name) const {
  const json::Value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->AsInt()) throw Wrong(name, "an integer");
  return value->AsInt();
}

std::optional<double> Fields::Double(std::string_view name) const {
  const json::Value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = value->AsDouble();
  if (!number || !std::isfinite(*number)) throw Wrong(name, "a finite number");
  return number;
}

std::optional<bool> Fields::Bool(std::string_view name) const {
  const json::Value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->AsBool()) throw Wrong(name, "true or false");
  return value->AsBool();
}

std::optional<std::string> Fields::String(std::string_view name) const {
  const json::Value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->AsString() == nullptr) throw Wrong(name, "a string");
  return *value->AsString();
}

std::vector<double> Fields::Doubles(std::string_view name) const {
  std::vector<double> out;
  const json::Value* value = Find(name);
  if (value == nullptr) return out;
  if (value->AsArray() == nullptr) throw Wrong(name, "a list of numbers");
  for (const json::Value& item : *value->AsArray()) {
    const auto number = item.AsDouble();
    if (!number || !std::isfinite(*number)) throw Wrong(name, "a list of finite numbers");
    out.push_back(*number);
  }
  return out;
}

std::vector<std::string> Fields::Strings(std::string_view name) const {
  std::vector<std::string> out;
  const json::Value* value = Find(name);
  if (value == nullptr) return out;
  if (value->AsArray() == nullptr) throw Wrong(name, "a list of strings");
  for (const json::Value& item : *value->AsArray()) {
    if (item.AsString() == nullptr) throw Wrong(name, "a list of strings");
    out.push_back(*item.AsString());
  }
  return out;
}

std::optional<Fields> Fields::Object(std::string_view name) const {
  const json::Value* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->AsObject() == nullptr) throw Wrong(name, "an object");
  return Fields(*value->AsObject(), Cat(where_, name, "."));
}

uint64_t Fields::Size(std::string_view name) const {
  const auto value = Uint(name);
  if (!value) throw Missing(name);
  if (*value == 0) throw InputError("huggingface.config_range", Cat(Named(name), " is 0"));
  return *value;
}

std::optional<uint64_t> Fields::UintOf(std::initializer_list<std::string_view> names) const {
  return FirstOf<uint64_t>(*this, names, [&](std::string_view name) { return Uint(name); });
}
std::optional<std::string> Fields::StringOf(std::initializer_list<std::string_view> names) const {
  return FirstOf<std::string>(*this, names, [&](std::string_view name) { return String(name); });
}
std::optional<double> Fields::DoubleOf(std::initializer_list<std::string_view> names) const {
  return FirstOf<double>(*this, names, [&](std::string_view name) { return Double(name); });
}

}  // namespace ck::huggingface
