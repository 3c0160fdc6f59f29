#include "libs/huggingface/import_tensors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/caster.h"
#include "libs/huggingface/columns.h"
#include "libs/megatron/extra_state.h"
#include "libs/megatron/model_keys.h"
#include "libs/transform/compose.h"

namespace ck::huggingface {
namespace {

using megatron::LayerKeys;
using transform::Draft;
using transform::Piece;
using transform::SourceAxis;

constexpr std::string_view kLayers = "decoder.layers.";

// "decoder.layers.7.mlp.linear_fc2.weight" without the number.
std::string StackedKey(const std::string& key) {
  Check(key.compare(0, kLayers.size(), kLayers) == 0, "a stacked tensor belongs to a layer of the decoder");
  const size_t dot = key.find('.', kLayers.size());
  return Cat(kLayers, key.substr(dot + 1));
}

// The rows are a gate and an up half: "2f h", "E 2m h".
bool IsGated(const Rule& rule) {
  const std::string_view words = StartsWith(rule.shape, "E ") ? rule.shape.substr(2) : rule.shape;
  return StartsWith(words, "2");
}

// Chunks of a tensor whose first `unit_axes` axes are cut by 1; the rows after them in `halves` equal parts, and those by size.
std::vector<Box> FreshChunks(const Dims& shape, size_t unit_axes, uint64_t halves, DType dtype) {
  const Dims inner(shape.begin() + static_cast<std::ptrdiff_t>(unit_axes), shape.end());
  std::vector<Box> inside;
  if (halves > 1 && !inner.empty() && inner[0] % halves == 0) {
    Dims half = inner;
    half[0] /= halves;
    for (uint64_t h = 0; h < halves; ++h) {
      for (Box& box : transform::ChunksByRows(half, dtype)) {
        box.offset[0] += h * half[0];
        inside.push_back(std::move(box));
      }
    }
  } else {
    inside = transform::ChunksByRows(inner, dtype);
  }
  uint64_t units = 1;
  for (size_t d = 0; d < unit_axes; ++d) units *= shape[d];
  std::vector<Box> out;
  for (uint64_t unit = 0; unit < units; ++unit) {
    Dims index(unit_axes, 0);
    uint64_t rest = unit;
    for (size_t d = unit_axes; d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
    for (const Box& box : inside) {
      Box whole{.offset = index, .shape = Dims(unit_axes, 1)};
      whole.offset.insert(whole.offset.end(), box.offset.begin(), box.offset.end());
      whole.shape.insert(whole.shape.end(), box.shape.begin(), box.shape.end());
      out.push_back(std::move(whole));
    }
  }
  return out;
}

class Importer {
 public:
  Importer(const transform::View& source, const ImportSource& model, const ImportShape& shape, const plan::SplitStep& step)
      : source_(source), model_(model), shape_(shape), caster_(step, shape.family) {}

  transform::View Join() {
    out_.inputs = source_.inputs;
    out_.leaves = source_.leaves;
    out_.format = checkpoint::Format::kTorchDist;
    out_.common_input = source_.common_input;
    out_.averaged_tensors = source_.averaged_tensors;
    out_.warnings = source_.warnings;
    out_.notes = source_.notes;
    for (const JoinedTensor& joined : model_.tensors) AddTo(joined);
    for (const auto& [key, group] : groups_) Emit(key, group);
    if (shape_.hybrid && shape_.extra_states) AddExtraState("output_layer", {0}, {1});
    if (changed_norms_ > 0) out_.notes.push_back(Cat("1 is added to or taken from ", changed_norms_, " norms: the class and the layers that will load them store them in different forms"));
    std::sort(out_.tensors.begin(), out_.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    std::sort(out_.objects.begin(), out_.objects.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    AddLeftOut();
    caster_.AddNote(out_);
    if (padding_rows_ > 0) {
      out_.notes.push_back(Cat("vocabulary of ", model_.sizes.vocab_size, " rows padded with ", padding_rows_, " rows of zeros to ", shape_.padded_vocab));
    }
    return std::move(out_);
  }

 private:
  // The tensors of the layers that make one tensor of the result; one without a layer axis.
  struct Group {
    std::vector<const JoinedTensor*> layers;
    bool stacked = false;
  };

  void AddTo(const JoinedTensor& joined) {
    const bool stacked = joined.layer && shape_.keys == LayerKeys::kStacked;
    Group& group = groups_[stacked ? StackedKey(joined.key) : joined.key];
    group.stacked = stacked;
    group.layers.push_back(&joined);
  }

  void Emit(const std::string& key, const Group& group) {
    const JoinedTensor& first = *group.layers[0];
    Check(group.stacked ? group.layers.size() == shape_.layers : group.layers.size() == 1, "layers that are stacked have the same tensors");
    Draft draft{.name = key, .dtype = first.dtype, .shape = first.shape, .pieces = {}};
    if (group.stacked) draft.shape.insert(draft.shape.begin(), group.layers.size());
    for (uint64_t layer = 0; layer < group.layers.size(); ++layer) {
      const JoinedTensor& joined = *group.layers[layer];
      CheckDtype(first, joined);
      AddPieces(joined, group.stacked ? std::optional(layer) : std::nullopt, draft);
    }
    transform::Tensor tensor = transform::Compose(source_, draft);
    caster_.Apply(source_, key, tensor);
    tensor.added = -AddedBy(first.rule.transform, RowOf(shape_.family).norm_form, shape_.zero_centered);
    if (tensor.added != 0) changed_norms_ += group.layers.size();
    if (first.rule.transform == Transform::kUnpad) Pad(tensor);
    const size_t unit_axes = (group.stacked ? 1u : 0u) + (first.has_expert_axis ? 1u : 0u);
    tensor.chunks = FreshChunks(tensor.shape, unit_axes, IsGated(first.rule) ? 2 : 1, tensor.dtype);
    AddExtraStates(first, key, group.stacked);
    out_.tensors.push_back(std::move(tensor));
  }

  // One entry for each layer and expert of a module.
  void AddExtraStates(const JoinedTensor& joined, const std::string& key, bool stacked) {
    // The parts of one weight, as in_proj.weight.z, are those of one module.
    const size_t at = key.find(".weight");
    const std::string part = at == std::string::npos ? "" : key.substr(at + 7);
    if (!shape_.extra_states || at == std::string::npos || (!part.empty() && part != ".z" && part != ".query")) return;
    const std::string module = key.substr(0, at), kind = module.substr(module.rfind('.') + 1);
    if (part == ".z" && EndsWith(module, "self_attention.in_proj")) return;  // a gated delta net's: .query stands for it
    const bool local = *shape_.extra_states == TransformerImpl::kLocal;
    if (!megatron::LinearHasExtraState(kind) && (local || !megatron::NormHasExtraState(kind))) return;
    const uint64_t layers = stacked ? shape_.layers : 1, experts = joined.has_expert_axis ? joined.shape[0] : 1;
    for (uint64_t layer = 0; layer < layers; ++layer) {
      for (uint64_t expert = 0; expert < experts; ++expert) {
        Dims offset, extent;
        if (stacked || !joined.has_expert_axis) offset.push_back(layer), extent.push_back(layers);
        if (joined.has_expert_axis) offset.push_back(expert), extent.push_back(experts);
        AddExtraState(module, offset, extent);
      }
    }
  }

  void AddExtraState(const std::string& module, const Dims& offset, const Dims& extent) {
    const bool local = *shape_.extra_states == TransformerImpl::kLocal;
    out_.objects.push_back({.name = megatron::FormatShardName(Cat(module, "._extra_state"), offset, extent),
                            .input = 0,
                            .source_name = "",
                            .literal = local ? megatron::NoExtraState() : megatron::EmptyExtraState()});
  }

  void CheckDtype(const JoinedTensor& a, const JoinedTensor& b) const {
    if (a.dtype == b.dtype) return;
    throw InputError("split.mixed_dtype", Cat(Quote(a.key), " is ", Name(a.dtype), ", ", Quote(b.key), " is ", Name(b.dtype), "; layers that are stacked have one dtype, --per-layer keeps them apart"));
  }

  // ---- Pieces: a box of the draft from a box of a Hugging Face tensor

  void AddPieces(const JoinedTensor& joined, std::optional<uint64_t> layer, Draft& draft) const {
    if (joined.whole) {
      draft.pieces.push_back(PieceOf(draft.shape, *joined.whole, layer, std::nullopt, {.source = 0, .target = 0, .rows = joined.shape[0]}));
      return;
    }
    if (joined.rule.transform == Transform::kAlternate || joined.rule.transform == Transform::kTranspose) return AddColumns(joined, layer, draft);
    const uint64_t rows = joined.shape[joined.has_expert_axis ? 1 : 0];
    for (size_t part = 0; part < joined.parts.size(); ++part) {
      const std::vector<RowRange> ranges = joined.ranges ? *joined.ranges : RowsOfPart(joined.rule.transform, part, rows, model_.sizes);
      for (uint64_t e = 0; e < joined.parts[part].size(); ++e) {
        const auto expert = joined.has_expert_axis ? std::optional(e) : std::nullopt;
        for (const RowRange& range : ranges) draft.pieces.push_back(PieceOf(draft.shape, joined.parts[part][e], layer, expert, range));
      }
    }
  }

  void AddColumns(const JoinedTensor& joined, std::optional<uint64_t> layer, Draft& draft) const {
    const uint32_t index = joined.parts[0][0];
    for (Piece& piece : FromColumns(joined.rule.transform, source_.tensors[index].shape).pieces) {
      piece.leaf = index;
      if (layer) {
        piece.target.offset.insert(piece.target.offset.begin(), *layer);
        piece.target.shape.insert(piece.target.shape.begin(), 1);
        for (SourceAxis& axis : piece.axes) axis.result_axis += axis.result_axis == SourceAxis::kFixed ? 0 : 1;
      }
      draft.pieces.push_back(std::move(piece));
    }
  }

  // Rows [range.target, ..) of a tensor become rows [range.source, ..) of a layer's or an expert's part of the result.
  static Piece PieceOf(const Dims& shape, uint32_t tensor, std::optional<uint64_t> layer, std::optional<uint64_t> expert, const RowRange& range) {
    Piece piece{.target = Box::Whole(shape), .leaf = tensor, .source_offset = {}, .axes = {}};
    size_t axis = 0;
    for (const auto& fixed : {layer, expert}) {
      if (!fixed) continue;
      piece.target.offset[axis] = *fixed;
      piece.target.shape[axis] = 1;
      ++axis;
    }
    piece.target.offset[axis] = range.source;
    piece.target.shape[axis] = range.rows;
    for (size_t d = axis; d < shape.size(); ++d) {
      piece.source_offset.push_back(d == axis ? range.target : 0);
      piece.axes.push_back({.result_axis = static_cast<int32_t>(d), .step = 1});
    }
    return piece;
  }

  void Pad(transform::Tensor& tensor) {
    const uint64_t rows = shape_.padded_vocab - tensor.shape[0];
    if (rows == 0) return;
    padding_rows_ = rows;
    transform::Leaf leaf{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = transform::Arithmetic::kFill, .terms = {}, .fill = {}};
    leaf.shape[0] = rows;
    Piece piece = Piece::Whole(static_cast<uint32_t>(out_.leaves.size()), leaf.shape);
    piece.target.offset[0] = tensor.shape[0];
    out_.leaves.push_back(std::move(leaf));
    tensor.pieces.push_back(std::move(piece));
    tensor.shape[0] = shape_.padded_vocab;
  }

  void AddLeftOut() {
    std::map<std::string, transform::LeftOut> all = model_.left_out;
    for (const transform::LeftOut& left : source_.left_out) {
      transform::LeftOut& sum = all[left.rule];
      sum.rule = left.rule;
      sum.count += left.count;
      sum.bytes += left.bytes;
    }
    for (auto& [rule, left] : all) out_.left_out.push_back(std::move(left));
  }

  const transform::View& source_;
  const ImportSource& model_;
  const ImportShape& shape_;
  Caster caster_;
  transform::View out_;
  std::map<std::string, Group> groups_;  // by key of the result
  uint64_t padding_rows_ = 0, changed_norms_ = 0;
};

}  // namespace

transform::View JoinTensors(const transform::View& source, const ImportSource& model, const ImportShape& shape, const plan::SplitStep& step) {
  return Importer(source, model, shape, step).Join();
}

}  // namespace ck::huggingface
