#include "libs/huggingface/model_source.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/megatron/keys.h"
#include "libs/megatron/pattern.h"

namespace ck::huggingface {
namespace {

constexpr std::string_view kLayers = "decoder.layers.";

std::string_view WithoutWrapper(std::string_view key) {
  while (true) {
    if (StartsWith(key, "model.")) {
      key.remove_prefix(6);
    } else if (StartsWith(key, "module.")) {
      key.remove_prefix(7);
    } else {
      return key;
    }
  }
}

bool IsAdapterKey(std::string_view key) {
  for (const std::string_view part : {"lora_", "adapter.", "base_layer"}) {
    if (key.find(part) != std::string_view::npos) return true;
  }
  return false;
}

struct LayerKey {
  std::optional<uint64_t> layer;  // nullopt: stacked
  std::string_view rest;
};

// nullopt for a key outside the decoder's layers.
std::optional<LayerKey> ParseLayerKey(std::string_view key) {
  if (!StartsWith(key, kLayers)) return std::nullopt;
  std::string_view rest = key.substr(kLayers.size());
  const size_t dot = rest.find('.');
  const auto number = dot == std::string_view::npos ? std::nullopt : ParseUint64(rest.substr(0, dot));
  if (!number) return LayerKey{.layer = {}, .rest = rest};
  return LayerKey{.layer = *number, .rest = rest.substr(dot + 1)};
}

std::string KeyOf(uint64_t layer, std::string_view rest) { return Cat(kLayers, layer, ".", rest); }

class Reader {
 public:
  Reader(const transform::View& view, HybridLayers hybrid_layers) : view_(view), hybrid_layers_(hybrid_layers) {}

  ModelSource Read() {
    for (uint32_t i = 0; i < view_.tensors.size(); ++i) AddTensor(i);
    AddObjects();
    JoinHalves();
    if (hybrid_layers_ == HybridLayers::kAsGpt && out_.parameters.count("decoder.final_norm.weight") > 0) TurnIntoGpt();
    CountLayers();
    return std::move(out_);
  }

 private:
  void LeaveOut(std::string_view rule, uint64_t bytes) {
    transform::LeftOut& left = out_.left_out[std::string(rule)];
    left.rule = rule;
    ++left.count;
    left.bytes += bytes;
  }

  void AddTensor(uint32_t index) {
    const transform::Tensor& tensor = view_.tensors[index];
    const megatron::KeyClass key_class = megatron::Classify(tensor.name);
    if (key_class != megatron::KeyClass::kModel && key_class != megatron::KeyClass::kOther) {
      LeaveOut(megatron::Name(key_class), Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype));
      return;
    }
    const std::string_view key = WithoutWrapper(tensor.name);
    if (IsAdapterKey(key)) {
      throw InputError("split.adapter", Cat("tensor ", Quote(tensor.name), " belongs to an adapter; merge the adapter into the model first"));
    }
    const auto layer_key = ParseLayerKey(key);
    if (!layer_key || layer_key->layer) {
      Add(std::string(key), {.dtype = tensor.dtype, .shape = tensor.shape, .parts = {{.tensor = index, .row = {}}}, .source_name = tensor.name});
      return;
    }
    if (tensor.shape.empty()) throw InputError("split.layers", Cat("tensor ", Quote(tensor.name), " is stacked over layers but has no dimension"));
    if (tensor.shape[0] > kMaxLayers) throw InputError("split.layers", Cat("tensor ", Quote(tensor.name), " is stacked over ", tensor.shape[0], " layers, at most ", kMaxLayers, " are read"));
    const Dims row_shape(tensor.shape.begin() + 1, tensor.shape.end());
    for (uint64_t row = 0; row < tensor.shape[0]; ++row) {
      Add(KeyOf(row, layer_key->rest), {.dtype = tensor.dtype, .shape = row_shape, .parts = {{.tensor = index, .row = row}}, .source_name = tensor.name});
    }
  }

  void Add(std::string key, Parameter parameter) {
    const std::string name = parameter.source_name;
    const auto [at, is_new] = out_.parameters.emplace(std::move(key), std::move(parameter));
    if (!is_new) throw InputError("split.layers", Cat("tensors ", Quote(at->second.source_name), " and ", Quote(name), " are the same part of the model, ", Quote(at->first)));
  }

  void AddObjects() {
    for (const transform::Object& object : view_.objects) {
      const megatron::KeyClass key_class = megatron::Classify(object.name);
      if (key_class == megatron::KeyClass::kModel) {
        throw InputError("split.model_object", Cat("byte object ", Quote(object.name), " stands where the model's tensors are; what it is cannot be told"));
      }
      LeaveOut(megatron::Name(key_class), object.literal ? object.literal->size() : view_.inputs[object.input]->FindObject(object.source_name)->item.length);
    }
  }

  // NAME_w and NAME_v are the gate and the up half of NAME.
  void JoinHalves() {
    std::vector<std::string> gates;
    for (const auto& [key, parameter] : out_.parameters) {
      if (EndsWith(key, ".weight_w") || EndsWith(key, ".bias_w")) gates.push_back(key);
    }
    for (const std::string& gate_key : gates) {
      const std::string key = gate_key.substr(0, gate_key.size() - 2), up_key = key + "_v";
      const auto gate = out_.parameters.find(gate_key), up = out_.parameters.find(up_key);
      if (up == out_.parameters.end() || up->second.shape != gate->second.shape || up->second.dtype != gate->second.dtype || gate->second.shape.empty()) {
        throw InputError("split.bad_shape", Cat(Quote(gate->second.source_name), " and its other half ", Quote(up_key), " are not two equal halves"));
      }
      Parameter joined = gate->second;
      joined.shape[0] *= 2;
      joined.parts.push_back(up->second.parts[0]);
      out_.parameters.erase(gate);
      out_.parameters.erase(up);
      Add(key, std::move(joined));
    }
  }

  // The symbol of a hybrid layer, by its tensors.
  static char SymbolOf(const std::map<std::string, Parameter>& layer) {
    const auto has = [&](std::string_view prefix) {
      return std::any_of(layer.begin(), layer.end(), [&](const auto& entry) { return StartsWith(entry.first, prefix); });
    };
    if (has("mixer.") && !has("self_attention.") && !has("mlp.")) return 'M';
    if (has("self_attention.") && !has("mlp.")) return '*';
    if (has("mlp.router.") && !has("self_attention.")) return 'E';
    if (has("mlp.") && !has("self_attention.")) return '-';
    return '?';
  }

  // Renames the layers of a Hybrid model whose pattern alternates attention and MLP to those of the GPT model that computes the same.
  void TurnIntoGpt() {
    std::map<uint64_t, std::map<std::string, Parameter>> layers;
    std::map<std::string, Parameter> others;
    for (auto& [key, parameter] : out_.parameters) {
      const auto layer_key = ParseLayerKey(key);
      if (layer_key) {
        layers[*layer_key->layer].emplace(layer_key->rest, std::move(parameter));
      } else {
        others.emplace(key == "decoder.final_norm.weight" ? "decoder.final_layernorm.weight" : key, std::move(parameter));
      }
    }
    const megatron::GptLayers map = MapLayers(layers);
    out_.parameters = std::move(others);
    for (const auto* half : {&map.attention, &map.mlp}) {
      for (uint64_t i = 0; i < half->size(); ++i) {
        for (auto& [rest, parameter] : layers.at((*half)[i])) Add(KeyOf(i, rest), std::move(parameter));
      }
    }
  }

  static megatron::GptLayers MapLayers(const std::map<uint64_t, std::map<std::string, Parameter>>& layers) {
    std::string symbols;
    for (const auto& [number, layer] : layers) {
      const char symbol = SymbolOf(layer);
      if (number != symbols.size()) throw InputError("split.layers", Cat("the model has a layer ", number, " but no layer ", symbols.size()));
      if (symbol != '*' && symbol != '-' && symbol != 'E') {
        throw InputError("split.hybrid", Cat("layer ", number, " of the Hybrid model, with ", Quote(layer.begin()->second.source_name),
                                             ", is neither attention nor MLP nor MoE: the architecture has no place for it"));
      }
      symbols += symbol;
    }
    const megatron::Pattern pattern = megatron::ParsePattern(symbols);
    const auto faults = megatron::CheckGptPattern(pattern, megatron::Reorder::kRefuse);
    if (!faults.empty()) throw InputError(faults[0].id, faults[0].message);
    return megatron::MapGptLayers(pattern);
  }

  void CountLayers() {
    std::vector<uint64_t> numbers;
    for (const auto& [key, parameter] : out_.parameters) {
      if (const auto layer_key = ParseLayerKey(key)) numbers.push_back(*layer_key->layer);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (numbers.empty()) throw InputError("split.layers", "the checkpoint has no tensor below decoder.layers, so it is no model that can be split");
    for (uint64_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != i) throw InputError("split.layers", Cat("the model has a layer ", numbers[i], " but no layer ", i));
    }
    out_.layers = numbers.size();
  }

  const transform::View& view_;
  HybridLayers hybrid_layers_;
  ModelSource out_;
};

}  // namespace

ModelSource ReadModelSource(const transform::View& view, HybridLayers hybrid_layers) { return Reader(view, hybrid_layers).Read(); }

}  // namespace ck::huggingface
