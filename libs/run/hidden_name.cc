#include "libs/run/hidden_name.h"

#include <random>

#include "libs/base/text.h"

namespace ck::run {
namespace {

constexpr size_t kIdDigits = 12;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::string_view kSeparator = ".ck-";

struct Prefix {
  HiddenName::Kind kind;
  std::string_view text;
};
constexpr Prefix kPrefixes[] = {
    {HiddenName::Kind::kStaging, ""},
    {HiddenName::Kind::kStaged, "staged-"},
    {HiddenName::Kind::kNewClaim, "new-"},
    {HiddenName::Kind::kTrash, "trash-"},
};

bool IsId(std::string_view text) {
  return text.size() == kIdDigits && text.find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace

std::string NewId() {
  std::random_device random;
  std::string id;
  while (id.size() < kIdDigits) id += kDigits[random() & 15];
  return id;
}

std::string FormatHiddenName(const HiddenName& hidden) {
  const std::string start = Cat(".", hidden.name, kSeparator);
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.kind == hidden.kind) return Cat(start, prefix.text, hidden.id);
  }
  return Cat(start, "claim");
}

std::optional<HiddenName> ParseHiddenName(std::string_view text) {
  const size_t separator = text.rfind(kSeparator);
  // At least one byte of NAME stands between the '.' and the separator.
  if (text.empty() || text.front() != '.' || separator == std::string_view::npos || separator < 2) return std::nullopt;
  const std::string name(text.substr(1, separator - 1));
  const std::string_view rest = text.substr(separator + kSeparator.size());
  if (rest == "claim") return HiddenName{name, HiddenName::Kind::kClaim, ""};
  for (const Prefix& prefix : kPrefixes) {
    if (StartsWith(rest, prefix.text) && IsId(rest.substr(prefix.text.size()))) {
      return HiddenName{name, prefix.kind, std::string(rest.substr(prefix.text.size()))};
    }
  }
  return std::nullopt;
}

}  // namespace ck::run
