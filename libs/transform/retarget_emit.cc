#include "libs/transform/retarget_emit.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/megatron/extra_state.h"
#include "libs/megatron/model_keys.h"
#include "libs/transform/compose.h"

namespace ck::transform {
namespace {

using megatron::FormatShardName;
using megatron::LayerKeys;

constexpr std::string_view kOutputExtraState = "output_layer._extra_state";

bool IsOutputExtraState(std::string_view key) { return key == kOutputExtraState || StartsWith(key, Cat(kOutputExtraState, "/")); }

class Emitter {
 public:
  Emitter(const View& source, const SourceModel& model, const std::vector<ModelLayer>& layers, const EmitOptions& options, LeftOutTally& left_out)
      : source_(source), model_(model), layers_(layers), options_(options), left_out_(left_out) {}

  View Emit() {
    out_.inputs = source_.inputs;
    out_.leaves = source_.leaves;
    out_.format = source_.format;
    out_.common_input = source_.common_input;
    out_.averaged_tensors = source_.averaged_tensors;
    out_.copied_extra_states = source_.copied_extra_states;
    for (const auto& [index, key] : model_.tensors) AddWhole(index, Cat(model_.prefix, key));
    for (const auto& [index, key] : model_.objects) AddOtherObject(index, key);
    for (const uint32_t index : model_.common_objects) out_.objects.push_back(source_.objects[index]);
    if (options_.keys == LayerKeys::kPerLayer) {
      AddIndexedLayers();
    } else {
      AddStackedLayers();
    }
    AddPlaceholders();
    return std::move(out_);
  }

 private:
  bool DropsExtraStates() const { return options_.extra_state == plan::RetargetStep::ExtraState::kDrop; }

  void AddWhole(uint32_t index, std::string name) {
    const Tensor& tensor = source_.tensors[index];
    out_.tensors.push_back(Compose(source_, {.name = std::move(name), .dtype = tensor.dtype, .shape = tensor.shape, .pieces = {Piece::Whole(index, tensor.shape)}}));
  }

  // ---- Layers with keys of their own

  void AddIndexedLayers() {
    for (uint64_t layer = 0; layer < layers_.size(); ++layer) {
      const std::string prefix = Cat(model_.prefix, "decoder.layers.", layer, ".");
      for (const auto& [rest, tensor] : layers_[layer].tensors) {
        if (tensor.row) {
          AddRow(tensor, Cat(prefix, rest));
        } else {
          AddWhole(tensor.tensor, Cat(prefix, rest));
        }
      }
      for (const auto& [key, object] : layers_[layer].objects) {
        const auto [index, count] = object.expert.value_or(std::pair<uint64_t, uint64_t>(0, 1));
        AddObject(object.object, FormatShardName(Cat(prefix, key.first), {index}, {count}));
      }
    }
  }

  // Row l of a stacked tensor, without the layer axis.
  void AddRow(const LayerTensor& tensor, std::string name) {
    Piece piece{.target = Box::Whole(tensor.shape), .leaf = tensor.tensor, .source_offset = Dims(tensor.shape.size() + 1, 0), .axes = {{.result_axis = SourceAxis::kFixed, .step = 1}}};
    piece.source_offset[0] = *tensor.row;
    for (size_t d = 0; d < tensor.shape.size(); ++d) piece.axes.push_back({.result_axis = static_cast<int32_t>(d), .step = 1});
    out_.tensors.push_back(Compose(source_, {.name = std::move(name), .dtype = tensor.dtype, .shape = tensor.shape, .pieces = {std::move(piece)}}));
  }

  // ---- Layers as rows

  void AddStackedLayers() {
    const std::string prefix = Cat(model_.prefix, "decoder.layers.");
    for (const auto& entry : layers_[0].tensors) AddStack(prefix, entry.first);
    for (uint64_t layer = 0; layer < layers_.size(); ++layer) {
      for (const auto& [key, object] : layers_[layer].objects) {
        Dims offset = {layer}, shape = {layers_.size()};
        if (object.expert) {
          offset.push_back(object.expert->first);
          shape.push_back(object.expert->second);
        }
        AddObject(object.object, FormatShardName(Cat(prefix, key.first), offset, shape));
      }
    }
  }

  void AddStack(const std::string& prefix, const std::string& rest) {
    const LayerTensor& first = layers_[0].tensors.at(rest);
    if (IsStackAlready(rest)) return AddWhole(first.tensor, Cat(prefix, rest));
    Draft draft{.name = Cat(prefix, rest), .dtype = first.dtype, .shape = first.shape, .pieces = {}};
    draft.shape.insert(draft.shape.begin(), layers_.size());
    for (uint64_t layer = 0; layer < layers_.size(); ++layer) {
      const LayerTensor& tensor = layers_[layer].tensors.at(rest);
      Piece piece{.target = Box::Whole(draft.shape), .leaf = tensor.tensor, .source_offset = Dims(tensor.shape.size(), 0), .axes = {}};
      piece.target.offset[0] = layer;
      piece.target.shape[0] = 1;
      for (size_t d = 0; d < tensor.shape.size(); ++d) piece.axes.push_back({.result_axis = static_cast<int32_t>(d + 1), .step = 1});
      Check(!tensor.row, "rows of a stack are stacked again only as they were");
      draft.pieces.push_back(std::move(piece));
    }
    out_.tensors.push_back(Compose(source_, draft));
  }

  // The layers are the rows of one tensor, in order: it stays whole.
  bool IsStackAlready(const std::string& rest) const {
    const LayerTensor& first = layers_[0].tensors.at(rest);
    for (uint64_t layer = 0; layer < layers_.size(); ++layer) {
      const LayerTensor& tensor = layers_[layer].tensors.at(rest);
      if (tensor.tensor != first.tensor || tensor.row != layer) return false;
    }
    return true;
  }

  // ---- Objects

  void AddOtherObject(uint32_t index, const std::string& key) {
    if (options_.output_extra_state == OutputExtraState::kDrop && IsOutputExtraState(key)) return left_out_.Add("output_extra_state", ObjectBytes(source_, index));
    AddObject(index, Cat(model_.prefix, key));
  }

  void AddObject(uint32_t index, std::string name) {
    if (DropsExtraStates()) return left_out_.Add("extra_state", ObjectBytes(source_, index));
    Object object = source_.objects[index];
    object.name = std::move(name);
    out_.objects.push_back(std::move(object));
  }

  void AddEmptyExtraState(const std::string& module) {
    out_.objects.push_back({.name = Cat(model_.prefix, module, "._extra_state/shard_0_1"), .input = 0, .source_name = "", .literal = megatron::NoExtraState()});
  }

  void AddPlaceholders() {
    if (DropsExtraStates()) return;
    for (const uint64_t layer : options_.empty_extra_states) {
      for (const char* module : {"mixer.in_proj", "mixer.out_proj"}) AddEmptyExtraState(Cat("decoder.layers.", layer, ".", module));
    }
    if (options_.output_extra_state != OutputExtraState::kAdd) return;
    for (const auto& [index, key] : model_.objects) {
      if (IsOutputExtraState(key)) return;
    }
    AddEmptyExtraState("output_layer");
  }

  const View& source_;
  const SourceModel& model_;
  const std::vector<ModelLayer>& layers_;
  const EmitOptions& options_;
  LeftOutTally& left_out_;
  View out_;
};

}  // namespace

void LeftOutTally::Add(const std::string& rule, uint64_t bytes, uint64_t count) {
  auto& [counted, total] = by_rule_[rule];
  counted += count;
  total += bytes;
}

std::vector<LeftOut> LeftOutTally::Take() const {
  std::vector<LeftOut> out;
  for (const auto& [rule, left] : by_rule_) out.push_back({.rule = rule, .count = left.first, .bytes = left.second});
  return out;
}

uint64_t ObjectBytes(const View& view, uint32_t object) {
  const Object& found = view.objects[object];
  if (found.literal) return found.literal->size();
  const dcp::Object* stored = view.inputs[found.input]->FindObject(found.source_name);
  return stored ? stored->item.length : 0;
}

View EmitModel(const View& source, const SourceModel& model, const std::vector<ModelLayer>& layers, const EmitOptions& options, LeftOutTally& left_out) {
  return Emitter(source, model, layers, options, left_out).Emit();
}

}  // namespace ck::transform
