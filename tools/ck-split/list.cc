#include "tools/ck-split/list.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "libs/base/text.h"
#include "libs/cli/table.h"
#include "libs/huggingface/family.h"
#include "libs/huggingface/tables.h"

namespace ck::split {

namespace {

using huggingface::Architecture;
using huggingface::Rule;

std::string Alternatives(const std::vector<std::string_view>& names) {
  std::vector<std::string> out(names.begin(), names.end());
  return Join(out, " | ");
}

// A line for each tensor of the side that has more.
void AddRule(const Rule& rule, cli::Table& table) {
  const bool joins = huggingface::JoinsTensors(rule.transform);
  const std::vector<std::string> shapes = joins ? Split(rule.shape, ',') : std::vector<std::string>{std::string(rule.shape)};
  for (size_t i = 0; i < std::max(shapes.size(), rule.hf.size()); ++i) {
    const std::string megatron = joins ? std::string(rule.megatron[i]) : i == 0 ? Alternatives(rule.megatron) : "";
    const std::string shape = i < shapes.size() ? shapes[i].substr(i == 0 ? 0 : 1) : "";
    const bool first = i == 0;
    table.AddRow({megatron, shape, i < rule.hf.size() ? std::string(rule.hf[i]) : "", first ? std::string(Name(rule.transform)) : "", first ? Describe(rule) : ""});
  }
}

json::Array Names(const std::vector<std::string_view>& names) {
  json::Array out;
  for (const std::string_view name : names) out.emplace_back(name);
  return out;
}

}  // namespace

std::string TablesAsText() {
  std::string out;
  for (const huggingface::Table& entry : huggingface::Tables()) {
    const Architecture architecture{.family = entry.family};
    if (!out.empty()) out += '\n';
    out += Cat(huggingface::ClassName(architecture), "\n");
    cli::Table table({{"MEGATRON", cli::Align::kLeft}, {"SHAPE", cli::Align::kLeft}, {"HUGGING FACE", cli::Align::kLeft}, {"HOW", cli::Align::kLeft}, {"WHEN", cli::Align::kLeft}});
    for (const Rule& rule : huggingface::RulesOf(architecture)) AddRule(rule, table);
    out += table.Text();
  }
  return out;
}

json::Value TablesAsJson() {
  json::Array out;
  for (const huggingface::Table& entry : huggingface::Tables()) {
    const Architecture architecture{.family = entry.family};
    json::Array rules;
    for (const Rule& rule : huggingface::RulesOf(architecture)) {
      json::Object row;
      row.Set("megatron", Names(rule.megatron)).Set("shape", rule.shape).Set("hf", Names(rule.hf)).Set("transform", Name(rule.transform)).Set("when", Describe(rule));
      rules.emplace_back(std::move(row));
    }
    out.emplace_back(json::Object().Set("architecture", huggingface::ClassName(architecture)).Set("rules", std::move(rules)));
  }
  return out;
}

}  // namespace ck::split
