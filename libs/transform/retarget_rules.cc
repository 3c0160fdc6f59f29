#include "libs/transform/retarget_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "libs/base/text.h"
#include "libs/megatron/model_keys.h"

namespace ck::transform {
namespace {

using megatron::Args;
using megatron::Family;
using megatron::LayerPart;
using megatron::ModelKey;
using megatron::Pattern;

std::string_view KindName(bool hybrid) { return hybrid ? "Hybrid" : "GPT"; }

// Each key of a layer once: those of its tensors, and of the modules of its objects.
template <typename Visit>
void ForEachRest(const ModelLayer& layer, Visit visit) {
  for (const auto& entry : layer.tensors) visit(entry.first);
  std::set<std::string> modules;
  for (const auto& entry : layer.objects) modules.insert(entry.first.first);
  for (const std::string& rest : modules) visit(rest);
}

bool IsLatentAttention(std::string_view rest) {
  for (const char* module : {"self_attention.linear_q_proj", "self_attention.linear_q_down_proj", "self_attention.linear_q_up_proj", "self_attention.linear_kv_down_proj",
                             "self_attention.linear_kv_up_proj", "self_attention.kv_layernorm"}) {
    if (StartsWith(rest, module)) return true;
  }
  return false;
}

// A module's weight, also as the two halves that fsdp_dtensor makes of a gated one.
bool HasWeight(const ModelLayer& layer, std::string_view module) {
  return layer.Has(Cat(module, ".weight")) || (layer.Has(Cat(module, ".weight_w")) && layer.Has(Cat(module, ".weight_v")));
}

LayerPart PartOfFamily(Family family) {
  if (family == Family::kMamba) return LayerPart::kMamba;
  return family == Family::kAttention ? LayerPart::kAttention : LayerPart::kMlp;
}

void AddList(Findings& findings, const char* id, const std::string& what, const std::vector<std::string>& names) {
  if (!names.empty()) findings.push_back(ErrorFinding(id, Cat(what, SomeNames(names))));
}

void CompareLayers(const ModelLayer& first, const ModelLayer& layer, uint64_t i, std::vector<std::string>& different) {
  for (const auto& [rest, tensor] : layer.tensors) {
    const auto at = first.tensors.find(rest);
    if (at == first.tensors.end()) {
      different.push_back(Cat("layer ", i, ": ", rest, ", which layer 0 has not"));
    } else if (at->second.shape != tensor.shape || at->second.dtype != tensor.dtype) {
      different.push_back(Cat("layer ", i, ": ", rest, " ", Name(tensor.dtype), " ", FormatDims(tensor.shape), ", in layer 0 ", Name(at->second.dtype), " ", FormatDims(at->second.shape)));
    }
  }
  for (const auto& entry : first.tensors) {
    if (layer.tensors.count(entry.first) == 0) different.push_back(Cat("layer 0: ", entry.first, ", which layer ", i, " has not"));
  }
}

}  // namespace

bool IsHybrid(const SourceModel& model, const Args& args, Findings& findings) {
  bool hybrid = std::any_of(model.layers.begin(), model.layers.end(), [](const ModelLayer& layer) { return layer.Has("mixer"); });
  bool gpt = model.stacked;
  for (const auto& [index, key] : model.tensors) {
    const ModelKey parsed = megatron::ParseModelKey(key);
    if (parsed.part == ModelKey::Part::kFinalNorm) (parsed.hybrid_final_norm ? hybrid : gpt) = true;
  }
  if (hybrid == gpt) {
    findings.push_back(ErrorFinding("retarget.model_kind", hybrid ? "some keys are those of a GPT model (decoder.final_layernorm, stacked layers), some those of a Hybrid model (decoder.final_norm, mixer)"
                                                                  : "no key says GPT (decoder.final_layernorm) or Hybrid (decoder.final_norm)"));
  } else if (args.exist() && megatron::HybridPatternOf(args).has_value() != hybrid) {
    findings.push_back(ErrorFinding("retarget.model_kind", Cat("the keys are those of a ", KindName(hybrid), " model, args those of a ", KindName(!hybrid), " model: hybrid_layer_pattern is ",
                                                               args.Text("hybrid_layer_pattern"), ", hybrid_override_pattern ", args.Text("hybrid_override_pattern"))));
  }
  return hybrid;
}

void CheckCrossing(const SourceModel& model, const Args& args, MissingArgs missing_args, Findings& findings) {
  if (!args.exist() && missing_args == MissingArgs::kRefuse) {
    findings.push_back(ErrorFinding("retarget.no_args", "the checkpoint has no saved args, so nothing says whether its architecture can be converted; --assume-compatible goes by its keys alone"));
  }
  for (const megatron::ArgumentFault& fault : megatron::CheckPlainGpt(args)) {
    plan::Finding finding = ErrorFinding(fault.id, fault.message);
    finding.where = Cat("args.", fault.argument);
    finding.found = fault.found;
    findings.push_back(std::move(finding));
  }
  std::vector<std::string> mtp;
  for (const auto& [index, key] : model.tensors) {
    if (StartsWith(key, "mtp.")) mtp.push_back(key);
  }
  AddList(findings, "retarget.mtp", Cat(mtp.size(), " tensors of Multi-Token Prediction layers are not translated: "), mtp);
}

void CheckNumLayers(const Args& args, uint64_t layers, Findings& findings) {
  const auto recorded = args.Int("num_layers");
  if (!recorded || (*recorded >= 0 && static_cast<uint64_t>(*recorded) == layers)) return;
  findings.push_back(ErrorFinding("retarget.num_layers", Cat("args.num_layers is ", *recorded, ", the keys have ", layers, " layers")));
}

void CheckGptLayers(const SourceModel& model, Family mlp, Findings& findings) {
  const bool moe = mlp == Family::kMoe;
  std::vector<std::string> unmapped, missing, latent, other_mlp;
  for (uint64_t i = 0; i < model.layers.size(); ++i) {
    const ModelLayer& layer = model.layers[i];
    ForEachRest(layer, [&](const std::string& rest) {
      const LayerPart part = megatron::PartOfLayer(rest);
      if (part == LayerPart::kAttention || part == LayerPart::kMlp) return;
      (IsLatentAttention(rest) ? latent : unmapped).push_back(Cat("layer ", i, ": ", rest));
    });
    const bool has_moe = layer.Has("mlp.router");
    if (has_moe != moe && (has_moe || HasWeight(layer, "mlp.linear_fc1"))) other_mlp.push_back(Cat("layer ", i));
    for (const char* needed : {"self_attention.linear_qkv", "self_attention.linear_proj", moe ? "mlp.router" : "mlp.linear_fc1", moe ? "mlp.experts" : "mlp.linear_fc2"}) {
      const bool there = std::string_view(needed) == "mlp.experts" ? layer.Has(needed) : HasWeight(layer, needed);
      if (!there) missing.push_back(Cat("layer ", i, ": ", needed));
    }
  }
  AddList(findings, "retarget.latent_attention", "tensors of Multi-Latent Attention have no place in a '*' layer: ", latent);
  AddList(findings, "retarget.unmapped", Cat(unmapped.size(), " entries of layers are neither attention nor MLP, and are neither mapped nor dropped: "), unmapped);
  AddList(findings, "retarget.mlp_kind", Cat("the pattern asks for ", moe ? "MoE layers (E), but dense ones are " : "dense layers (-), but MoE ones are "), other_mlp);
  if (other_mlp.empty() && latent.empty()) AddList(findings, "retarget.missing_key", "weights that every such layer has are missing: ", missing);
}

std::optional<Pattern> SourcePattern(const SourceModel& model, const Args& args, const std::optional<std::string>& given, Findings& findings) {
  std::string symbols;
  std::vector<std::string> unknown;
  for (uint64_t i = 0; i < model.layers.size(); ++i) {
    symbols.push_back(SymbolOfLayer(model.layers[i]));
    if (symbols.back() == '?' || symbols.back() == 'A') unknown.push_back(Cat("layer ", i));
  }
  if (!unknown.empty()) {
    AddList(findings, "retarget.unmapped", Cat("the tensors of ", unknown.size(), " layers make no layer of a pattern: "), unknown);
    return std::nullopt;
  }
  const Pattern by_keys = megatron::ParsePattern(symbols);
  Pattern out = by_keys;
  if (const auto recorded = megatron::HybridPatternOf(args)) {
    out = megatron::ParsePattern(*recorded);
    if (!megatron::SameLayers(out, by_keys)) {
      findings.push_back(ErrorFinding("retarget.pattern_mismatch", Cat("the pattern in args is ", Quote(*recorded), ", the keys make ", Quote(symbols))));
      return std::nullopt;
    }
  }
  if (given && !megatron::SameLayers(megatron::ParsePattern(*given), out)) {
    findings.push_back(ErrorFinding("retarget.pattern_mismatch", Cat("the pattern given is ", Quote(*given), ", the checkpoint's is ", Quote(out.text))));
    return std::nullopt;
  }
  return out;
}

void CheckHybridLayers(const SourceModel& model, const Pattern& pattern, Findings& findings) {
  std::vector<std::string> unmapped;
  for (uint64_t i = 0; i < model.layers.size(); ++i) {
    const LayerPart expected = PartOfFamily(pattern.layers[i].family);
    ForEachRest(model.layers[i], [&](const std::string& rest) {
      if (megatron::PartOfLayer(rest) != expected) unmapped.push_back(Cat("layer ", i, ": ", rest));
    });
  }
  AddList(findings, "retarget.unmapped", Cat(unmapped.size(), " entries belong to no layer of their layer's kind, and are neither mapped nor dropped: "), unmapped);
}

void CheckStackable(const std::vector<ModelLayer>& layers, Findings& findings) {
  std::vector<std::string> different;
  for (uint64_t i = 1; i < layers.size(); ++i) CompareLayers(layers[0], layers[i], i, different);
  AddList(findings, "retarget.layers_differ", "layers that differ cannot be stacked (--per-layer keys them one by one): ", different);
}

}  // namespace ck::transform
