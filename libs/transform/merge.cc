#include "libs/transform/merge.h"

#include <algorithm>
#include <map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/common_state.h"
#include "libs/megatron/common_document.h"
#include "libs/megatron/keys.h"
#include "libs/transform/loose_common.h"
#include "libs/transform/merge_rules.h"
#include "libs/transform/merge_sources.h"

namespace ck::transform {
namespace {

using checkpoint::Checkpoint;

std::optional<DType> CastTarget(plan::SaveDtype dtype) {
  switch (dtype) {
    case plan::SaveDtype::kSame:
      return std::nullopt;
    case plan::SaveDtype::kFloat32:
      return DType::kF32;
    case plan::SaveDtype::kFloat16:
      return DType::kF16;
    case plan::SaveDtype::kBfloat16:
      return DType::kBF16;
  }
  return std::nullopt;
}

std::string SaveDtypeName(plan::SaveDtype dtype) {
  const auto target = CastTarget(dtype);
  return target ? std::string(TorchName(*target)) : "same";
}

class Builder {
 public:
  Builder(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs, const std::string& producer)
      : plan_(plan), step_(step), first_(*inputs.checkpoints[0]), weights_(plan::Weights(plan)), producer_(producer) {
    view_.inputs = inputs.checkpoints;
    view_.format = first_.format();
    if (inputs.common) view_.inputs.push_back(inputs.common);
    const MergeSources sources = ChooseSources(plan, step, inputs);
    extra_source_ = sources.extra_state;
    view_.common_input = sources.common;
  }

  View Build() {
    AddTensors();
    AddExtraStates();
    LeaveOutTrainingState();
    if (view_.format == checkpoint::Format::kTorchDist) {
      AddCommonState();
    } else {
      AddLooseCommonState();
    }
    SortByName();
    for (const Checkpoint* source : {&first_, &ExtraSource(), &CommonSource()}) KeepPlannerData(*source, view_);
    AddNotes();
    WarnAboutRunningStatistics();
    for (auto& [rule, left] : left_out_) view_.left_out.push_back({.rule = rule, .count = left.first, .bytes = left.second});
    return std::move(view_);
  }

 private:
  std::optional<int64_t> OutputIteration() const {
    const int64_t* iteration = std::get_if<int64_t>(&plan_.target);
    return iteration ? std::optional(*iteration) : std::nullopt;
  }

  void AddTensors() {
    for (const dcp::Tensor& tensor : first_.tensors()) {
      switch (RoleOf(first_.format(), tensor)) {
        case TensorRole::kAverage:
          AddAveraged(tensor);
          break;
        case TensorRole::kExtraState:
          break;  // AddExtraStates
        case TensorRole::kTrainingState:
          break;  // LeaveOutTrainingState
      }
    }
  }

  void AddAveraged(const dcp::Tensor& tensor) {
    Leaf leaf{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = Arithmetic::kWeightedSum, .terms = {}};
    DType result = tensor.dtype;
    for (uint32_t i = 0; i < plan_.inputs.size(); ++i) {
      if (weights_[i] != 0) leaf.terms.push_back({.input = i, .weight = weights_[i]});
    }
    if (!IsMergeable(tensor.dtype)) {
      leaf.arithmetic = Arithmetic::kIdentical;
      for (Term& term : leaf.terms) term.weight = 1.0;
      ++identical_;
    } else {
      result = ResultDtype(tensor);
      ++view_.averaged_tensors;
    }
    Check(!leaf.terms.empty(), "a merge has an input whose weight is not 0");
    AddTensor(tensor, std::move(leaf), result);
  }

  DType ResultDtype(const dcp::Tensor& tensor) {
    const auto target = CastTarget(step_.dtype);
    if (!target || *target == tensor.dtype) return tensor.dtype;
    if (!step_.cast_all && megatron::KeepsDtype(tensor.name)) {
      ++kept_dtype_;
      return tensor.dtype;
    }
    return *target;
  }

  // Names and bytes of one source: the checks have compared its names with those of the inputs, where these have any.
  void AddExtraStates() {
    const Checkpoint& source = ExtraSource();
    for (const dcp::Tensor& tensor : source.tensors()) {
      if (RoleOf(source.format(), tensor) != TensorRole::kExtraState) continue;
      Leaf leaf{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = Arithmetic::kCopy, .terms = {{.input = extra_source_, .weight = 1.0}}};
      AddTensor(tensor, std::move(leaf), tensor.dtype);
      ++view_.copied_extra_states;
    }
    for (const dcp::Object& object : source.objects()) {
      if (RoleOf(source.format(), object) != ObjectRole::kExtraState) continue;
      view_.objects.push_back({.name = object.name, .input = extra_source_, .source_name = object.name, .literal = {}});
      ++view_.copied_extra_states;
    }
  }

  void AddTensor(const dcp::Tensor& like, Leaf leaf, DType result) {
    const auto number = static_cast<uint32_t>(view_.leaves.size());
    view_.leaves.push_back(std::move(leaf));
    view_.tensors.push_back({.name = like.name, .dtype = result, .shape = like.shape, .chunks = ChunkBoxes(like), .pieces = {Piece::Whole(number, like.shape)}});
  }

  // What weights_only leaves out of every input that is merged: also of those that the first one does not speak for.
  void LeaveOutTrainingState() {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const Checkpoint& input = *view_.inputs[i];
      for (const dcp::Tensor& tensor : input.tensors()) {
        if (RoleOf(input.format(), tensor) == TensorRole::kTrainingState) LeaveOut(tensor.name, Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype));
      }
      for (const dcp::Object& object : input.objects()) {
        if (RoleOf(input.format(), object) == ObjectRole::kTrainingState) LeaveOut(object.name, object.item.length);
      }
    }
  }

  // fsdp_dtensor and plain DCP keep their common state as objects of their own; `iteration` and `args.iteration` follow the output.
  void AddLooseCommonState() {
    const Checkpoint& source = CommonSource();
    for (const dcp::Object& object : source.objects()) {
      if (RoleOf(source.format(), object) != ObjectRole::kCommon) continue;
      Object out{.name = object.name, .input = view_.common_input, .source_name = object.name, .literal = {}};
      if (const auto iteration = OutputIteration()) out.literal = WithIteration(source, object, *iteration);
      view_.objects.push_back(std::move(out));
    }
  }

  void AddCommonState() {
    const checkpoint::CommonState source = checkpoint::ReadCommonState(CommonSource());
    megatron::CommonDocument document = megatron::CopyCommonState(source);
    const auto iteration = OutputIteration();
    if (iteration) megatron::SetIteration(document, *iteration);
    for (const std::string& name : megatron::DropTrainingState(document)) ++left_out_[Cat("common_state.", name)].first;
    megatron::SetProvenance(document, Provenance(source.form != checkpoint::CommonForm::kNone));
    if (source.form == checkpoint::CommonForm::kNone) {
      view_.notes.push_back(Cat("the inputs have no common state: common.pt holds only the provenance of the merge", iteration ? " and the iteration" : ""));
    }
    view_.common = std::move(document);
  }

  megatron::MergeProvenance Provenance(bool has_common) const {
    megatron::MergeProvenance out;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      out.input_paths.push_back(plan_.inputs[i].path);
      out.source_iterations.push_back(plan_.inputs[i].iteration);
    }
    out.weights = weights_;
    out.normalize = plan_.coefficients.normalized && plan_.coefficients.style.value_or("manual") == "manual";
    out.merge_style = plan_.coefficients.style.value_or("manual");
    out.output_iteration = OutputIteration();
    out.output_dtype = SaveDtypeName(step_.dtype);
    out.extra_state_source_index = static_cast<int64_t>(step_.extra_state_from);
    out.extra_state_source_path = ExtraSource().path();
    if (has_common) out.common_state_source_path = CommonSource().path();
    out.producer = producer_;
    return out;
  }

  const Checkpoint& ExtraSource() const { return *view_.inputs[extra_source_]; }
  const Checkpoint& CommonSource() const { return *view_.inputs[view_.common_input]; }

  void SortByName() {
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(view_.tensors.begin(), view_.tensors.end(), by_name);
    std::sort(view_.objects.begin(), view_.objects.end(), by_name);
  }

  void AddNotes() {
    if (HasCommonState(CommonSource())) view_.notes.push_back(Cat("common state of ", CommonSource().path()));
    if (view_.copied_extra_states > 0) view_.notes.push_back(Cat("extra states of ", ExtraSource().path()));
    if (identical_ > 0) view_.notes.push_back(Cat(identical_, identical_ == 1 ? " tensor" : " tensors", " without an average copied: equal in all inputs"));
    if (kept_dtype_ > 0) view_.notes.push_back(Cat(kept_dtype_, kept_dtype_ == 1 ? " tensor keeps its" : " tensors keep their", " dtype (expert_bias, A_log, D, dt_bias); --cast-all casts these too"));
  }

  // Averages of running statistics are no statistics of the averaged weights.
  void WarnAboutRunningStatistics() {
    std::vector<std::string> names;
    for (const Tensor& tensor : view_.tensors) {
      if (EndsWith(tensor.name, ".running_mean") || EndsWith(tensor.name, ".running_var")) names.push_back(tensor.name);
    }
    if (names.empty()) return;
    view_.warnings.push_back({.id = "merge.running_statistics",
                              .severity = plan::Severity::kWarning,
                              .message = Cat(names.size(), names.size() == 1 ? " tensor looks" : " tensors look", " like running statistics, the first is ", Quote(names[0]),
                                             ": averaged like weights, they need not fit the averaged weights"),
                              .where = names[0],
                              .found = {},
                              .expected = {},
                              .source = {}});
  }

  void LeaveOut(const std::string& name, uint64_t bytes) {
    auto& [count, total] = left_out_[std::string(megatron::Name(megatron::Classify(name)))];
    ++count;
    total += bytes;
  }

  const plan::Plan& plan_;
  const plan::MergeStep& step_;
  const Checkpoint& first_;
  std::vector<double> weights_;
  const std::string& producer_;
  uint32_t extra_source_ = 0;   // index into view_.inputs
  std::map<std::string, std::pair<uint64_t, uint64_t>> left_out_;  // rule -> count, bytes
  uint64_t identical_ = 0;
  uint64_t kept_dtype_ = 0;
  View view_;
};

}  // namespace

View MergeView(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs, const std::string& producer) {
  return Builder(plan, step, inputs, producer).Build();
}

}  // namespace ck::transform
