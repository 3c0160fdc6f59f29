#include "tools/ck-retarget/explain.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/table.h"

namespace ck::retarget {

namespace {

using megatron::Family;
using megatron::Pattern;

enum class Half { kAttention, kMlp };

bool IsMlp(Family family) { return family == Family::kMlp || family == Family::kMoe; }

// A value of a list: a number, true, false or null as such, anything else as text.
json::Value ListValue(const std::string& text) {
  try {
    json::Value value = json::Parse(text);
    if (value.type() != json::Type::kArray && value.type() != json::Type::kObject) return value;
  } catch (const Error&) {
  }
  return json::ToUtf8(text);
}

// The list by hybrid layer, with the values at one half of each GPT layer and null elsewhere.
json::Array Expand(const Explanation& explanation, Half half) {
  json::Array out;
  for (size_t i = 0; i < explanation.gpt_layers.size(); ++i) {
    const Family family = explanation.pattern.layers[i].family;
    const bool active = explanation.gpt_layers[i] && IsMlp(family) == (half == Half::kMlp);
    out.push_back(active ? ListValue((*explanation.list)[*explanation.gpt_layers[i]]) : json::Value());
  }
  return out;
}

// What to remove from the command line of the GPT run.
std::vector<std::string> DroppedFlags(const Pattern& pattern) {
  std::vector<std::string> out = {"--num-layers",
                                  "--num-layers-per-virtual-pipeline-stage",
                                  "--num-virtual-stages-per-pipeline-rank",
                                  "--pipeline-model-parallel-layout",
                                  "--account-for-embedding-in-pipeline-split",
                                  "--account-for-loss-in-pipeline-split"};
  if (pattern.segments > 1) {
    out.push_back("--decoder-first-pipeline-num-layers");
    out.push_back("--decoder-last-pipeline-num-layers");
  }
  return out;
}

// A pattern has no character that single quotes do not protect.
std::vector<std::string> AddedFlags(const Pattern& pattern) {
  return {Cat("--hybrid-layer-pattern '", pattern.text, "'"), "--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec"};
}

json::Array Strings(const std::vector<std::string>& texts) {
  json::Array out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

json::Object Command(const Pattern& pattern) {
  json::Object out;
  out.Set("script", "pretrain_hybrid.py").Set("add", Strings(AddedFlags(pattern))).Set("drop", Strings(DroppedFlags(pattern)));
  return out;
}

json::Array Layers(const Explanation& explanation) {
  json::Array out;
  for (size_t i = 0; i < explanation.gpt_layers.size(); ++i) {
    const megatron::PatternLayer& layer = explanation.pattern.layers[i];
    const auto& gpt = explanation.gpt_layers[i];
    json::Object row;
    row.Set("hybrid_layer", uint64_t{i}).Set("symbol", std::string(1, megatron::Symbol(layer.family))).Set("family", std::string(megatron::Name(layer.family)));
    row.Set("family_index", layer.family_index).Set("segment", layer.segment).Set("gpt_layer", gpt ? json::Value(*gpt) : json::Value());
    out.emplace_back(std::move(row));
  }
  return out;
}

}  // namespace

void RequireGptPattern(const Pattern& pattern, megatron::Reorder reorder) {
  const auto faults = megatron::CheckGptPattern(pattern, reorder);
  if (faults.empty()) return;
  std::vector<std::string> messages;
  for (const megatron::PatternFault& fault : faults) messages.push_back(fault.message);
  throw InputError(faults[0].id, Join(messages, "; "));
}

void CheckSegments(const Pattern& pattern, uint64_t stages, uint64_t virtual_stages) {
  if (stages == 0) return;
  const bool cut = pattern.segments > 1;
  const uint64_t count = cut ? pattern.segments : pattern.layers.size();
  if (count % stages == 0 && (count / stages) % virtual_stages == 0) return;
  const std::string wanted = virtual_stages == 1 ? Cat(stages, " pipeline stages") : Cat(stages, " pipeline stages times ", virtual_stages, " virtual ones");
  throw InputError("retarget.segments", cut ? Cat("pattern ", Quote(pattern.text), " has ", count, " segments, expected a multiple of ", wanted)
                                            : Cat("pattern ", Quote(pattern.text), " has no '|', and its ", count, " layers are no multiple of ", wanted));
}

Explanation Explain(const Pattern& pattern, const std::optional<std::vector<std::string>>& list) {
  const megatron::GptLayers map = megatron::MapGptLayers(pattern);
  Explanation out{.pattern = pattern, .gpt_layers = std::vector<std::optional<uint64_t>>(pattern.layers.size()), .list = list};
  for (uint64_t i = 0; i < map.attention.size(); ++i) {
    out.gpt_layers[map.attention[i]] = i;
    out.gpt_layers[map.mlp[i]] = i;
  }
  if (list && list->size() != map.attention.size()) {
    throw InputError("retarget.list_length", Cat("the list has ", list->size(), " values, expected one per GPT layer, ", map.attention.size()));
  }
  return out;
}

json::Value ToJson(const Explanation& explanation) {
  json::Object out;
  out.Set("pattern", explanation.pattern.text).Set("segments", explanation.pattern.segments).Set("layers", Layers(explanation));
  if (explanation.list) {
    json::Object lists;
    lists.Set("attention", Expand(explanation, Half::kAttention)).Set("mlp", Expand(explanation, Half::kMlp));
    out.Set("lists", std::move(lists));
  }
  out.Set("command", Command(explanation.pattern));
  return out;
}

std::string ToTable(const Explanation& explanation) {
  using cli::Align;
  cli::Table table({{"HYBRID", Align::kRight}, {"SYMBOL"}, {"FAMILY"}, {"INDEX", Align::kRight}, {"SEGMENT", Align::kRight}, {"GPT", Align::kRight}});
  for (size_t i = 0; i < explanation.gpt_layers.size(); ++i) {
    const megatron::PatternLayer& layer = explanation.pattern.layers[i];
    const auto& gpt = explanation.gpt_layers[i];
    table.AddRow({Cat(i), std::string(1, megatron::Symbol(layer.family)), std::string(megatron::Name(layer.family)), Cat(layer.family_index), Cat(layer.segment), gpt ? Cat(*gpt) : "-"});
  }
  std::string out = table.Text();
  if (explanation.list) {
    const json::Style one_line{.indent = 0};
    out += Cat("\nlist at the attention layers: ", json::Write(Expand(explanation, Half::kAttention), one_line), "list at the MLP layers: ", json::Write(Expand(explanation, Half::kMlp), one_line));
  }
  out += "\ntrain with pretrain_hybrid.py\n";
  for (const std::string& flag : AddedFlags(explanation.pattern)) out += Cat("add   ", flag, "\n");
  for (const std::string& flag : DroppedFlags(explanation.pattern)) out += Cat("drop  ", flag, "\n");
  return out;
}

}  // namespace ck::retarget
