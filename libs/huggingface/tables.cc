#include "libs/huggingface/tables.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

std::vector<Rule> HeadRules(Head head) {
  switch (head) {
    case Head::kCausalLm:
      return {{{"output_layer.weight"}, "V h", {"lm_head.weight"}, Transform::kUnpad, When::kUntied}};
    case Head::kTokenClassification:
      return {{{"output_layer.weight"}, "1 h", {"score.weight"}}, {{"output_layer.bias"}, "1", {"score.bias"}, Transform::kCopy, When::kPresent}};
    case Head::kSequenceClassification:
      return {{{"output_layer.weight"}, "1 h", {"score.weight"}}};
  }
  throw InternalError("internal.check_failed", "a head is one of three");
}

}  // namespace

const std::vector<Table>& Tables() {
  static const std::vector<Table> tables = [] {
    std::vector<Table> out;
    for (std::vector<Table> part : {LlamaLikeTables(), OtherGptTables()}) {
      for (Table& table : part) out.push_back(std::move(table));
    }
    return out;
  }();
  return tables;
}

std::vector<Rule> RulesOf(const Architecture& architecture) {
  for (const Table& table : Tables()) {
    if (table.family != architecture.family) continue;
    std::vector<Rule> out = table.rules;
    for (Rule& rule : HeadRules(architecture.head)) out.push_back(std::move(rule));
    return out;
  }
  throw InputError("split.no_table", Cat("ck-split has no table for ", ClassName(architecture), " in this version; ck-split --list shows those that it has"));
}

std::string Expand(std::string_view pattern, std::string_view mark, uint64_t number) {
  std::string out(pattern);
  const size_t at = out.find(mark);
  if (at != std::string::npos) out.replace(at, mark.size(), Cat(number));
  return out;
}

std::string_view Name(Transform transform) {
  switch (transform) {
    case Transform::kCopy:
      return "copy";
    case Transform::kUnpad:
      return "unpad";
    case Transform::kQkv:
      return "qkv";
    case Transform::kQkvJoin:
      return "qkv-join";
    case Transform::kGateUp:
      return "gate-up";
  }
  throw InternalError("internal.check_failed", "unknown transform");
}

std::string Describe(const Rule& rule) {
  if (rule.when == When::kMoe && !rule.field.empty()) return Cat("moe layers, when ", rule.field);
  switch (rule.when) {
    case When::kAlways:
      return "always";
    case When::kDense:
      return "dense layers";
    case When::kMoe:
      return "moe layers";
    case When::kUntied:
      return "untied";
    case When::kPresent:
      return "where present";
    case When::kField:
      return Cat("when ", rule.field);
  }
  throw InternalError("internal.check_failed", "a condition is one of six");
}

}  // namespace ck::huggingface
