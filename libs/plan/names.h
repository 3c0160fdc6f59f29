// The words of the plan's enumerations: the same in the document, on the command line and in messages.
#ifndef CK_PLAN_NAMES_H_
#define CK_PLAN_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/plan/plan.h"

namespace ck::plan {

template <typename E>
using NameTable = std::vector<std::pair<E, std::string_view>>;

const NameTable<Format>& NamesOf(Format);
const NameTable<SaveDtype>& NamesOf(SaveDtype);
const NameTable<TransformerImpl>& NamesOf(TransformerImpl);
const NameTable<RetargetStep::To>& NamesOf(RetargetStep::To);
const NameTable<RetargetStep::Optimizer>& NamesOf(RetargetStep::Optimizer);
const NameTable<RetargetStep::ExtraState>& NamesOf(RetargetStep::ExtraState);
const NameTable<SplitStep::To>& NamesOf(SplitStep::To);
const NameTable<SplitStep::ConfigFrom>& NamesOf(SplitStep::ConfigFrom);
const NameTable<SplitStep::Tied>& NamesOf(SplitStep::Tied);
const NameTable<SplitStep::ExtraState>& NamesOf(SplitStep::ExtraState);

template <typename E>
std::string_view Name(E value) {
  for (const auto& [candidate, name] : NamesOf(E{})) {
    if (candidate == value) return name;
  }
  return "";
}

template <typename E>
std::optional<E> FromName(std::string_view text) {
  for (const auto& [value, name] : NamesOf(E{})) {
    if (name == text) return value;
  }
  return std::nullopt;
}

// All words of E, for messages and suggestions.
template <typename E>
std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const auto& entry : NamesOf(E{})) names.emplace_back(entry.second);
  return names;
}

}  // namespace ck::plan

#endif  // CK_PLAN_NAMES_H_
