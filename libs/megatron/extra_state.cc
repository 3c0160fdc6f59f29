#include "libs/megatron/extra_state.h"

#include "libs/base/text.h"
#include "libs/pickle/graph.h"
#include "libs/torchsave/write.h"

namespace ck::megatron {
namespace {

using pickle::Form;
using pickle::Graph;
using pickle::Ref;

std::string ListOfOne(const Graph& graph, Ref list) {
  return torchsave::WriteObject(graph, list, "archive", [](const std::string&) { return std::string(); });
}

// torch.empty(0, dtype=torch.uint8), as torch.save writes it.
Ref EmptyTensor(Graph& graph) {
  const Ref storage = graph.NewPersistent(graph.NewTuple({graph.NewString("storage"), graph.NewGlobal("torch", "ByteStorage"), graph.NewString("0"), graph.NewString("cpu"), graph.NewInt(0)}));
  const Ref hooks = graph.NewObject(Form::kReduce, graph.NewGlobal("collections", "OrderedDict"), graph.NewTuple({}));
  const Ref args = graph.NewTuple({storage, graph.NewInt(0), graph.NewTuple({graph.NewInt(0)}), graph.NewTuple({graph.NewInt(1)}), graph.NewBool(false), hooks});
  return graph.NewObject(Form::kReduce, graph.NewGlobal("torch._utils", "_rebuild_tensor_v2"), args);
}

}  // namespace

std::string NoExtraState() {
  Graph graph;
  const Ref list = graph.NewList({graph.NewNone()});
  return ListOfOne(graph, list);
}

std::string EmptyExtraState() {
  Graph graph;
  const Ref tensor = EmptyTensor(graph);
  const Ref list = graph.NewList({tensor});
  return ListOfOne(graph, list);
}

bool LinearHasExtraState(std::string_view module) {
  return StartsWith(module, "linear_") || module == "eh_proj" || module == "in_proj" || module == "out_proj";
}

bool NormHasExtraState(std::string_view module) {
  return EndsWith(module, "layernorm") || module == "enorm" || module == "hnorm" || module == "final_norm" || module == "out_norm";
}

}  // namespace ck::megatron
