#include "libs/plan/member_reader.h"

#include <algorithm>

#include "libs/coefficients/schedule.h"

namespace ck::plan::internal {
namespace {

Error BadType(std::string_view where, std::string_view expected, const json::Value& found) {
  return PlanError("plan.bad_type", where, Cat("found ", json::TypeName(found.type()), ", expected ", expected));
}

std::string Suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? "" : Cat("; did you mean ", Quote(nearest), "?");
}

}  // namespace

MemberReader::MemberReader(const json::Value& value, std::string where)
    : object_(value.AsObject()), where_(std::move(where)) {
  if (object_ == nullptr) throw BadType(where_, "object", value);
}

const json::Value* MemberReader::Find(std::string_view name) {
  known_.emplace_back(name);
  return object_->Find(name);
}

const json::Value& MemberReader::Need(std::string_view name) {
  const json::Value* value = Find(name);
  if (value == nullptr) throw PlanError("plan.missing_member", where_, Cat("the member ", Quote(name), " is missing"));
  return *value;
}

std::string MemberReader::PathOf(std::string_view name) const {
  return where_.empty() ? std::string(name) : Cat(where_, ".", name);
}

void MemberReader::Finish() const {
  for (const json::Member& member : object_->members()) {
    if (std::find(known_.begin(), known_.end(), member.first) != known_.end()) continue;
    throw PlanError("plan.unknown_member", where_,
                    Cat("unknown member ", Quote(member.first), Suggestion(member.first, known_)));
  }
}

void MemberReader::RequiredPath(std::string_view name, std::string& out) {
  std::string text;
  Required(name, text);
  out = CleanPath(text, PathOf(name));
}

void MemberReader::Path(std::string_view name, std::optional<std::string>& out) {
  Member(name, out, {});
  if (out) out = CleanPath(*out, PathOf(name));
}

void MemberReader::Seed(std::string_view name, std::string& out, const std::string& unused) {
  Member(name, out, unused);
  if (coefficients::IsSeed(out)) return;
  throw PlanError(
      "plan.bad_value", PathOf(name),
      Cat("found ", Quote(out), ", expected an integer of at most ", coefficients::kMaxSeedDigits, " digits"));
}

void MemberReader::Sha256(std::string_view name, std::optional<std::string>& out) {
  Member(name, out, {});
  if (!out || IsSha256(*out)) return;
  throw PlanError("plan.bad_value", PathOf(name),
                  Cat("found ", Quote(*out), ", expected 64 lower-case hexadecimal digits"));
}

void MemberReader::Style(std::string_view name, std::optional<std::string>& out) {
  Nullable(name, out);
  if (!out) return;
  std::vector<std::string> styles = coefficients::StyleNames();
  styles.push_back("manual");
  if (std::find(styles.begin(), styles.end(), *out) == styles.end()) throw NotOneOf(PathOf(name), *out, styles);
}

void MemberReader::MegatronFormat(std::string_view name, std::optional<Format>& out) {
  Member(name, out, {});
  if (!out || *out == Format::kTorchDist || *out == Format::kFsdpDtensor) return;
  throw NotOneOf(PathOf(name), Name(*out), {"torch_dist", "fsdp_dtensor"});
}

void MemberReader::CommonFromMember(std::string_view name, plan::CommonFrom& out) {
  const json::Value* value = Find(name);
  if (value == nullptr) return;
  if (const std::string* text = value->AsString()) {
    out = CleanPath(*text, PathOf(name));
    return;
  }
  if (value->type() != json::Type::kInt && value->type() != json::Type::kUint) {
    throw BadType(PathOf(name), "the index of an input or a path", *value);
  }
  uint64_t index = 0;
  Read(*value, PathOf(name), index);
  out = index;
}

void MemberReader::Read(const json::Value& value, std::string_view where, bool& out) {
  const auto found = value.AsBool();
  if (!found) throw BadType(where, "boolean", value);
  out = *found;
}

void MemberReader::Read(const json::Value& value, std::string_view where, std::string& out) {
  const std::string* found = value.AsString();
  if (found == nullptr) throw BadType(where, "string", value);
  out = *found;
}

void MemberReader::Read(const json::Value& value, std::string_view where, double& out) {
  const auto found = value.AsDouble();
  if (!found) throw BadType(where, "number", value);
  out = *found;
}

void MemberReader::Read(const json::Value& value, std::string_view where, int64_t& out) {
  if (value.type() != json::Type::kInt && value.type() != json::Type::kUint) throw BadType(where, "integer", value);
  const auto found = value.AsInt();
  if (!found || *found < 0) {
    const std::string text = found ? Cat(*found) : Cat(*value.AsUint());
    throw PlanError("plan.bad_value", where,
                    Cat("found ", text, ", expected an integer from 0 to 9223372036854775807"));
  }
  out = *found;
}

void MemberReader::Read(const json::Value& value, std::string_view where, uint64_t& out) {
  int64_t found = 0;
  Read(value, where, found);
  out = static_cast<uint64_t>(found);
}

void MemberReader::CheckPositive(std::string_view name, const std::optional<uint64_t>& value) const {
  if (value == uint64_t{0}) throw PlanError("plan.bad_value", PathOf(name), "found 0, expected at least 1");
}

Error MemberReader::NotOneOf(std::string_view where, std::string_view found, const std::vector<std::string>& words) {
  return PlanError("plan.bad_value", where,
                   Cat("found ", Quote(found), ", expected one of ", Join(words, ", "), Suggestion(found, words)));
}

}  // namespace ck::plan::internal
