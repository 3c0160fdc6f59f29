#include "libs/transform/retarget.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/megatron/keys.h"
#include "libs/megatron/model_args.h"
#include "libs/megatron/model_keys.h"
#include "libs/megatron/pattern.h"
#include "libs/transform/loose_args.h"
#include "libs/transform/retarget_emit.h"
#include "libs/transform/retarget_format.h"
#include "libs/transform/retarget_mamba.h"
#include "libs/transform/retarget_optimizer.h"
#include "libs/transform/retarget_rules.h"
#include "libs/transform/retarget_source.h"

namespace ck::transform {
namespace {

using megatron::Family;
using megatron::LayerKeys;
using megatron::LayerPart;
using megatron::Pattern;
using plan::RetargetStep;

constexpr std::string_view kLocalMoeNorm = "mlp.linear_fc1.layer_norm_";  // an MoE layer's norm as the local implementation stores it
constexpr std::string_view kMoeNorm = "pre_mlp_layernorm.";

std::string ReplaceStart(const std::string& text, std::string_view from, std::string_view to) {
  return StartsWith(text, from) ? Cat(to, text.substr(from.size())) : text;
}

class Retargeter {
 public:
  Retargeter(const RetargetStep& step, View source, const std::string& producer)
      : step_(step), producer_(producer), source_(std::move(source)), common_(TakeCommon(source_)), args_(common_) {}

  Retargeted Run() {
    CheckStep();
    if (findings_.empty()) model_ = ReadSourceModel(source_, findings_);
    if (findings_.empty()) hybrid_ = IsHybrid(model_, args_, findings_);
    if (findings_.empty() && Carries()) planes_ = ReadOptimizerPlanes(source_, model_, common_, findings_);
    if (findings_.empty()) Convert();
    Retargeted out;
    if (findings_.empty()) out.view = Finish();
    out.findings = std::move(findings_);
    return out;
  }

 private:
  static megatron::CommonDocument TakeCommon(View& view) {
    if (view.common) return std::move(*view.common);
    if (view.format == checkpoint::Format::kFsdpDtensor) return ReadLooseArgs(view);
    megatron::CommonDocument empty;
    empty.root = empty.graph.NewDict();
    return empty;
  }

  void Add(const std::string& id, std::string message) { findings_.push_back(ErrorFinding(id, std::move(message))); }
  void Note(std::string note) { notes_.push_back(std::move(note)); }

  void CheckStep() {
    const bool fsdp = IsFsdp();
    if (!fsdp && source_.format != checkpoint::Format::kTorchDist) {
      Add("retarget.unsupported_format", Cat("the checkpoint is ", checkpoint::Name(source_.format), ", expected torch_dist or fsdp_dtensor"));
    }
    if (fsdp && Carries()) Add("retarget.optimizer_format", "this version does not carry the optimizer state of fsdp_dtensor over; without --with-optimizer the weights are converted");
  }

  bool IsFsdp() const { return source_.format == checkpoint::Format::kFsdpDtensor; }
  // The result ends as fsdp_dtensor: layers keyed one by one, no extra states.
  bool WantsFsdp() const { return IsFsdp() || step_.format == plan::Format::kFsdpDtensor; }
  bool Carries() const { return step_.optimizer == RetargetStep::Optimizer::kCarry; }

  // Calls visit(model, target layers) for the model and each plane of the optimizer state, which go the same way.
  template <typename Visit>
  void ForEachPlane(Visit visit) {
    plane_targets_.resize(planes_.size());
    visit(model_, target_);
    for (size_t i = 0; i < planes_.size(); ++i) visit(planes_[i], plane_targets_[i]);
  }

  void Convert() {
    const bool to_hybrid = step_.to == RetargetStep::To::kHybrid;
    if (to_hybrid == hybrid_) return KeepModel();
    changed_ = true;
    CheckCrossing(model_, args_, step_.assume_compatible ? MissingArgs::kAccept : MissingArgs::kRefuse, findings_);
    if (to_hybrid) {
      ToHybrid();
    } else {
      ToGpt();
    }
  }

  bool CheckPattern(const Pattern& pattern) {
    const auto faults = megatron::CheckGptPattern(pattern, step_.allow_reorder ? megatron::Reorder::kAllow : megatron::Reorder::kRefuse);
    for (const megatron::PatternFault& fault : faults) Add(fault.id, fault.message);
    return faults.empty();
  }

  // ---- GPT to Hybrid

  void ToHybrid() {
    if (!step_.pattern) return Add("retarget.pattern_required", "a GPT model becomes a Hybrid model of some pattern: --pattern says which, e.g. '*-' for each dense layer");
    const Pattern pattern = megatron::ParsePattern(*step_.pattern);
    if (!CheckPattern(pattern)) return;
    const uint64_t layers = model_.layers.size(), wanted = pattern.Count(Family::kAttention);
    if (layers != wanted) Add("retarget.num_layers", Cat("the checkpoint has ", Count(layers, "layer"), ", pattern ", Quote(pattern.text), " has ", Count(wanted, "attention layer"), " (*); expected as many"));
    CheckNumLayers(args_, layers, findings_);
    const Family mlp = pattern.Count(Family::kMoe) > 0 ? Family::kMoe : Family::kMlp;
    CheckGptLayers(model_, mlp, findings_);
    if (!findings_.empty()) return;
    const megatron::GptLayers map = megatron::MapGptLayers(pattern);
    ForEachPlane([&](SourceModel& model, std::vector<ModelLayer>& target) {
      target.resize(pattern.layers.size());
      SplitLayers(model, map, mlp, target);
      RenameFinalNorm(model, "decoder.final_norm.");
    });
    AddFreshLayers(map.mamba);
    if (!WantsFsdp()) emit_.output_extra_state = OutputExtraState::kAdd;
    megatron::SetHybrid(common_, pattern.text, pattern.layers.size());
    if (fresh_) SetMambaSizes(args_, fresh_->sizes);
    RecordProvenance("gpt-to-hybrid", pattern.text);
    Note(Cat("GPT to Hybrid: ", Count(layers, "layer"), " become ", pattern.layers.size()));
  }

  // GPT layer i gives its attention to one hybrid layer and its MLP to another.
  void SplitLayers(const SourceModel& model, const megatron::GptLayers& map, Family mlp, std::vector<ModelLayer>& target) {
    for (uint64_t i = 0; i < model.layers.size(); ++i) {
      const auto target_of = [&](const std::string& rest) -> ModelLayer& {
        return target[megatron::PartOfLayer(rest) == LayerPart::kAttention ? map.attention[i] : map.mlp[i]];
      };
      for (const auto& [rest, tensor] : model.layers[i].tensors) {
        Place(target_of(rest), mlp == Family::kMoe ? ReplaceStart(rest, kLocalMoeNorm, kMoeNorm) : rest, tensor);
      }
      for (const auto& [key, object] : model.layers[i].objects) target_of(key.first).objects.emplace(key, object);
    }
  }

  // Two source tensors may not become one, as a layer with its norm under both of its names would want.
  void Place(ModelLayer& layer, const std::string& rest, const LayerTensor& tensor) {
    if (layer.tensors.emplace(rest, tensor).second) return;
    Add("retarget.duplicate", Cat("two tensors of a layer would become its ", Quote(rest), ", one of them ", Quote(source_.tensors[tensor.tensor].name)));
  }

  void AddFreshLayers(const std::vector<uint64_t>& layers) {
    if (layers.empty()) return;
    const Tensor* embedding = FindTensor("embedding.word_embeddings.weight");
    if (!embedding || embedding->shape.size() != 2 || !IsMergeable(embedding->dtype)) {
      return Add("retarget.missing_key", "fresh Mamba layers take their width and dtype from 'embedding.word_embeddings.weight', which is not a floating-point matrix of the checkpoint");
    }
    FreshMamba fresh;
    fresh.sizes = ChooseMambaSizes(step_.mamba, args_, embedding->shape[1], findings_);
    fresh.dtype = embedding->dtype;
    fresh.seed = FillSeed(step_.seed);
    if (args_.IsSet("layernorm_zero_centered_gamma") || args_.IsSet("apply_layernorm_1p")) fresh.norm_weight = 0;
    if (model_.layers[0].Has("self_attention.linear_qkv.layer_norm_bias") || model_.layers[0].Has("input_layernorm.bias")) fresh.norm_bias = NormBias::kYes;
    fresh.packed = IsFsdp();
    fresh_ = fresh;
    fresh_layers_ = layers;
    if (!WantsFsdp()) emit_.empty_extra_states = layers;
    const MambaSizes& s = fresh.sizes;
    Note(Cat(Count(layers.size(), "Mamba layer"), " fresh, from seed ", step_.seed, " (inner ", s.inner, ", heads ", s.heads, ", groups ", s.groups, ", state ", s.state, ", conv ", s.conv,
             "): this is a new architecture and needs training"));
  }

  const Tensor* FindTensor(std::string_view key) const {
    for (const auto& [index, name] : model_.tensors) {
      if (name == key) return &source_.tensors[index];
    }
    return nullptr;
  }

  // ---- Hybrid to GPT

  void ToGpt() {
    const auto pattern = SourcePattern(model_, args_, step_.pattern, findings_);
    if (!pattern || !CheckPattern(*pattern)) return;
    // Beside hybrid_override_pattern, num_layers was not always the number of symbols.
    if (args_.String("hybrid_layer_pattern")) CheckNumLayers(args_, pattern->layers.size(), findings_);
    CheckHybridLayers(model_, *pattern, findings_);
    const megatron::GptLayers map = megatron::MapGptLayers(*pattern);
    if (!map.mamba.empty() && !step_.drop_ssm) {
      Add("retarget.drop_ssm", Cat("a GPT model has no place for ", DescribeMamba(source_, model_, map.mamba), "; --drop-ssm leaves them out, and what remains is another model"));
    }
    if (!findings_.empty()) return;
    ForEachPlane([&](SourceModel& model, std::vector<ModelLayer>& target) {
      target.resize(map.attention.size());
      JoinLayers(model, map, target);
      RenameFinalNorm(model, "decoder.final_layernorm.");
      CountDropped(model, map.mamba);
    });
    dropped_layers_ = map.mamba;
    if (!map.mamba.empty()) Note(Cat("dropped: ", DescribeMamba(source_, model_, map.mamba), "; the result is another model"));
    emit_.output_extra_state = OutputExtraState::kDrop;
    SetGptKeys();
    RecordProvenance("hybrid-to-gpt", pattern->text);
    Note(Cat("Hybrid to GPT: ", Count(pattern->layers.size(), "layer"), " become ", target_.size(), emit_.keys == LayerKeys::kPerLayer ? ", each with keys of its own" : ", stacked"));
  }

  void JoinLayers(const SourceModel& model, const megatron::GptLayers& map, std::vector<ModelLayer>& target) {
    for (uint64_t i = 0; i < target.size(); ++i) {
      for (const uint64_t from : {map.attention[i], map.mlp[i]}) {
        const ModelLayer& layer = model.layers[from];
        const bool local_moe = step_.transformer_impl == plan::TransformerImpl::kLocal && model_.layers[from].Has("mlp.router");
        for (const auto& [rest, tensor] : layer.tensors) Place(target[i], local_moe ? ReplaceStart(rest, kMoeNorm, kLocalMoeNorm) : rest, tensor);
        for (const auto& [key, object] : layer.objects) target[i].objects.emplace(key, object);
      }
    }
  }

  void CountDropped(const SourceModel& model, const std::vector<uint64_t>& layers) {
    for (const uint64_t layer : layers) {
      for (const auto& [rest, tensor] : model.layers[layer].tensors) left_out_.Add("ssm", Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype));
      for (const auto& [key, object] : model.layers[layer].objects) left_out_.Add("ssm", ObjectBytes(source_, object.object));
    }
  }

  // fsdp_dtensor has one key per layer whatever args say.
  void SetGptKeys() {
    const LayerKeys keys = step_.per_layer ? LayerKeys::kPerLayer : LayerKeys::kStacked;
    emit_.keys = WantsFsdp() ? LayerKeys::kPerLayer : keys;
    if (emit_.keys == LayerKeys::kStacked) {
      ForEachPlane([&](const SourceModel&, const std::vector<ModelLayer>& target) { CheckStackable(target, findings_); });
    }
    megatron::SetGpt(common_, target_.size(), keys);
  }

  // ---- The same model; GPT layers may be keyed the other way

  void KeepModel() {
    ForEachPlane([](const SourceModel& model, std::vector<ModelLayer>& target) { target = model.layers; });
    if (hybrid_) {
      if (step_.pattern) SourcePattern(model_, args_, step_.pattern, findings_);
      return Note("the checkpoint is a Hybrid model already");
    }
    if (step_.pattern) return Add("retarget.pattern_mismatch", "a pattern is given, but a GPT model has none");
    SetGptKeys();
    Note(Cat("the checkpoint is a GPT model already; its layers are ", emit_.keys == LayerKeys::kPerLayer ? "keyed one by one" : "stacked"));
  }

  // ---- The result

  static void RenameFinalNorm(SourceModel& model, const std::string& to) {
    for (auto* entries : {&model.tensors, &model.objects}) {
      for (auto& [index, key] : *entries) {
        const megatron::ModelKey parsed = megatron::ParseModelKey(key);
        if (parsed.part == megatron::ModelKey::Part::kFinalNorm) key = Cat(to, parsed.rest);
      }
    }
  }

  void RecordProvenance(const char* direction, const std::string& pattern) {
    megatron::RetargetProvenance provenance;
    provenance.direction = direction;
    provenance.pattern = pattern;
    provenance.seed = step_.seed;
    provenance.fresh_layers = fresh_layers_;
    provenance.dropped_layers = dropped_layers_;
    provenance.producer = producer_;
    megatron::SetProvenance(common_, provenance);
  }

  View Finish() {
    emit_.extra_state = step_.extra_state;
    for (const LeftOut& left : source_.left_out) left_out_.Add(left.rule, left.bytes, left.count);
    View out = EmitModel(source_, model_, target_, emit_, left_out_);
    EmitPlanes(out);
    CheckNothingLost(out);
    for (const uint64_t layer : fresh_layers_) AddFreshMamba(*fresh_, model_.prefix, layer, out);
    LeaveStateOut();
    if (step_.reset_iterations) megatron::ResetIterations(common_);
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(out.tensors.begin(), out.tensors.end(), by_name);
    std::sort(out.objects.begin(), out.objects.end(), by_name);
    if (IsFsdp()) {
      if (changed_ || step_.reset_iterations) WriteLooseArgs(common_, out);
      AddPaths(out);
    } else {
      out.common = std::move(common_);
    }
    out.notes = std::move(source_.notes);
    out.warnings = std::move(source_.warnings);
    if (!model_.prefix.empty()) out.notes.push_back(Cat("all keys begin with ", Quote(model_.prefix), ", which stays"));
    out.notes.insert(out.notes.end(), notes_.begin(), notes_.end());
    out.left_out = left_out_.Take();
    return out;
  }

  // The nested state that the keys were made of.
  void AddPaths(View& out) const {
    AddModelPaths(out);
    for (const Object& object : out.objects) {
      const auto at = source_.planner_data ? source_.planner_data->find(object.name) : std::map<std::string, dcp::Path>::const_iterator();
      const bool known = source_.planner_data && at != source_.planner_data->end();
      out.planner_data->emplace(object.name, known ? at->second : dcp::Path{object.name});
    }
  }

  // Every element of the model and of each plane is in the result, but those of dropped layers; fresh ones come later.
  void CheckNothingLost(const View& out) {
    uint64_t expected = 0;
    ForEachPlane([&](const SourceModel& model, const std::vector<ModelLayer>&) {
      expected += CountElements(source_, model);
      for (const uint64_t layer : dropped_layers_) {
        for (const auto& [rest, tensor] : model.layers[layer].tensors) expected -= Volume(tensor.shape).value_or(0);
      }
    });
    Check(CountElements(out.tensors) == expected, "a change of model keeps every element");
  }

  // The optimizer state under the keys of the result. Fresh layers have none.
  void EmitPlanes(View& out) {
    EmitOptions options;
    options.keys = emit_.keys;
    for (size_t i = 0; i < planes_.size(); ++i) {
      View plane = EmitModel(source_, planes_[i], plane_targets_[i], options, left_out_);
      std::move(plane.tensors.begin(), plane.tensors.end(), std::back_inserter(out.tensors));
    }
    if (!planes_.empty() && !fresh_layers_.empty()) Note(Cat("no optimizer state for ", Count(fresh_layers_.size(), "fresh layer")));
  }

  // Rng and rerun state does not fit the result, nor does optimizer state that is not carried over.
  void LeaveStateOut() {
    bool left = false;
    const auto leave = [&](const std::string& name, uint64_t bytes) {
      const megatron::KeyClass key_class = megatron::Classify(name);
      if (Carries() && key_class == megatron::KeyClass::kOptimizer) return;
      left_out_.Add(std::string(megatron::Name(key_class)), bytes);
      left = true;
    };
    for (const uint32_t i : model_.state_tensors) {
      const Tensor& tensor = source_.tensors[i];
      leave(tensor.name, Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype));
    }
    for (const uint32_t i : model_.state_objects) leave(source_.objects[i].name, ObjectBytes(source_, i));
    const auto removed = Carries() ? megatron::DropRunState(common_) : megatron::DropTrainingState(common_);
    for (const std::string& name : removed) left_out_.Add(Cat("common_state.", name), 0);
    if (left || !removed.empty()) {
      Note(Carries() ? "rng and rerun state is left out: load the result with --no-load-rng"
                     : "optimizer, rng and rerun state is left out: load the result with --no-load-optim --no-load-rng, or with --finetune");
    }
    if (step_.extra_state == RetargetStep::ExtraState::kDrop) Note("extra states are left out: load the result with --dist-ckpt-strictness log_unexpected");
  }

  const RetargetStep& step_;
  const std::string& producer_;
  View source_;
  megatron::CommonDocument common_;
  megatron::Args args_;
  Findings findings_;
  SourceModel model_;
  bool hybrid_ = false;   // what the source is
  bool changed_ = false;  // another architecture: args change
  std::vector<ModelLayer> target_;
  std::vector<SourceModel> planes_;  // of the optimizer state, when it is carried over
  std::vector<std::vector<ModelLayer>> plane_targets_;
  EmitOptions emit_;
  std::optional<FreshMamba> fresh_;
  std::vector<uint64_t> fresh_layers_, dropped_layers_;
  LeftOutTally left_out_;
  std::vector<std::string> notes_;
};

}  // namespace

// The format changes before the model when the source is fsdp_dtensor, and after it otherwise: the model changes in torch_dist.
Retargeted Retarget(const RetargetStep& step, View source, const std::string& producer) {
  const bool from_fsdp = source.format == checkpoint::Format::kFsdpDtensor;
  const bool to_fsdp = step.format ? *step.format == plan::Format::kFsdpDtensor : from_fsdp;
  if (from_fsdp != to_fsdp && step.optimizer == RetargetStep::Optimizer::kCarry) {
    Retargeted refused;
    refused.findings.push_back(ErrorFinding("retarget.optimizer_format", "optimizer state is not carried from one format to the other; without --with-optimizer the weights are converted"));
    return refused;
  }
  if (from_fsdp && !to_fsdp) {
    Retargeted changed = ToTorchDist(step, std::move(source));
    if (!changed.findings.empty()) return changed;
    source = std::move(changed.view);
  }
  Retargeted out = Retargeter(step, std::move(source), producer).Run();
  if (from_fsdp || !to_fsdp || !out.findings.empty()) return out;
  return ToFsdpDtensor(step, std::move(out.view));
}

}  // namespace ck::transform
