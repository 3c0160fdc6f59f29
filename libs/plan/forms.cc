#include "libs/plan/forms.h"

#include <algorithm>
#include <vector>

#include "libs/base/text.h"

namespace ck::plan::internal {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string CleanPath(std::string_view path, std::string_view where) {
  if (path.empty() || path.front() != '/') {
    throw PlanError("plan.bad_path", where, Cat("found ", Quote(path), ", expected an absolute path"));
  }
  if (path.find('\0') != std::string_view::npos) {
    throw PlanError("plan.bad_path", where, Cat("the path ", Quote(path), " holds a NUL byte"));
  }
  std::vector<std::string> parts;
  for (std::string& part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(std::move(part));
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return "/" + Join(parts, "/");
}

bool IsSha256(std::string_view text) {
  const auto is_hex = [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::all_of(text.begin(), text.end(), is_hex);
}

Error PlanError(std::string id, std::string_view where, std::string_view what) {
  return InputError(std::move(id), where.empty() ? Cat("plan: ", what) : Cat("plan: ", where, ": ", what));
}

}  // namespace ck::plan::internal
