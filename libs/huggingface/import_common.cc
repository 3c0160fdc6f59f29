#include "libs/huggingface/import_common.h"

#include <string_view>
#include <utility>
#include <variant>

#include "libs/pickle/graph.h"

namespace ck::huggingface {
namespace {

using pickle::Graph;
using pickle::Ref;

Ref NewValue(Graph& graph, const ArgumentValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return graph.NewBool(*flag);
  if (const auto* number = std::get_if<int64_t>(&value)) return graph.NewInt(*number);
  if (const auto* number = std::get_if<double>(&value)) return graph.NewFloat(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return graph.NewString(*text);
  if (const auto* dtype = std::get_if<TorchDtype>(&value)) return graph.NewGlobal("torch", dtype->name);
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value)) {
    std::vector<Ref> items;
    for (const int64_t number : *numbers) items.push_back(graph.NewInt(number));
    return graph.NewList(std::span<const Ref>(items));
  }
  return graph.NewNone();
}

Ref NewNamespace(Graph& graph, const ImportCommon& common) {
  const Ref attributes = graph.NewDict();
  const auto set = [&](std::string_view name, const ArgumentValue& value) { graph.DictSet(attributes, name, NewValue(graph, value)); };
  for (const Argument& argument : common.arguments) set(argument.name, argument.value);
  set("tensor_model_parallel_size", static_cast<int64_t>(common.tensor_parallel));
  for (const char* name : {"pipeline_model_parallel_size", "context_parallel_size", "expert_model_parallel_size"}) set(name, int64_t{1});
  set("virtual_pipeline_model_parallel_size", std::monostate());
  for (const char* name : {"iteration", "consumed_train_samples", "consumed_valid_samples", "skipped_train_samples"}) set(name, int64_t{0});
  set("no_save_optim", true);
  set("no_save_rng", true);
  set("use_dist_ckpt", true);
  set("ckpt_format", "torch_dist");
  const Ref out = graph.NewObject(pickle::Form::kNewObj, graph.NewGlobal("argparse", "Namespace"), graph.NewTuple({}));
  graph.SetState(out, attributes);
  return out;
}

}  // namespace

megatron::CommonDocument MakeCommon(const ImportCommon& common) {
  constexpr double kCheckpointVersion = 3.0;  // since 2020; what it changes is how fused rows are ordered
  megatron::CommonDocument out;
  Graph& graph = out.graph;
  out.root = graph.NewDict();
  graph.DictSet(out.root, "args", NewNamespace(graph, common));
  graph.DictSet(out.root, "checkpoint_version", graph.NewFloat(kCheckpointVersion));
  graph.DictSet(out.root, "iteration", graph.NewInt(0));
  graph.DictSet(out.root, "num_floating_point_operations_so_far", graph.NewInt(0));
  const Ref metadata = graph.NewDict();
  graph.DictSet(metadata, "singleton_local_shards", graph.NewBool(false));
  graph.DictSet(metadata, "chained_optim_avoid_prefix", graph.NewBool(true));
  graph.DictSet(out.root, "content_metadata", metadata);
  megatron::SetIteration(out, common.iteration);
  if (common.keys == megatron::LayerKeys::kPerLayer) megatron::SetGpt(out, common.layers, common.keys);
  return out;
}

}  // namespace ck::huggingface
