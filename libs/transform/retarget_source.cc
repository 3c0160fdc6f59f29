#include "libs/transform/retarget_source.h"

#include <algorithm>
#include <set>

#include "libs/base/text.h"
#include "libs/megatron/keys.h"
#include "libs/megatron/model_keys.h"

namespace ck::transform {
namespace {

using megatron::KeyClass;
using megatron::ModelKey;

constexpr size_t kNamesShown = 5;
constexpr uint64_t kMaxLayers = 100'000;  // the largest models have some hundred; bounds what one key can allocate

bool IsState(KeyClass key_class) {
  return key_class == KeyClass::kOptimizer || key_class == KeyClass::kRng || key_class == KeyClass::kRerun || key_class == KeyClass::kCommon;
}

class Reader {
 public:
  // Reads the keys that begin with `plane`; with an empty one, all that are not state.
  Reader(const View& view, std::string_view plane, uint64_t plane_layers, std::vector<plan::Finding>& findings)
      : view_(view), plane_(plane), plane_layers_(plane_layers), findings_(findings) {}

  SourceModel Read() {
    for (uint32_t i = 0; i < view_.tensors.size(); ++i) SortTensor(i);
    for (uint32_t i = 0; i < view_.objects.size() && plane_.empty(); ++i) SortObject(i);
    Report("retarget.unmapped", " entries belong to no part of a model that is known, and are neither mapped nor dropped: ", unmapped_);
    CheckPrefixes();
    CheckLayout();
    if (findings_.empty()) AddLayers();
    return std::move(out_);
  }

 private:
  struct Entry {
    uint32_t index;
    ModelKey key;  // views into the view's names
  };

  void SortTensor(uint32_t i) {
    const std::string& name = view_.tensors[i].name;
    if (!StartsWith(name, plane_)) return;
    if (plane_.empty() && IsState(megatron::Classify(name))) {
      out_.state_tensors.push_back(i);
    } else if (const auto entry = Parse(i, name)) {
      if (entry->key.part == ModelKey::Part::kLayer) {
        layer_tensors_.push_back(*entry);
      } else {
        out_.tensors.emplace_back(i, name.substr(prefix_size_));
      }
    }
  }

  void SortObject(uint32_t i) {
    const std::string& name = view_.objects[i].name;
    const KeyClass key_class = megatron::Classify(name);
    if (key_class == KeyClass::kCommon && view_.format == checkpoint::Format::kFsdpDtensor) {
      out_.common_objects.push_back(i);
    } else if (IsState(key_class)) {
      out_.state_objects.push_back(i);
    } else if (const auto entry = Parse(i, name)) {
      if (entry->key.part == ModelKey::Part::kLayer) {
        layer_objects_.push_back(*entry);
      } else {
        out_.objects.emplace_back(i, name.substr(prefix_size_));
      }
    }
  }

  // The key after its prefix; nullopt, and noted, when it is no key of a model.
  std::optional<Entry> Parse(uint32_t index, const std::string& name) {
    const auto prefix = megatron::WrapperPrefix(std::string_view(name).substr(plane_.size()));
    if (!prefix) {
      unmapped_.push_back(name);
      return std::nullopt;
    }
    prefixes_.insert(Cat(plane_, *prefix));
    prefix_size_ = plane_.size() + prefix->size();
    const ModelKey key = megatron::ParseModelKey(std::string_view(name).substr(prefix_size_));
    if (key.part == ModelKey::Part::kOther) {
      unmapped_.push_back(name);
      return std::nullopt;
    }
    return Entry{index, key};
  }

  void CheckPrefixes() {
    if (prefixes_.size() > 1) {
      Report("retarget.prefix", " wrapper prefixes stand before the keys, expected one: ", {prefixes_.begin(), prefixes_.end()});
    } else if (!prefixes_.empty()) {
      out_.prefix = *prefixes_.begin();
    }
  }

  void CheckLayout() {
    const auto is_indexed = [](const Entry& entry) { return entry.key.layer.has_value(); };
    const auto indexed = static_cast<size_t>(std::count_if(layer_tensors_.begin(), layer_tensors_.end(), is_indexed));
    if (layer_tensors_.empty()) {
      Add("retarget.no_layers", "the checkpoint has no key under decoder.layers: it is no GPT or Hybrid model");
    } else if (indexed != 0 && indexed != layer_tensors_.size()) {
      Add("retarget.mixed_layout", Cat(indexed, " of ", layer_tensors_.size(), " layer tensors have a layer number in their key, expected all or none"));
    }
    out_.stacked = indexed == 0;
  }

  void AddLayers() {
    const auto count = out_.stacked ? StackedLayers() : IndexedLayers();
    if (!count) return;
    out_.layers.resize(*count);
    for (const Entry& entry : layer_tensors_) AddLayerTensor(entry);
    for (const Entry& entry : layer_objects_) AddLayerObject(entry);
    Report("retarget.unmapped", " entries of layers have no place among the layers: ", unmapped_);
  }

  // All stacked tensors have one number of layers.
  std::optional<uint64_t> StackedLayers() {
    const Tensor& first = view_.tensors[layer_tensors_[0].index];
    std::vector<std::string> different;
    for (const Entry& entry : layer_tensors_) {
      const Tensor& tensor = view_.tensors[entry.index];
      if (tensor.shape.empty() || first.shape.empty() || tensor.shape[0] != first.shape[0]) different.push_back(Cat(tensor.name, " ", FormatDims(tensor.shape)));
    }
    if (!different.empty()) {
      Add("retarget.layer_count", Cat("stacked tensors differ in their number of layers: ", Quote(first.name), " is ", FormatDims(first.shape), ", but ", SomeNames(different)));
      return std::nullopt;
    }
    return CheckedCount(first.shape[0]);
  }

  std::optional<uint64_t> IndexedLayers() {
    std::set<uint64_t> numbers;
    for (const Entry& entry : layer_tensors_) numbers.insert(*entry.key.layer);
    const uint64_t count = plane_.empty() ? numbers.size() : plane_layers_;
    if (plane_.empty() ? *numbers.rbegin() != count - 1 : *numbers.rbegin() >= count) {
      Add("retarget.layer_count", Cat(numbers.size(), " layers have keys ", plane_, "decoder.layers.N., the last one is ", *numbers.rbegin(), "; expected 0 to ", count - 1, plane_.empty() ? " without a gap" : ""));
      return std::nullopt;
    }
    return CheckedCount(count);
  }

  std::optional<uint64_t> CheckedCount(uint64_t count) {
    if (count >= 1 && count <= kMaxLayers) return count;
    Add("retarget.layer_count", Cat("the checkpoint has ", count, " layers, expected 1 to ", kMaxLayers));
    return std::nullopt;
  }

  void AddLayerTensor(const Entry& entry) {
    const Tensor& tensor = view_.tensors[entry.index];
    const std::string rest(entry.key.rest);
    if (entry.key.layer) {
      const LayerTensor own{.tensor = entry.index, .row = {}, .dtype = tensor.dtype, .shape = tensor.shape};
      // Two spellings of one layer number ("1" and "01") would hide a tensor.
      if (!out_.layers[*entry.key.layer].tensors.emplace(rest, own).second) unmapped_.push_back(tensor.name);
      return;
    }
    const Dims shape(tensor.shape.begin() + 1, tensor.shape.end());
    for (uint64_t row = 0; row < out_.layers.size(); ++row) out_.layers[row].tensors[rest] = {.tensor = entry.index, .row = row, .dtype = tensor.dtype, .shape = shape};
  }

  // decoder.layers.[N.]MODULE._extra_state/shard_*: (l)_(n) or (l.e)_(n.E) stacked, (0)_(1) or (e)_(E) with a layer number.
  void AddLayerObject(const Entry& entry) {
    const auto shard = megatron::ParseShardName(entry.key.rest);
    const size_t layer_axes = out_.stacked ? 1 : 0;
    if (!shard || entry.key.layer.has_value() == out_.stacked || shard->shape.size() > layer_axes + 1) return Unmapped(entry);
    const uint64_t layer = out_.stacked ? shard->offset[0] : *entry.key.layer;
    if (layer >= out_.layers.size() || (out_.stacked && shard->shape[0] != out_.layers.size())) return Unmapped(entry);
    LayerObject object{.object = entry.index, .expert = {}};
    const bool of_expert = out_.stacked ? shard->shape.size() == 2 : StartsWith(shard->name, "mlp.experts.");
    if (of_expert) object.expert = {shard->offset.back(), shard->shape.back()};
    if (!of_expert && !out_.stacked && (shard->offset[0] != 0 || shard->shape[0] != 1)) return Unmapped(entry);
    const std::pair key(std::string(shard->name), of_expert ? object.expert->first : 0);
    if (!out_.layers[layer].objects.emplace(key, object).second) Unmapped(entry);
  }

  void Unmapped(const Entry& entry) { unmapped_.push_back(view_.objects[entry.index].name); }

  void Report(const char* id, const char* what, std::vector<std::string> names) {
    if (!names.empty()) Add(id, Cat(names.size(), what, SomeNames(names)));
    unmapped_.clear();
  }

  void Add(const char* id, std::string message) { findings_.push_back(ErrorFinding(id, std::move(message))); }

  const View& view_;
  const std::string_view plane_;
  const uint64_t plane_layers_;
  std::vector<plan::Finding>& findings_;
  SourceModel out_;
  std::set<std::string> prefixes_;
  size_t prefix_size_ = 0;  // of the key that Parse saw last
  std::vector<Entry> layer_tensors_, layer_objects_;
  std::vector<std::string> unmapped_;
};

}  // namespace

bool ModelLayer::Has(std::string_view module) const {
  const auto at = tensors.lower_bound(std::string(module));
  return at != tensors.end() && StartsWith(at->first, module) && (at->first.size() == module.size() || at->first[module.size()] == '.');
}

SourceModel ReadSourceModel(const View& view, std::vector<plan::Finding>& findings) { return Reader(view, "", 0, findings).Read(); }

SourceModel ReadPlane(const View& view, const std::string& plane, uint64_t layers, std::vector<plan::Finding>& findings) {
  return Reader(view, plane, layers, findings).Read();
}

char SymbolOfLayer(const ModelLayer& layer) {
  const bool attention = layer.Has("self_attention.linear_qkv"), moe = layer.Has("mlp.router"), mlp = moe || layer.Has("mlp.linear_fc1");
  const bool mamba = layer.Has("mixer"), gated_delta = layer.Has("self_attention.in_proj");
  const bool latent = layer.Has("self_attention.linear_kv_down_proj") || layer.Has("self_attention.linear_kv_up_proj");
  if (attention + mamba + gated_delta + latent + mlp == 2 && attention && mlp) return 'A';
  if (attention + mamba + gated_delta + latent + mlp != 1) return '?';
  if (mamba) return 'M';
  if (gated_delta) return 'G';
  if (latent) return layer.Has("self_attention.core_attention.indexer") ? 'D' : '+';
  if (attention) return '*';
  return moe ? 'E' : '-';
}

uint64_t CountElements(const View& view, const SourceModel& model) {
  uint64_t total = 0;
  for (const ModelLayer& layer : model.layers) {
    for (const auto& [rest, tensor] : layer.tensors) total += Volume(tensor.shape).value_or(0);
  }
  for (const auto& [index, key] : model.tensors) total += Volume(view.tensors[index].shape).value_or(0);
  return total;
}

uint64_t CountElements(const std::vector<Tensor>& tensors) {
  uint64_t total = 0;
  for (const Tensor& tensor : tensors) total += Volume(tensor.shape).value_or(0);
  return total;
}

std::string DescribeMamba(const View& view, const SourceModel& model, const std::vector<uint64_t>& layers) {
  uint64_t tensors = 0, bytes = 0, parameters = 0;
  for (const uint64_t layer : layers) {
    for (const auto& [rest, tensor] : model.layers[layer].tensors) {
      const uint64_t elements = Volume(tensor.shape).value_or(0);
      ++tensors;
      parameters += elements;
      bytes += elements * ElementSize(tensor.dtype);
    }
  }
  const auto all = static_cast<double>(std::max<uint64_t>(CountElements(view, model), 1));
  const auto permille = static_cast<uint64_t>(static_cast<double>(parameters) * 1000 / all + 0.5);
  return Cat(Count(layers.size(), "Mamba layer"), " (", Count(tensors, "tensor"), ", ", FormatBytes(bytes), ", ", permille / 10, ".", permille % 10, "% of the parameters)");
}

std::string Count(uint64_t count, std::string_view what) { return Cat(count, " ", what, count == 1 ? "" : "s"); }

std::string SomeNames(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < names.size() && i < kNamesShown; ++i) shown.push_back(Quote(names[i]));
  std::string out = Join(shown, ", ");
  if (names.size() > kNamesShown) out += Cat(" and ", names.size() - kNamesShown, " more");
  return out;
}

plan::Finding ErrorFinding(std::string id, std::string message) {
  return {.id = std::move(id), .severity = plan::Severity::kError, .message = std::move(message), .where = {}, .found = {}, .expected = {}, .source = {}};
}

}  // namespace ck::transform
