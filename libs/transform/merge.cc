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
    extra_source_ = inputs.common ? static_cast<uint32_t>(view_.inputs.size() - 1) : static_cast<uint32_t>(step.extra_state_from);
    view_.common_input = inputs.common ? extra_source_ : ChooseCommonSource();
  }

  View Build() {
    AddTensors();
    AddObjects();
    KeepPlannerData(first_, view_);
    if (view_.format == checkpoint::Format::kTorchDist) AddCommonState();
    AddNotes();
    for (auto& [rule, left] : left_out_) view_.left_out.push_back({.rule = rule, .count = left.first, .bytes = left.second});
    return std::move(view_);
  }

 private:
  std::optional<int64_t> OutputIteration() const {
    const int64_t* iteration = std::get_if<int64_t>(&plan_.target);
    return iteration ? std::optional(*iteration) : std::nullopt;
  }

  // The input that common_from names; by default the first whose recorded iteration is the output's, else the first.
  uint32_t ChooseCommonSource() const {
    if (const uint64_t* index = std::get_if<uint64_t>(&step_.common_from)) return static_cast<uint32_t>(*index);
    const auto wanted = OutputIteration();
    for (uint32_t i = 0; wanted && i < view_.inputs.size(); ++i) {
      if (RecordedIteration(*view_.inputs[i]) == wanted) return i;
    }
    return 0;
  }

  static std::optional<int64_t> RecordedIteration(const Checkpoint& input) {
    if (const auto recorded = checkpoint::ReadCommonState(input).iteration()) return recorded;
    const auto& number = input.iteration().number;
    return number ? std::optional(static_cast<int64_t>(*number)) : std::nullopt;
  }

  void AddTensors() {
    for (const dcp::Tensor& tensor : first_.tensors()) {
      switch (RoleOf(first_.format(), tensor)) {
        case TensorRole::kAverage:
          AddAveraged(tensor);
          break;
        case TensorRole::kExtraState:
          AddExtraStateTensor(tensor.name);
          break;
        case TensorRole::kTrainingState:
          LeaveOut(tensor.name, Volume(tensor.shape).value_or(0) * ElementSize(tensor.dtype));
          break;
      }
    }
  }

  void AddAveraged(const dcp::Tensor& tensor) {
    Leaf leaf{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape, .arithmetic = Arithmetic::kWeightedSum, .terms = {}};
    DType result = tensor.dtype;
    if (!IsMergeable(tensor.dtype)) {
      leaf.arithmetic = Arithmetic::kIdentical;
      for (uint32_t i = 0; i < plan_.inputs.size(); ++i) leaf.terms.push_back({.input = i, .weight = 1.0});
      ++identical_;
    } else {
      for (uint32_t i = 0; i < plan_.inputs.size(); ++i) {
        if (weights_[i] != 0) leaf.terms.push_back({.input = i, .weight = weights_[i]});
      }
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

  void AddExtraStateTensor(const std::string& name) {
    const dcp::Tensor* source = view_.inputs[extra_source_]->FindTensor(name);
    Check(source != nullptr, "the extra states of the source were checked");
    Leaf leaf{.name = name, .dtype = source->dtype, .shape = source->shape, .arithmetic = Arithmetic::kCopy, .terms = {{.input = extra_source_, .weight = 1.0}}};
    AddTensor(*source, std::move(leaf), source->dtype);
    ++view_.copied_extra_states;
  }

  void AddTensor(const dcp::Tensor& like, Leaf leaf, DType result) {
    const auto number = static_cast<uint32_t>(view_.leaves.size());
    view_.leaves.push_back(std::move(leaf));
    view_.tensors.push_back({.name = like.name, .dtype = result, .shape = like.shape, .chunks = ChunkBoxes(like), .pieces = {Piece::Whole(number, like.shape)}});
  }

  void AddObjects() {
    for (const dcp::Object& object : first_.objects()) {
      switch (RoleOf(first_.format(), object)) {
        case ObjectRole::kExtraState:
          view_.objects.push_back({.name = object.name, .input = extra_source_, .source_name = object.name, .literal = {}});
          ++view_.copied_extra_states;
          break;
        case ObjectRole::kCommon:
          if (view_.format != checkpoint::Format::kTorchDist) AddLooseCommonObject(object.name);
          break;
        case ObjectRole::kTrainingState:
          LeaveOut(object.name, object.item.length);
          break;
        case ObjectRole::kModelObject:
          throw InternalError("merge.model_object", Cat(Quote(object.name), " was not refused"));
      }
    }
  }

  // fsdp_dtensor and plain DCP keep their common state as objects of their own; `iteration` and `args.iteration` follow the output.
  void AddLooseCommonObject(const std::string& name) {
    const Checkpoint& source = *view_.inputs[view_.common_input];
    const dcp::Object* object = source.FindObject(name);
    if (!object) throw InputError("merge.missing_common_object", Cat(source.path(), ": no byte object ", Quote(name), ", which ", first_.path(), " has"));
    Object out{.name = name, .input = view_.common_input, .source_name = name, .literal = {}};
    if (const auto iteration = OutputIteration()) out.literal = WithIteration(source, *object, *iteration);
    view_.objects.push_back(std::move(out));
  }

  void AddCommonState() {
    const checkpoint::CommonState source = checkpoint::ReadCommonState(*view_.inputs[view_.common_input]);
    megatron::CommonDocument document = megatron::CopyCommonState(source);
    const auto iteration = OutputIteration();
    if (iteration) megatron::SetIteration(document, *iteration);
    for (const std::string& name : megatron::DropTrainingState(document)) ++left_out_[Cat("common_state.", name)].first;
    megatron::SetProvenance(document, Provenance(source.form != checkpoint::CommonForm::kNone));
    if (source.form == checkpoint::CommonForm::kNone) {
      view_.notes.push_back("no input gives a common state: common.pt holds only the provenance of the merge" + std::string(iteration ? " and the iteration" : ""));
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
    out.extra_state_source_path = view_.inputs[extra_source_]->path();
    if (has_common) out.common_state_source_path = view_.inputs[view_.common_input]->path();
    out.producer = producer_;
    return out;
  }

  void AddNotes() {
    if (identical_ > 0) view_.notes.push_back(Cat(identical_, " tensors without an average are copied; they must be equal in all inputs"));
    if (kept_dtype_ > 0) view_.notes.push_back(Cat(kept_dtype_, " tensors keep their dtype (expert_bias, A_log, D, dt_bias); --cast-all casts them too"));
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
