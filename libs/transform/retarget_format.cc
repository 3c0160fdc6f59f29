#include "libs/transform/retarget_format.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/dcp/metadata.h"
#include "libs/megatron/keys.h"
#include "libs/megatron/model_args.h"
#include "libs/megatron/model_keys.h"
#include "libs/transform/compose.h"
#include "libs/transform/loose_args.h"
#include "libs/transform/retarget_emit.h"
#include "libs/transform/retarget_format_names.h"
#include "libs/transform/retarget_rules.h"
#include "libs/transform/retarget_source.h"

namespace ck::transform {
namespace {

constexpr std::string_view kFsdpPrefix = "model.module.";

// Rows [begin, begin + rows) along one axis of a source tensor, which become a part of a result.
struct Part {
  uint32_t tensor = 0;
  uint64_t begin = 0;
  uint64_t rows = 0;
};

// Result box `target` from the source's `source_offset` on, the axes in order: source axis d is result axis d + axis_shift, and fixed below 0.
Piece Shifted(Box target, uint32_t tensor, Dims source_offset, size_t source_rank, int axis_shift) {
  Piece piece{.target = std::move(target), .leaf = tensor, .source_offset = std::move(source_offset), .axes = {}};
  for (size_t d = 0; d < source_rank; ++d) {
    const int axis = static_cast<int>(d) + axis_shift;
    piece.axes.push_back({.result_axis = axis < 0 ? SourceAxis::kFixed : axis, .step = 1});
  }
  return piece;
}

class Converter {
 public:
  Converter(const plan::RetargetStep& step, View source, megatron::CommonDocument common) : step_(step), source_(std::move(source)), common_(std::move(common)), args_(common_) {
    out_.inputs = source_.inputs;
    out_.leaves = source_.leaves;
    out_.common_input = source_.common_input;
    out_.averaged_tensors = source_.averaged_tensors;
    out_.notes = std::move(source_.notes);
    out_.warnings = std::move(source_.warnings);
    for (const LeftOut& left : source_.left_out) left_out_.Add(left.rule, left.bytes, left.count);
  }

  Retargeted ToFsdp() {
    const SourceModel model = ReadModel();
    if (!findings_.empty()) return Refused();
    const bool local = step_.transformer_impl ? *step_.transformer_impl == plan::TransformerImpl::kLocal : args_.String("transformer_impl") == "local";
    for (const auto& [index, key] : model.tensors) AddWhole(index, Cat(kFsdpPrefix, key));
    for (uint64_t i = 0; i < model.layers.size(); ++i) AddFsdpLayer(model.layers[i], Cat(kFsdpPrefix, "decoder.layers.", i, "."), local);
    for (uint32_t i = 0; i < source_.objects.size(); ++i) LeaveObjectOut(i);
    LeaveStateOut(model);
    args_.Set("ckpt_format", common_.graph.NewString("fsdp_dtensor"));
    AddLooseObjects(common_, out_, left_out_);
    AddModelPaths(out_);
    out_.format = checkpoint::Format::kFsdpDtensor;
    out_.notes.push_back(Cat("torch_dist to fsdp_dtensor, with the names of the ", local ? "local implementation" : "Transformer Engine", "; fc1 is ", gated_ ? "gated" : "not gated", " (args.swiglu)"));
    return Done();
  }

  Retargeted ToTorch() {
    const SourceModel model = ReadModel();
    if (!findings_.empty()) return Refused();
    for (const auto& [index, key] : model.tensors) AddWhole(index, key);
    for (uint64_t i = 0; i < model.layers.size(); ++i) AddTorchLayer(model.layers[i], i);
    for (const uint32_t i : model.state_objects) LeaveObjectOut(i);
    LeaveStateOut(model);
    args_.Set("ckpt_format", common_.graph.NewString("torch_dist"));
    out_.format = checkpoint::Format::kTorchDist;
    out_.notes.push_back("fsdp_dtensor to torch_dist: there are no extra states, load the result with --dist-ckpt-strictness log_unexpected");
    Retargeted done = Done();
    if (done.findings.empty()) done.view.common = std::move(common_);
    return done;
  }

 private:
  void Add(const char* id, std::string message) { findings_.push_back(ErrorFinding(id, std::move(message))); }

  Retargeted Refused() {
    Retargeted out;
    out.findings = std::move(findings_);
    return out;
  }

  Retargeted Done() {
    if (!findings_.empty()) return Refused();
    Check(CountElements(out_.tensors) == elements_, "a change of format keeps every element");
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(out_.tensors.begin(), out_.tensors.end(), by_name);
    std::sort(out_.objects.begin(), out_.objects.end(), by_name);
    out_.left_out = left_out_.Take();
    Retargeted out;
    out.view = std::move(out_);
    return out;
  }

  SourceModel ReadModel() {
    SourceModel model = ReadSourceModel(source_, findings_);
    if (findings_.empty()) CheckKinds(model);
    if (findings_.empty()) gated_ = IsGated();
    elements_ = CountElements(source_, model);
    return model;
  }

  // Layers of kinds whose names are known in both formats.
  void CheckKinds(const SourceModel& model) {
    std::vector<std::string> unknown, mtp;
    for (uint64_t i = 0; i < model.layers.size(); ++i) {
      const char symbol = SymbolOfLayer(model.layers[i]);
      if (symbol == '?' || symbol == 'G' || symbol == 'D' || symbol == '+') unknown.push_back(Cat("layer ", i));
      for (const auto& [rest, tensor] : model.layers[i].tensors) {
        if (megatron::PartOfLayer(rest) == megatron::LayerPart::kUnknown) unknown.push_back(Cat("layer ", i, ": ", rest));
      }
    }
    for (const auto& [index, key] : model.tensors) {
      if (StartsWith(key, "mtp.")) mtp.push_back(key);
    }
    if (!unknown.empty()) Add("retarget.unmapped", Cat("the names of the other format are not known for ", SomeNames(unknown)));
    if (!mtp.empty()) Add("retarget.mtp", Cat("the names of the other format are not known for ", SomeNames(mtp)));
  }

  bool IsGated() {
    const auto swiglu = args_.Bool("swiglu");
    if (!swiglu) Add(args_.exist() ? "retarget.gated" : "retarget.no_args", "args.swiglu, which says whether fc1 is gated, is not there; the shapes alone do not tell");
    if (args_.IsSet("moe_mlp_glu_interleave_size")) Add("retarget.gated", Cat("args.moe_mlp_glu_interleave_size is ", args_.Text("moe_mlp_glu_interleave_size"), ": the halves of fc1 are interleaved"));
    return swiglu.value_or(false);
  }

  // fc1 has as many rows as fc2 has columns, twice as many when it is gated.
  void CheckGated(const std::string& rest, uint64_t fc1_rows, uint64_t fc2_columns) {
    const uint64_t wanted = gated_ ? 2 * fc2_columns : fc2_columns;
    if (fc1_rows == wanted) return;
    Add("retarget.gated", Cat("args.swiglu is ", gated_ ? "True" : "False", ", but ", Quote(rest), " has ", fc1_rows, " rows and fc2 ", fc2_columns, " columns; expected ", wanted, " rows"));
  }

  void AddWhole(uint32_t index, std::string name) { AddDraft(std::move(name), index, source_.tensors[index].shape, {Piece::Whole(index, source_.tensors[index].shape)}); }

  void AddDraft(std::string name, uint32_t like, Dims shape, std::vector<Piece> pieces) {
    out_.tensors.push_back(Compose(source_, {.name = std::move(name), .dtype = source_.tensors[like].dtype, .shape = std::move(shape), .pieces = std::move(pieces)}));
  }

  // ---- torch_dist to fsdp_dtensor

  static std::string ReplaceStart(const std::string& text, std::string_view from, std::string_view to) { return StartsWith(text, from) ? Cat(to, text.substr(from.size())) : text; }

  void AddFsdpLayer(const ModelLayer& layer, const std::string& prefix, bool local) {
    for (const auto& [rest, tensor] : layer.tensors) {
      if (AddPackedPart(layer, rest, prefix)) continue;
      std::string name = rest;
      const bool alias = StartsWith(rest, "mlp.linear_fc1.layer_norm_") && layer.Has("mlp.router");  // in memory an MoE layer's norm is its own
      if (local) name = ReplaceStart(name, "self_attention.linear_qkv.layer_norm_", "input_layernorm.");
      if (local || alias) name = ReplaceStart(name, "mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm.");
      AddFsdpParts(layer, name, tensor, prefix);
    }
  }

  void AddFsdpParts(const ModelLayer& layer, const std::string& rest, const LayerTensor& tensor, const std::string& prefix) {
    const bool experts = StartsWith(rest, "mlp.experts.experts.");
    const bool split = IsGatedTensor(rest);
    const size_t row_axis = experts ? 1 : 0;
    const Dims& shape = tensor.shape;
    if (shape.size() <= row_axis) return Add("retarget.experts", Cat(Quote(rest), " is ", FormatDims(shape), ", expected an axis of experts"));
    if (split && EndsWith(rest, ".weight")) {
      const auto fc2 = layer.tensors.find(rest.substr(0, rest.size() - std::string_view("fc1.weight").size()) + "fc2.weight");
      if (fc2 == layer.tensors.end() || fc2->second.shape.empty()) return Add("retarget.missing_key", Cat("no fc2 beside ", Quote(rest)));
      CheckGated(rest, shape[row_axis], fc2->second.shape.back());
    }
    const bool halve = split && gated_;
    if (halve && shape[row_axis] % 2 != 0) return Add("retarget.gated", Cat(Quote(rest), " is gated and has an odd number of rows, ", shape[row_axis]));
    const uint64_t expert_count = experts ? shape[0] : 1, halves = halve ? 2 : 1;
    for (uint64_t e = 0; e < expert_count; ++e) {
      for (uint64_t h = 0; h < halves; ++h) {
        FsdpName name{.rest = rest, .expert = {}, .half = {}};
        if (experts) name.expert = e;
        if (halve) name.half = h == 0 ? Half::kGate : Half::kUp;
        Dims part(shape.begin() + static_cast<ptrdiff_t>(row_axis), shape.end());
        part[0] /= halves;
        Dims from(shape.size(), 0);
        if (experts) from[0] = e;
        from[row_axis] = h * part[0];
        Piece piece = Shifted(Box::Whole(part), tensor.tensor, std::move(from), shape.size(), experts ? -1 : 0);
        AddDraft(Cat(prefix, FormatFsdpName(name)), tensor.tensor, std::move(part), {std::move(piece)});
      }
    }
  }

  // mixer.in_proj.weight.z and the like: the first part makes the packed tensor, the others are in it.
  bool AddPackedPart(const ModelLayer& layer, const std::string& rest, const std::string& prefix) {
    for (const auto& [name, parts] : PackedTensors()) {
      if (!StartsWith(rest, name + ".")) continue;
      if (rest != Cat(name, ".", parts[0])) return true;
      std::vector<std::pair<uint32_t, uint64_t>> sources;  // tensor, rows
      for (const std::string& part : parts) {
        const auto at = layer.tensors.find(Cat(name, ".", part));
        if (at == layer.tensors.end() || at->second.shape.empty()) {
          Add("retarget.missing_key", Cat("no ", Quote(Cat(name, ".", part)), " beside ", Quote(rest)));
          return true;
        }
        sources.emplace_back(at->second.tensor, at->second.shape[0]);
      }
      AddPacked(Cat(prefix, name), sources);
      return true;
    }
    return false;
  }

  static const std::map<std::string, std::vector<std::string>>& PackedTensors() {
    static const std::map<std::string, std::vector<std::string>> table = {
        {"mixer.in_proj.weight", {"z", "x", "B", "C", "dt"}}, {"mixer.conv1d.weight", {"x", "B", "C"}}, {"mixer.conv1d.bias", {"x", "B", "C"}}};
    return table;
  }

  uint64_t TensorParallel() const { return static_cast<uint64_t>(std::clamp<int64_t>(args_.Int("tensor_model_parallel_size").value_or(1), 1, 1 << 20)); }

  // The rows of a packed tensor by rank: each rank of the tensor-parallel group has its share of every part. Empty when a part cannot be shared.
  std::vector<Part> PackedRows(const std::vector<std::pair<uint32_t, uint64_t>>& parts) {
    const uint64_t ranks = TensorParallel();
    std::vector<Part> out;
    for (uint64_t rank = 0; rank < ranks; ++rank) {
      for (const auto& [tensor, rows] : parts) {
        if (rows % ranks != 0) {
          Add("retarget.mamba_size", Cat(rows, " rows of a packed Mamba tensor cannot be shared by ", ranks, " tensor-parallel ranks (args.tensor_model_parallel_size)"));
          return {};
        }
        out.push_back({.tensor = tensor, .begin = rank * (rows / ranks), .rows = rows / ranks});
      }
    }
    return out;
  }

  void AddPacked(std::string name, const std::vector<std::pair<uint32_t, uint64_t>>& parts) {
    Dims shape = source_.tensors[parts[0].first].shape;
    shape[0] = 0;
    for (const auto& part : parts) shape[0] += part.second;
    std::vector<Piece> pieces;
    uint64_t row = 0;
    for (const Part& part : PackedRows(parts)) {
      Box target = Box::Whole(shape);
      target.offset[0] = row;
      target.shape[0] = part.rows;
      row += part.rows;
      Dims from(shape.size(), 0);
      from[0] = part.begin;
      pieces.push_back(Shifted(std::move(target), part.tensor, std::move(from), shape.size(), 0));
    }
    if (!pieces.empty()) AddDraft(std::move(name), parts[0].first, std::move(shape), std::move(pieces));
  }

  // ---- fsdp_dtensor to torch_dist

  struct Gathered {
    std::map<std::pair<uint64_t, Half>, uint32_t> parts;  // by expert and half; tensor
    bool experts = false, halves = false;
  };

  void AddTorchLayer(const ModelLayer& layer, uint64_t number) {
    const std::string prefix = Cat("decoder.layers.", number, ".");
    std::map<std::string, Gathered> by_rest;
    for (const auto& [rest, tensor] : layer.tensors) {
      if (AddUnpacked(layer, rest, tensor, prefix)) continue;
      const FsdpName name = ParseFsdpName(rest);
      Gathered& gathered = by_rest[StoredName(layer, name.rest)];
      const bool first = gathered.parts.empty();
      if (!first && (gathered.experts != name.expert.has_value() || gathered.halves != name.half.has_value())) return Add("retarget.unmapped", Cat(prefix, rest, " does not fit its like"));
      gathered.experts = name.expert.has_value();
      gathered.halves = name.half.has_value();
      if (!gathered.parts.emplace(std::pair(name.expert.value_or(0), name.half.value_or(Half::kGate)), tensor.tensor).second) {
        return Add("retarget.duplicate", Cat("two tensors would become one, one of them ", Quote(prefix + rest)));
      }
    }
    for (const auto& [rest, gathered] : by_rest) AddGathered(prefix, rest, gathered);
  }

  std::string StoredName(const ModelLayer& layer, const std::string& rest) const {
    std::string name = rest;
    if (layer.Has("self_attention.linear_qkv")) name = ReplaceStart(name, "input_layernorm.", "self_attention.linear_qkv.layer_norm_");
    const bool alias = step_.transformer_impl == plan::TransformerImpl::kLocal && layer.Has("self_attention");  // a GPT layer, by the local implementation
    if (!layer.Has("mlp.router") || alias) name = ReplaceStart(name, "pre_mlp_layernorm.", "mlp.linear_fc1.layer_norm_");
    return name;
  }

  void AddGathered(const std::string& prefix, const std::string& rest, const Gathered& gathered) {
    const bool stored_experts = StartsWith(rest, "mlp.experts.experts.");
    if (stored_experts != gathered.experts) return Add("retarget.experts", Cat(Quote(prefix + rest), ": experts without a number"));
    if (IsGatedTensor(rest) ? gathered.halves != gated_ : gathered.halves) {
      return Add("retarget.gated", Cat("args.swiglu is ", gated_ ? "True" : "False", ", but ", Quote(prefix + rest), gathered.halves ? " is" : " is not", " stored as halves _w and _v"));
    }
    const uint64_t halves = gathered.halves ? 2 : 1, experts = gathered.parts.size() / halves;
    if (gathered.parts.size() % halves != 0) return Add("retarget.experts", Cat("a half of ", Quote(prefix + rest), " is missing"));
    const uint32_t first = gathered.parts.begin()->second;
    const Dims part = source_.tensors[first].shape;
    if (part.empty()) return AddWhole(first, prefix + rest);
    Dims shape = part;
    shape[0] *= halves;
    if (gathered.experts) shape.insert(shape.begin(), experts);
    const size_t row_axis = gathered.experts ? 1 : 0;
    std::vector<Piece> pieces;
    for (uint64_t e = 0; e < experts; ++e) {
      for (uint64_t h = 0; h < halves; ++h) {
        const auto at = gathered.parts.find({e, h == 0 ? Half::kGate : Half::kUp});
        if (at == gathered.parts.end() || source_.tensors[at->second].shape != part || source_.tensors[at->second].dtype != source_.tensors[first].dtype) {
          return Add("retarget.experts", Cat("part ", h, " of expert ", e, " of ", Quote(prefix + rest), " is missing or of another shape or dtype"));
        }
        Box target = Box::Whole(shape);
        if (gathered.experts) {
          target.offset[0] = e;
          target.shape[0] = 1;
        }
        target.offset[row_axis] = h * part[0];
        target.shape[row_axis] = part[0];
        pieces.push_back(Shifted(std::move(target), at->second, Dims(part.size(), 0), part.size(), gathered.experts ? 1 : 0));
      }
    }
    AddDraft(prefix + rest, first, std::move(shape), std::move(pieces));
  }

  // A packed Mamba tensor in its parts. Sizes: heads are the rows of A_log, the inner size the columns of out_proj; B and C share the rest.
  bool AddUnpacked(const ModelLayer& layer, const std::string& rest, const LayerTensor& tensor, const std::string& prefix) {
    const auto packed = PackedTensors().find(rest);
    if (packed == PackedTensors().end()) return false;
    const auto a_log = layer.tensors.find("mixer.A_log"), out_proj = layer.tensors.find("mixer.out_proj.weight");
    if (tensor.shape.empty() || a_log == layer.tensors.end() || a_log->second.shape.size() != 1 || out_proj == layer.tensors.end() || out_proj->second.shape.size() != 2) {
      Add("retarget.mamba_size", Cat("A_log and out_proj, which give the sizes of ", Quote(prefix + rest), ", are missing"));
      return true;
    }
    const bool projection = packed->second.size() == 5;
    const uint64_t heads = a_log->second.shape[0], inner = out_proj->second.shape[1], rows = tensor.shape[0];
    const uint64_t known = projection ? 2 * inner + heads : inner;
    if (rows <= known || (rows - known) % 2 != 0) {
      Add("retarget.mamba_size", Cat(Quote(prefix + rest), " has ", rows, " rows, which do not fit inner size ", inner, " and ", heads, " heads"));
      return true;
    }
    const uint64_t group = (rows - known) / 2;
    const std::map<std::string, uint64_t> sizes = {{"z", inner}, {"x", inner}, {"B", group}, {"C", group}, {"dt", heads}};
    std::vector<std::pair<uint32_t, uint64_t>> parts;  // here the first is the part's number
    for (size_t i = 0; i < packed->second.size(); ++i) parts.emplace_back(static_cast<uint32_t>(i), sizes.at(packed->second[i]));
    std::vector<std::vector<Piece>> pieces(parts.size());
    uint64_t row = 0;
    for (const Part& part : PackedRows(parts)) {
      Dims shape = tensor.shape;
      shape[0] = parts[part.tensor].second;
      Box target = Box::Whole(shape);
      target.offset[0] = part.begin;
      target.shape[0] = part.rows;
      Dims from(shape.size(), 0);
      from[0] = row;
      row += part.rows;
      pieces[part.tensor].push_back(Shifted(std::move(target), tensor.tensor, std::move(from), shape.size(), 0));
    }
    for (size_t i = 0; i < parts.size() && row == rows; ++i) {
      Dims shape = tensor.shape;
      shape[0] = parts[i].second;
      AddDraft(Cat(prefix, rest, ".", packed->second[i]), tensor.tensor, std::move(shape), std::move(pieces[i]));
    }
    return true;
  }

  // ---- What is left out

  void LeaveObjectOut(uint32_t i) { left_out_.Add(std::string(megatron::Name(megatron::Classify(source_.objects[i].name))), ObjectBytes(source_, i)); }

  void LeaveStateOut(const SourceModel& model) {
    for (const uint32_t i : model.state_tensors) {
      const Tensor& tensor = source_.tensors[i];
      left_out_.Add(std::string(megatron::Name(megatron::Classify(tensor.name))), Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype));
    }
    for (const std::string& name : megatron::DropTrainingState(common_)) left_out_.Add(Cat("common_state.", name), 0);
  }

  const plan::RetargetStep& step_;
  View source_;
  megatron::CommonDocument common_;
  megatron::Args args_;
  View out_;
  Findings findings_;
  LeftOutTally left_out_;
  bool gated_ = false;
  uint64_t elements_ = 0;  // of the source's model
};

}  // namespace

Retargeted ToFsdpDtensor(const plan::RetargetStep& step, View source) {
  megatron::CommonDocument common = std::move(*source.common);
  return Converter(step, std::move(source), std::move(common)).ToFsdp();
}

Retargeted ToTorchDist(const plan::RetargetStep& step, View source) {
  megatron::CommonDocument common = ReadLooseCommon(source);
  return Converter(step, std::move(source), std::move(common)).ToTorch();
}

}  // namespace ck::transform
