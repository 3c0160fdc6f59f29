#include "libs/megatron/model_args.h"

#include <algorithm>
#include <initializer_list>

#include "libs/base/text.h"
#include "libs/pickle/describe.h"

namespace ck::megatron {
namespace {

using pickle::Kind;
using pickle::kNoRef;
using pickle::Ref;

// moe_layer_freq: 1, or a list of ones, says that every layer is alike.
bool IsUniformFrequency(const pickle::Graph& graph, Ref value) {
  const auto is_one = [&](Ref ref) { return graph.kind(ref) == Kind::kInt && graph.AsInt(ref) == 1; };
  if (graph.kind(value) == Kind::kNone || is_one(value)) return true;
  if (graph.kind(value) != Kind::kList && graph.kind(value) != Kind::kTuple) return false;
  const auto items = graph.items(value);
  return !items.empty() && std::all_of(items.begin(), items.end(), is_one);
}

// The model's layers are counted in these too.
void SetLayers(Args& args, uint64_t layers) {
  const auto count = static_cast<int64_t>(layers);
  if (args.Int("encoder_num_layers") == args.Int("num_layers") && args.Int("encoder_num_layers")) args.SetInt("encoder_num_layers", count);
  args.SetInt("num_layers", count);
}

// Where content_metadata says how layers are keyed, it says so for the result.
void SetContentMetadata(CommonDocument& document, LayerKeys keys) {
  pickle::Graph& graph = document.graph;
  const Ref metadata = graph.Find(document.root, "content_metadata");
  if (metadata == kNoRef || graph.kind(metadata) != Kind::kDict) return;
  graph.DictErase(metadata, "non_homogeneous_layers");
  if (keys == LayerKeys::kPerLayer) graph.DictSet(metadata, "non_homogeneous_layers", graph.NewBool(true));
}

}  // namespace

Args::Args(CommonDocument& document) : document_(document) {
  const Ref args = document.graph.Find(document.root, "args");
  if (args != kNoRef && document.graph.kind(args) == Kind::kObject) args_ = args;
}

Ref Args::Find(std::string_view name) const { return exist() ? document_.graph.Attribute(args_, name) : kNoRef; }
bool Args::Has(std::string_view name) const { return Find(name) != kNoRef; }

std::optional<int64_t> Args::Int(std::string_view name) const {
  const Ref ref = Find(name);
  if (ref == kNoRef || document_.graph.kind(ref) != Kind::kInt) return std::nullopt;
  return document_.graph.AsInt(ref);
}

std::optional<bool> Args::Bool(std::string_view name) const {
  const Ref ref = Find(name);
  if (ref == kNoRef || document_.graph.kind(ref) != Kind::kBool) return std::nullopt;
  return document_.graph.AsBool(ref);
}

std::optional<std::string> Args::String(std::string_view name) const {
  const Ref ref = Find(name);
  if (ref == kNoRef || document_.graph.kind(ref) != Kind::kString) return std::nullopt;
  return std::string(document_.graph.bytes(ref));
}

bool Args::IsSet(std::string_view name) const {
  const Ref ref = Find(name);
  if (ref == kNoRef) return false;
  const pickle::Graph& graph = document_.graph;
  switch (graph.kind(ref)) {
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return graph.AsBool(ref);
    case Kind::kInt:
      return graph.AsInt(ref) != 0;
    case Kind::kString:
      return !graph.bytes(ref).empty();
    default:
      return true;
  }
}

std::string Args::Text(std::string_view name) const {
  const Ref ref = Find(name);
  return ref == kNoRef ? "absent" : pickle::Describe(document_.graph, ref, 80);
}

void Args::Set(std::string_view name, Ref value) {
  if (exist()) document_.graph.SetAttribute(args_, name, value);
}

std::vector<ArgumentFault> CheckPlainGpt(const Args& args) {
  std::vector<ArgumentFault> out;
  const auto add = [&](const char* id, const char* argument, std::string_view what) {
    out.push_back({.id = id, .argument = argument, .found = args.Text(argument), .message = Cat("args.", argument, " is ", args.Text(argument), ": ", what)});
  };
  if (const Ref frequency = args.Find("moe_layer_freq"); frequency != kNoRef && !IsUniformFrequency(args.graph(), frequency)) {
    add("retarget.interleaved_moe", "moe_layer_freq", "an interleaved MoE model has layers of two kinds");
  }
  if (args.IsSet("experimental_attention_variant")) add("retarget.experimental_attention", "experimental_attention_variant", "experimental attention has other tensors than a '*' layer");
  if (args.IsSet("linear_attention_freq")) add("retarget.linear_attention", "linear_attention_freq", "linear attention layers have other tensors than a '*' layer");
  for (const char* argument : {"heterogeneous_block_specs", "heterogeneous_layers_config_path", "heterogeneous_layers_config_encoded_json"}) {
    if (args.IsSet(argument)) add("retarget.heterogeneous", argument, "heterogeneous block specs give layers of their own kinds");
  }
  if (args.IsSet("multi_latent_attention")) add("retarget.latent_attention", "multi_latent_attention", "Multi-Latent Attention has other tensors than a '*' layer");
  if (args.IsSet("mtp_num_layers")) add("retarget.mtp", "mtp_num_layers", "Multi-Token Prediction layers are not translated");
  return out;
}

std::optional<std::string> HybridPatternOf(const Args& args) {
  for (const char* name : {"hybrid_layer_pattern", "hybrid_override_pattern"}) {
    if (const auto pattern = args.String(name); pattern && !pattern->empty()) return pattern;
  }
  return std::nullopt;
}

void ResetIterations(CommonDocument& document) {
  pickle::Graph& graph = document.graph;
  if (graph.Find(document.root, "iteration") != kNoRef) graph.DictSet(document.root, "iteration", graph.NewInt(0));
  Args args(document);
  for (const char* name : {"iteration", "consumed_train_samples", "skipped_train_samples", "consumed_valid_samples", "train_iters", "train_samples"}) {
    if (args.Int(name)) args.SetInt(name, 0);
  }
}

void SetHybrid(CommonDocument& document, const std::string& pattern, uint64_t layers) {
  pickle::Graph& graph = document.graph;
  Args args(document);
  SetLayers(args, layers);
  args.Set("hybrid_layer_pattern", graph.NewString(pattern));
  if (args.Has("hybrid_override_pattern")) args.SetNone("hybrid_override_pattern");
  if (args.Has("is_hybrid_model")) args.Set("is_hybrid_model", graph.NewBool(true));
  args.Set("spec", graph.NewList({graph.NewString("megatron.core.models.hybrid.hybrid_layer_specs"), graph.NewString("hybrid_stack_spec")}));
  if (args.IsSet("hetereogenous_dist_checkpoint")) args.Set("hetereogenous_dist_checkpoint", graph.NewBool(false));
  SetContentMetadata(document, LayerKeys::kStacked);
}

void SetGpt(CommonDocument& document, uint64_t layers, LayerKeys keys) {
  pickle::Graph& graph = document.graph;
  Args args(document);
  SetLayers(args, layers);
  for (const char* name : {"hybrid_layer_pattern", "hybrid_override_pattern", "spec"}) {
    if (args.Has(name)) args.SetNone(name);
  }
  if (args.Has("is_hybrid_model")) args.Set("is_hybrid_model", graph.NewBool(false));
  if (keys == LayerKeys::kPerLayer || args.Has("hetereogenous_dist_checkpoint")) {
    args.Set("hetereogenous_dist_checkpoint", graph.NewBool(keys == LayerKeys::kPerLayer));
  }
  SetContentMetadata(document, keys);
}

}  // namespace ck::megatron
