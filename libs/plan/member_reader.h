// Reads the members of one JSON object into a struct: the decoding visitor of members.h.
#ifndef CK_PLAN_MEMBER_READER_H_
#define CK_PLAN_MEMBER_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "libs/base/text.h"
#include "libs/json/value.h"
#include "libs/plan/forms.h"
#include "libs/plan/names.h"
#include "libs/plan/plan.h"

namespace ck::plan::internal {

// Errors: plan.missing_member, plan.bad_type, plan.bad_value, plan.bad_path, each with the JSON path; Finish:
// plan.unknown_member.
class MemberReader {
 public:
  // `value` must be an object that outlives the reader. `where` is its JSON path, "" for the document.
  MemberReader(const json::Value& value, std::string where);

  // Each gives the member's value or nullptr, and remembers the name as known.
  const json::Value* Find(std::string_view name);
  const json::Value& Need(std::string_view name);
  std::string PathOf(std::string_view name) const;

  template <typename T>
  void Required(std::string_view name, T& out) {
    Read(Need(name), PathOf(name), out);
  }
  template <typename T>
  void Member(std::string_view name, T& out, const std::type_identity_t<T>&) {
    if (const json::Value* value = Find(name)) Read(*value, PathOf(name), out);
  }
  template <typename T>
  void Nullable(std::string_view name, std::optional<T>& out) {
    const json::Value* value = Find(name);
    if (value != nullptr && !value->is_null()) Read(*value, PathOf(name), out);
  }
  template <typename T>
  void Positive(std::string_view name, T& out, const std::type_identity_t<T>& unused) {
    Member(name, out, unused);
    CheckPositive(name, out);
  }
  void RequiredPath(std::string_view name, std::string& out);
  void Path(std::string_view name, std::optional<std::string>& out);
  void Seed(std::string_view name, std::string& out, const std::string&);
  void Sha256(std::string_view name, std::optional<std::string>& out);
  void Style(std::string_view name, std::optional<std::string>& out);
  void MegatronFormat(std::string_view name, std::optional<Format>& out);
  void CommonFromMember(std::string_view name, plan::CommonFrom& out);
  template <typename T>
  void Child(std::string_view name, T& out) {
    const json::Value* value = Find(name);
    if (value == nullptr) return;
    MemberReader reader(*value, PathOf(name));
    Visit(reader, out);
    reader.Finish();
  }

  // Refuses members that no call has named.
  void Finish() const;

 private:
  static void Read(const json::Value& value, std::string_view where, bool& out);
  static void Read(const json::Value& value, std::string_view where, std::string& out);
  static void Read(const json::Value& value, std::string_view where, double& out);
  // Integers are 0 to 2^63 - 1.
  static void Read(const json::Value& value, std::string_view where, int64_t& out);
  static void Read(const json::Value& value, std::string_view where, uint64_t& out);
  template <typename T>
  static void Read(const json::Value& value, std::string_view where, std::optional<T>& out) {
    T inner{};
    Read(value, where, inner);
    out = std::move(inner);
  }
  template <typename E>
    requires std::is_enum_v<E>
  static void Read(const json::Value& value, std::string_view where, E& out) {
    std::string text;
    Read(value, where, text);
    const auto found = FromName<E>(text);
    if (!found) throw NotOneOf(where, text, AllNames<E>());
    out = *found;
  }
  void CheckPositive(std::string_view name, const std::optional<uint64_t>& value) const;

  static Error NotOneOf(std::string_view where, std::string_view found, const std::vector<std::string>& words);

  const json::Object* object_;
  std::string where_;
  std::vector<std::string> known_;
};

}  // namespace ck::plan::internal

#endif  // CK_PLAN_MEMBER_READER_H_
