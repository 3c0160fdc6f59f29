#include "libs/huggingface/tables.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

std::vector<Rule> HeadRules(const Table& table, Head head) {
  switch (head) {
    case Head::kCausalLm:
      return {{{"output_layer.weight"}, "V h", {table.head}, Transform::kUnpad, When::kUntied}};
    case Head::kTokenClassification:
      return {{{"output_layer.weight"}, "1 h", {table.value_weight}}, {{"output_layer.bias"}, "1", {table.value_bias}, Transform::kCopy, When::kPresent}};
    case Head::kSequenceClassification:
      return {{{"output_layer.weight"}, "1 h", {"score.weight"}}};
  }
  throw InternalError("internal.check_failed", "a head is one of three");
}

}  // namespace

const std::vector<Table>& Tables() {
  static const std::vector<Table> tables = [] {
    std::vector<Table> out;
    for (std::vector<Table> part : {LlamaLikeTables(), OtherGptTables(), HybridTables()}) {
      for (Table& table : part) out.push_back(std::move(table));
    }
    return out;
  }();
  return tables;
}

const Table& TableOf(Family family) {
  for (const Table& table : Tables()) {
    if (table.family == family) return table;
  }
  throw InternalError("internal.check_failed", "every family has a table");
}

std::vector<Rule> RulesOf(const Architecture& architecture) {
  const Table& table = TableOf(architecture.family);
  std::vector<Rule> out = table.rules;
  for (Rule& rule : HeadRules(table, architecture.head)) out.push_back(std::move(rule));
  return out;
}

bool JoinsTensors(Transform transform) { return transform == Transform::kJoin || transform == Transform::kGdnProjection || transform == Transform::kGdnGates; }

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
    case Transform::kGatedQkv:
      return "gated-qkv";
    case Transform::kGateUp:
      return "gate-up";
    case Transform::kJoin:
      return "join";
    case Transform::kGdnProjection:
      return "gdn-projection";
    case Transform::kGdnGates:
      return "gdn-gates";
    case Transform::kAlternate:
      return "alternate";
    case Transform::kTranspose:
      return "transpose";
    case Transform::kNorm:
      return "norm";
    case Transform::kPlainNorm:
      return "plain-norm";
  }
  throw InternalError("internal.check_failed", "unknown transform");
}

std::string Describe(const Rule& rule) {
  if (rule.when != When::kField && !rule.field.empty()) {
    Rule without = rule;
    without.field = {};
    return Cat(Describe(without), ", when ", rule.field);
  }
  switch (rule.when) {
    case When::kAlways:
      return "always";
    case When::kDense:
      return "dense layers";
    case When::kMoe:
      return "moe layers";
    case When::kAttention:
      return "attention layers";
    case When::kDeltaNet:
      return "delta net layers";
    case When::kMamba:
      return "mamba layers";
    case When::kMlp:
      return "mlp layers";
    case When::kUntied:
      return "untied";
    case When::kTied:
      return "tied";
    case When::kPresent:
      return "where present";
    case When::kField:
      return Cat("when ", rule.field);
  }
  throw InternalError("internal.check_failed", "unknown condition");
}

}  // namespace ck::huggingface
