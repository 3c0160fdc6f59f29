#include "libs/megatron/common_document.h"

#include <initializer_list>
#include <utility>

#include "libs/pickle/allowlist.h"

namespace ck::megatron {
namespace {

constexpr std::string_view kProvenanceKey = "weighted_merge_provenance";

pickle::Ref OptionalInt(pickle::Graph& graph, const std::optional<int64_t>& value) {
  return value ? graph.NewInt(*value) : graph.NewNone();
}

pickle::Ref OptionalString(pickle::Graph& graph, const std::optional<std::string>& value) {
  return value ? graph.NewString(*value) : graph.NewNone();
}

template <typename T, typename MakeNode>
pickle::Ref ListOf(pickle::Graph& graph, const std::vector<T>& values, MakeNode make) {
  std::vector<pickle::Ref> items;
  for (const T& value : values) items.push_back(make(value));
  return graph.NewList(std::move(items));
}

// Removes these keys; returns those that were there.
std::vector<std::string> Drop(CommonDocument& document, std::initializer_list<const char*> keys) {
  std::vector<std::string> removed;
  for (const char* key : keys) {
    if (document.graph.DictErase(document.root, key)) removed.push_back(key);
  }
  return removed;
}

}  // namespace

CommonDocument CopyCommonState(const checkpoint::CommonState& source) {
  CommonDocument out;
  if (source.dict == pickle::kNoRef) {
    out.root = out.graph.NewDict();
    return out;
  }
  out.root = out.graph.Import(source.object.graph, source.dict);
  for (const torchsave::Storage& storage : source.object.storages) out.storages[storage.key] = source.StorageBytes(storage.key);
  return out;
}

void SetIteration(CommonDocument& document, int64_t iteration) {
  pickle::Graph& graph = document.graph;
  graph.DictSet(document.root, "iteration", graph.NewInt(iteration));
  const pickle::Ref args = graph.Find(document.root, "args");
  if (args == pickle::kNoRef || graph.kind(args) != pickle::Kind::kObject) return;
  const pickle::Ref state = graph.state(args);
  if (state == pickle::kNoRef || graph.kind(state) != pickle::Kind::kDict) return;  // no argparse.Namespace
  if (graph.Attribute(args, "iteration") != pickle::kNoRef) graph.SetAttribute(args, "iteration", graph.NewInt(iteration));
}

std::vector<std::string> RefusedClasses(const CommonDocument& document) {
  std::vector<std::string> out;
  pickle::Graph reachable;  // the document's graph may hold parts that nothing refers to any more
  reachable.Import(document.graph, document.root);
  for (const pickle::GlobalUse& use : pickle::ListGlobals(reachable)) {
    if (!use.known) out.push_back(use.module + "." + use.name);
  }
  return out;
}

std::vector<std::string> DropTrainingState(CommonDocument& document) { return Drop(document, {"optimizer", "rng_state", "rerun_state_machine"}); }

std::vector<std::string> DropRunState(CommonDocument& document) { return Drop(document, {"rng_state", "rerun_state_machine"}); }

void SetProvenance(CommonDocument& document, const MergeProvenance& provenance) {
  pickle::Graph& graph = document.graph;
  const pickle::Ref earlier = graph.Find(document.root, kProvenanceKey);
  const pickle::Ref dict = graph.NewDict();
  const auto set = [&](std::string_view key, pickle::Ref value) { graph.DictSet(dict, key, value); };
  set("format_version", graph.NewInt(1));
  set("input_paths", ListOf(graph, provenance.input_paths, [&](const std::string& path) { return graph.NewString(path); }));
  set("source_iterations",
      ListOf(graph, provenance.source_iterations, [&](const std::optional<int64_t>& iteration) { return OptionalInt(graph, iteration); }));
  set("weights", ListOf(graph, provenance.weights, [&](double weight) { return graph.NewFloat(weight); }));
  set("normalize", graph.NewBool(provenance.normalize));
  set("merge_style", graph.NewString(provenance.merge_style));
  set("output_iteration", OptionalInt(graph, provenance.output_iteration));
  set("output_dtype", graph.NewString(provenance.output_dtype));
  set("extra_state_source_index", graph.NewInt(provenance.extra_state_source_index));
  set("extra_state_source_path", graph.NewString(provenance.extra_state_source_path));
  set("common_state_source_path", OptionalString(graph, provenance.common_state_source_path));
  set("implementation_mode", graph.NewString("dcp-metadata-same-layout"));
  set("balance_rank_work", graph.NewBool(false));
  set("strict", graph.NewString("assume_ok_unexpected"));
  set("code_revision", graph.NewNone());
  set("optimizer_merged", graph.NewBool(false));
  set("rng_merged", graph.NewBool(false));
  set("producer", graph.NewString(provenance.producer));
  if (earlier != pickle::kNoRef) set("source_provenance", earlier);
  graph.DictSet(document.root, kProvenanceKey, dict);
}

void SetProvenance(CommonDocument& document, const RetargetProvenance& provenance) {
  pickle::Graph& graph = document.graph;
  const auto layers = [&](const std::vector<uint64_t>& numbers) { return ListOf(graph, numbers, [&](uint64_t layer) { return graph.NewInt(static_cast<int64_t>(layer)); }); };
  const pickle::Ref dict = graph.NewDict();
  graph.DictSet(dict, "format_version", graph.NewInt(1));
  graph.DictSet(dict, "direction", graph.NewString(provenance.direction));
  graph.DictSet(dict, "pattern", graph.NewString(provenance.pattern));
  graph.DictSet(dict, "seed", graph.NewString(provenance.seed));
  graph.DictSet(dict, "fresh_layers", layers(provenance.fresh_layers));
  graph.DictSet(dict, "dropped_layers", layers(provenance.dropped_layers));
  graph.DictSet(dict, "producer", graph.NewString(provenance.producer));
  graph.DictSet(document.root, "retarget_provenance", dict);
}

}  // namespace ck::megatron
