#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/common_state.h"
#include "libs/megatron/keys.h"
#include "libs/transform/merge.h"
#include "libs/transform/merge_rules.h"
#include "libs/transform/merge_sources.h"

namespace ck::transform {
namespace {

using checkpoint::Checkpoint;
using megatron::KeyClass;

constexpr size_t kNamesShown = 5;  // of a list in one message

std::string SomeNames(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < names.size() && i < kNamesShown; ++i) shown.push_back(Quote(names[i]));
  std::string out = Join(shown, ", ");
  if (names.size() > kNamesShown) out += Cat(" and ", names.size() - kNamesShown, " more");
  return out;
}

// The kernels round a weight to float once; one that becomes infinite there has no result.
bool FitsSinglePrecision(double weight) { return std::isfinite(static_cast<float>(weight)); }

class Checker {
 public:
  Checker(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs)
      : plan_(plan), step_(step), inputs_(inputs), first_(*inputs.checkpoints[0]) {}

  std::vector<plan::Finding> Run() {
    CheckWeights();
    CheckSources();
    for (const auto& input : inputs_.checkpoints) {
      CheckFormat(*input);
      CheckKeys(*input);
      CheckCommonForms(*input);
    }
    for (size_t i = 1; i < inputs_.checkpoints.size(); ++i) CompareWithFirst(*inputs_.checkpoints[i]);
    if (inputs_.common) CheckExplicitSource(*inputs_.common);
    return std::move(findings_);
  }

 private:
  void Add(std::string id, std::string message, std::string where, std::string found, std::string expected, std::string source) {
    findings_.push_back({.id = std::move(id), .severity = plan::Severity::kError, .message = std::move(message), .where = std::move(where),
                         .found = std::move(found), .expected = std::move(expected), .source = std::move(source)});
  }

  void CheckWeights() {
    for (const plan::Input& input : plan_.inputs) {
      if (input.weight && !FitsSinglePrecision(*input.weight)) {
        Add("merge.weight_not_finite", Cat("weight ", FormatDouble(*input.weight), " of ", input.path, " is not a finite single-precision number"),
            input.path, FormatDouble(*input.weight), "a finite weight", "the plan");
      }
    }
    const std::vector<double> weights = plan::Weights(plan_);
    if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; })) {
      Add("merge.all_weights_zero", "every weight is 0: no input is read, and nothing can be summed", "inputs", "0", "a weight that is not 0", "the plan");
    }
  }

  void CheckFormat(const Checkpoint& input) {
    if (input.format() == checkpoint::Format::kSafetensors) {
      Add("merge.unsupported_format", Cat(input.path(), " is safetensors; a merge reads torch_dist, fsdp_dtensor and plain DCP"), input.path(),
          "safetensors", "torch_dist, fsdp_dtensor or dcp", "the directory");
    } else if (input.format() != first_.format()) {
      Add("merge.format_differs", Cat("format differs: ", Name(first_.format()), " in ", first_.path(), ", ", Name(input.format()), " in ", input.path()),
          input.path(), std::string(Name(input.format())), std::string(Name(first_.format())), first_.path());
    }
  }

  // Refuses what a merge neither averages nor copies, unless it may leave it out.
  void CheckKeys(const Checkpoint& input) {
    std::map<KeyClass, std::vector<std::string>> refused;
    std::vector<std::string> not_floating, byte_objects;
    for (const dcp::Tensor& tensor : input.tensors()) {
      switch (RoleOf(input.format(), tensor)) {
        case TensorRole::kAverage:
          if (!IsMergeable(tensor.dtype) && !step_.copy_identical) not_floating.push_back(Cat(tensor.name, " (", Name(tensor.dtype), ")"));
          break;
        case TensorRole::kExtraState:
          break;
        case TensorRole::kTrainingState:
          if (!step_.weights_only) refused[megatron::Classify(tensor.name)].push_back(tensor.name);
          break;
      }
    }
    for (const dcp::Object& object : input.objects()) {
      switch (RoleOf(input.format(), object)) {
        case ObjectRole::kExtraState:
        case ObjectRole::kCommon:
          break;
        case ObjectRole::kModelObject:
          byte_objects.push_back(object.name);
          break;
        case ObjectRole::kTrainingState:
          if (!step_.weights_only) refused[megatron::Classify(object.name)].push_back(object.name);
          break;
      }
    }
    for (const auto& [key_class, names] : refused) {
      const std::string entries = Cat(names.size(), names.size() == 1 ? " entry " : " entries ");
      const std::string kind = key_class == KeyClass::kOther ? "outside the model's keys" : Cat("of ", Name(key_class), " state");
      Add("merge.training_state", Cat(input.path(), " holds ", entries, kind, ", which a merge does not average: ", SomeNames(names),
                                      "; --weights-only leaves them out"),
          input.path(), Cat(names.size(), " entries"), "model tensors and extra states only", "the keys of the checkpoint");
    }
    if (!byte_objects.empty()) {
      Add("merge.model_object", Cat(input.path(), " holds byte objects under model keys that are no extra state: ", SomeNames(byte_objects)), input.path(),
          Cat(byte_objects.size(), " objects"), "none", "the keys of the checkpoint");
    }
    if (!not_floating.empty()) {
      Add("merge.not_floating", Cat(input.path(), " holds tensors whose dtype has no average: ", SomeNames(not_floating),
                                    "; --copy-identical copies those that are equal in all inputs"),
          input.path(), Cat(not_floating.size(), " tensors"), "F16, BF16, F32 or F64", "the metadata");
    }
  }

  void CheckCommonForms(const Checkpoint& input) {
    try {
      if (!checkpoint::ReadCommonState(input).both_forms) return;
    } catch (const Error& error) {
      if (error.code() != Code::kInput) throw;
      Add(error.id(), error.message(), input.path(), "unreadable common state", "common.pt or common_state/shard_0_1", "the checkpoint");
      return;
    }
    Add("merge.mixed_common_state", Cat(input.path(), " holds both common.pt and ", checkpoint::kEmbeddedCommonKey, "; it must hold one of them"), input.path(),
        "both", "one", "the checkpoint");
  }

  void CompareWithFirst(const Checkpoint& input) {
    if (input.format() != first_.format() || StackedAgainstPerLayer(input)) return;
    CompareNames(TensorNames(first_), TensorNames(input), input, "tensors");
    CompareExtraStates(input);
    for (const dcp::Tensor& tensor : input.tensors()) {
      if (RoleOf(input.format(), tensor) != TensorRole::kAverage) continue;
      const dcp::Tensor* first = first_.FindTensor(tensor.name);
      if (first) CompareTensor(*first, tensor, input);
    }
  }

  // One message instead of two lists of every key: the same model, stored in Megatron's two layouts.
  bool StackedAgainstPerLayer(const Checkpoint& input) {
    const bool here = HasKey(input, megatron::IsStackedKey), there = HasKey(first_, megatron::IsStackedKey);
    const bool here_indexed = HasKey(input, megatron::IsPerLayerKey), there_indexed = HasKey(first_, megatron::IsPerLayerKey);
    if (here == there || here == here_indexed || there == there_indexed) return false;
    const auto layout = [](bool stacked) { return stacked ? "stacked layers (decoder.layers.<name>)" : "one key per layer (decoder.layers.<n>.<name>)"; };
    Add("merge.layer_layout_differs", Cat("layer layout differs: ", layout(there), " in ", first_.path(), ", ", layout(here), " in ", input.path(),
                                          "; bring them to one layout with ck-retarget first"),
        input.path(), layout(here), layout(there), first_.path());
    return true;
  }

  static bool HasKey(const Checkpoint& input, bool (*test)(std::string_view)) {
    return std::any_of(input.tensors().begin(), input.tensors().end(), [&](const dcp::Tensor& tensor) {
      return megatron::Classify(tensor.name) == KeyClass::kModel && test(tensor.name);
    });
  }

  static std::vector<std::string> TensorNames(const Checkpoint& input) {
    std::vector<std::string> names;
    for (const dcp::Tensor& tensor : input.tensors()) {
      if (RoleOf(input.format(), tensor) == TensorRole::kAverage) names.push_back(tensor.name);
    }
    return names;
  }

  static std::vector<std::string> ExtraTensorNames(const Checkpoint& input) {
    std::vector<std::string> names;
    for (const dcp::Tensor& tensor : input.tensors()) {
      if (RoleOf(input.format(), tensor) == TensorRole::kExtraState) names.push_back(tensor.name);
    }
    return names;
  }

  static std::vector<std::string> ExtraObjectNames(const Checkpoint& input) {
    std::vector<std::string> names;
    for (const dcp::Object& object : input.objects()) {
      if (RoleOf(input.format(), object) == ObjectRole::kExtraState) names.push_back(object.name);
    }
    return names;
  }

  // By kind: a tensor cannot stand in for a byte object of the same name.
  void CompareExtraStates(const Checkpoint& other) {
    CompareNames(ExtraTensorNames(first_), ExtraTensorNames(other), other, "extra state tensors");
    CompareNames(ExtraObjectNames(first_), ExtraObjectNames(other), other, "extra state objects");
  }

  void CompareNames(const std::vector<std::string>& first, const std::vector<std::string>& other, const Checkpoint& input, const char* what) {
    std::vector<std::string> missing, extra;
    std::set_difference(first.begin(), first.end(), other.begin(), other.end(), std::back_inserter(missing));
    std::set_difference(other.begin(), other.end(), first.begin(), first.end(), std::back_inserter(extra));
    if (!missing.empty()) {
      Add("merge.missing_keys", Cat(missing.size(), " ", what, " of ", first_.path(), " are missing in ", input.path(), ": ", SomeNames(missing)), input.path(),
          Cat(other.size(), " ", what), Cat(first.size(), " ", what), first_.path());
    }
    if (!extra.empty()) {
      Add("merge.unexpected_keys", Cat(extra.size(), " ", what, " of ", input.path(), " are not in ", first_.path(), ": ", SomeNames(extra)), input.path(),
          Cat(other.size(), " ", what), Cat(first.size(), " ", what), first_.path());
    }
  }

  void CompareTensor(const dcp::Tensor& first, const dcp::Tensor& tensor, const Checkpoint& input) {
    const auto differs = [&](const char* id, const char* what, const std::string& expected, const std::string& found) {
      Add(id, Cat(what, " of ", Quote(tensor.name), " differs: ", expected, " in ", first_.path(), ", ", found, " in ", input.path()), Cat(input.path(), ": ", tensor.name),
          found, expected, first_.path());
    };
    if (first.dtype != tensor.dtype) differs("merge.dtype_mismatch", "dtype", std::string(Name(first.dtype)), std::string(Name(tensor.dtype)));
    if (first.shape != tensor.shape) {
      differs("merge.shape_mismatch", "shape", FormatDims(first.shape), FormatDims(tensor.shape));
    } else if (!SameChunks(first, tensor)) {
      differs("merge.layout_mismatch", "chunk layout", DescribeChunks(first), DescribeChunks(tensor));
    }
  }

  static bool SameChunks(const dcp::Tensor& a, const dcp::Tensor& b) {
    return std::equal(a.chunks.begin(), a.chunks.end(), b.chunks.begin(), b.chunks.end(),
                      [](const dcp::Chunk& x, const dcp::Chunk& y) { return x.box == y.box; });
  }

  static std::string DescribeChunks(const dcp::Tensor& tensor) {
    std::string out = Cat(tensor.chunks.size(), tensor.chunks.size() == 1 ? " chunk" : " chunks");
    for (size_t i = 0; i < tensor.chunks.size() && i < 3; ++i) out += Cat(i == 0 ? " " : ", ", FormatBox(tensor.chunks[i].box));
    if (tensor.chunks.size() > 3) out += ", ...";
    return out;
  }

  // The explicit source of common state and extra states. Inputs without extra states take all of its.
  void CheckExplicitSource(const Checkpoint& source) {
    CheckFormat(source);
    CheckCommonForms(source);
    const bool have_extra_states = !ExtraTensorNames(first_).empty() || !ExtraObjectNames(first_).empty();
    if (have_extra_states && source.format() == first_.format()) CompareExtraStates(source);
    const int64_t* target = std::get_if<int64_t>(&plan_.target);
    const auto recorded = RecordedIteration(source);
    if (target && recorded && *recorded != *target) {
      Add("merge.common_iteration", Cat("the common state of ", source.path(), " records iteration ", *recorded, ", the output is iteration ", *target), source.path(),
          Cat(*recorded), Cat(*target), "the output iteration");
    }
  }

  // A source that was asked for must have a common state; one that was not must have it if any input does, or it would be lost silently.
  void CheckSources() {
    const uint32_t chosen = ChooseSources(plan_, step_, inputs_).common;
    const bool asked_for = !std::holds_alternative<std::monostate>(step_.common_from);
    const Checkpoint& source = chosen < inputs_.checkpoints.size() ? *inputs_.checkpoints[chosen] : *inputs_.common;
    if (HasReadableCommonState(source)) return;
    if (asked_for) {
      Add("merge.no_common_state", Cat(source.path(), " has no common state, and is to supply it"), source.path(), "none", "a common state", "the merge step");
      return;
    }
    for (const auto& input : inputs_.checkpoints) {
      if (!HasReadableCommonState(*input)) continue;
      Add("merge.no_common_state", Cat(source.path(), " has no common state, but ", input->path(), " has; say which one to use (--common-from INDEX)"), source.path(), "none",
          "a common state", input->path());
      return;
    }
  }

  // One that cannot be read counts as there: CheckCommonForms reports it.
  static bool HasReadableCommonState(const Checkpoint& source) {
    try {
      return HasCommonState(source);
    } catch (const Error& error) {
      if (error.code() != Code::kInput) throw;
      return true;
    }
  }

  const plan::Plan& plan_;
  const plan::MergeStep& step_;
  const MergeInputs& inputs_;
  const Checkpoint& first_;
  std::vector<plan::Finding> findings_;
};

}  // namespace

std::vector<plan::Finding> CheckMerge(const plan::Plan& plan, const plan::MergeStep& step, const MergeInputs& inputs) {
  Check(!inputs.checkpoints.empty() && inputs.checkpoints.size() == plan.inputs.size(), "a merge has its inputs open");
  return Checker(plan, step, inputs).Run();
}

}  // namespace ck::transform
