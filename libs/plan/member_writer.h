// Writes the members of a struct into a JSON object: the encoding visitor of members.h.
#ifndef CK_PLAN_MEMBER_WRITER_H_
#define CK_PLAN_MEMBER_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "libs/base/text.h"
#include "libs/json/value.h"
#include "libs/plan/forms.h"
#include "libs/plan/names.h"
#include "libs/plan/plan.h"

namespace ck::plan::internal {

class MemberWriter {
 public:
  explicit MemberWriter(std::string where) : where_(std::move(where)) {}

  template <typename T>
  void Required(std::string_view name, const T& value) {
    object_.Set(name, ToValue(name, value));
  }
  template <typename T>
  void Member(std::string_view name, const T& value, const std::type_identity_t<T>& default_value) {
    if (value != default_value) Required(name, value);
  }
  template <typename T>
  void Member(std::string_view name, const std::optional<T>& value, const std::optional<T>&) {
    if (value) Required(name, *value);
  }
  template <typename T>
  void Nullable(std::string_view name, const std::optional<T>& value) {
    Member(name, value, {});
  }
  template <typename T>
  void Positive(std::string_view name, const T& value, const std::type_identity_t<T>& default_value) {
    Member(name, value, default_value);
  }
  void RequiredPath(std::string_view name, const std::string& value) { Required(name, value); }
  void Path(std::string_view name, const std::optional<std::string>& value) { Member(name, value, {}); }
  void Seed(std::string_view name, const std::string& value, const std::string& d) { Member(name, value, d); }
  void Sha256(std::string_view name, const std::optional<std::string>& value) { Member(name, value, {}); }
  void Style(std::string_view name, const std::optional<std::string>& value) { Member(name, value, {}); }
  void MegatronFormat(std::string_view name, const std::optional<Format>& value) { Member(name, value, {}); }
  void CommonFromMember(std::string_view name, const plan::CommonFrom& value) {
    if (const uint64_t* index = std::get_if<uint64_t>(&value)) Required(name, *index);
    if (const std::string* path = std::get_if<std::string>(&value)) Required(name, *path);
  }
  template <typename T>
  void Child(std::string_view name, T& value) {
    MemberWriter child(where_ + "." + std::string(name));
    Visit(child, value);
    if (!child.object_.empty()) object_.Set(name, std::move(child.object_));
  }

  json::Object Take() { return std::move(object_); }

 private:
  template <typename T>
  json::Value ToValue(std::string_view name, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return json::Value(Name(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!IsUtf8(value)) {
        throw PlanError("plan.bad_value", Cat(where_, ".", name),
                        Cat("a plan cannot hold ", Quote(value), ", which is not UTF-8"));
      }
      return json::Value(value);
    } else {
      return json::Value(value);
    }
  }

  std::string where_;
  json::Object object_;
};

}  // namespace ck::plan::internal

#endif  // CK_PLAN_MEMBER_WRITER_H_
