#include <algorithm>
#include <map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/caster.h"
#include "libs/huggingface/export.h"
#include "libs/huggingface/part_rows.h"
#include "libs/huggingface/tables.h"
#include "libs/transform/compose.h"

namespace ck::huggingface {
namespace {

class Exporter {
 public:
  Exporter(const transform::View& source, const ModelSource& model, const Facts& facts, const plan::SplitStep& step)
      : source_(source), model_(model), facts_(facts), step_(step) {}

  transform::View Export() {
    out_.inputs = source_.inputs;
    out_.leaves = source_.leaves;
    out_.format = checkpoint::Format::kSafetensors;
    out_.common_input = source_.common_input;
    out_.averaged_tensors = source_.averaged_tensors;
    out_.warnings = source_.warnings;
    out_.notes = source_.notes;
    for (const Match& match : facts_.matches) ExportMatch(match);
    if (facts_.architecture.head == Head::kTokenClassification) CompleteScore();
    std::sort(out_.tensors.begin(), out_.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    AddLeftOut();
    caster_.AddNote(out_);
    Check(source_elements_ == result_elements_ + padding_elements_, "every element of the source is in the result or left out");
    return std::move(out_);
  }

 private:
  void ExportMatch(const Match& match) {
    const Parameter& parameter = model_.parameters.at(match.key);
    const bool per_expert = match.rule.hf[0].find("{e}") != std::string_view::npos;
    source_elements_ += Volume(parameter.shape).value_or(0);
    for (size_t part = 0; part < match.rule.hf.size(); ++part) {
      const std::string name = Expand(match.rule.hf[part], "{i}", match.layer.value_or(0));
      if (!per_expert) {
        Add(name, parameter, std::nullopt, RowsOfPart(match.rule.transform, part, parameter.shape[0], fused_sizes_));
        continue;
      }
      const uint64_t experts = facts_.sizes.Get('E');
      if (experts > kMaxExperts) throw InputError("split.too_many_experts", Cat("the model has ", experts, " experts, at most ", kMaxExperts, " are exported"));
      for (uint64_t e = 0; e < experts; ++e) Add(Expand(name, "{e}", e), parameter, e, RowsOfPart(match.rule.transform, part, parameter.shape[1], fused_sizes_));
    }
    if (match.rule.transform == Transform::kUnpad) CountPadding(parameter);
  }

  // The class has a bias; a value head of Megatron need not. Zeros say the same as none, and loaders find every tensor that they look for.
  void CompleteScore() {
    const auto named = [&](std::string_view name) {
      return std::find_if(out_.tensors.begin(), out_.tensors.end(), [&](const transform::Tensor& tensor) { return tensor.name == name; });
    };
    if (named("score.bias") != out_.tensors.end()) return;
    const DType dtype = named("score.weight")->dtype;
    const Dims shape = {1};
    transform::Leaf leaf{.name = "score.bias", .dtype = dtype, .shape = shape, .arithmetic = transform::Arithmetic::kFill, .terms = {}, .fill = {}};
    const auto number = static_cast<uint32_t>(out_.leaves.size());
    out_.leaves.push_back(std::move(leaf));
    out_.tensors.push_back({.name = "score.bias", .dtype = dtype, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {transform::Piece::Whole(number, shape)}});
    out_.notes.push_back("score.bias is zero: the value head of the checkpoint has no bias");
  }

  void CountPadding(const Parameter& parameter) {
    const uint64_t rows = parameter.shape[0] - facts_.vocab_size;
    const uint64_t elements = rows * (Volume(parameter.shape).value_or(0) / std::max<uint64_t>(parameter.shape[0], 1));
    padding_elements_ += elements;
    if (rows == 0) return;
    padding_.rule = "vocab_padding";
    ++padding_.count;
    padding_.bytes += elements * ElementSize(parameter.dtype);
  }

  // The tensor made of these rows, of one expert when given.
  void Add(const std::string& name, const Parameter& parameter, std::optional<uint64_t> expert, const std::vector<RowRange>& ranges) {
    const size_t row_axis = expert ? 1 : 0;
    transform::Draft draft{.name = name, .dtype = parameter.dtype, .shape = Dims(parameter.shape.begin() + static_cast<std::ptrdiff_t>(row_axis), parameter.shape.end()), .pieces = {}};
    draft.shape[0] = 0;
    for (const RowRange& range : ranges) {
      AddPieces(parameter, expert, range, draft);
      draft.shape[0] += range.rows;
    }
    transform::Tensor tensor = transform::Compose(source_, draft);
    tensor.chunks = {Box::Whole(tensor.shape)};
    caster_.Apply(source_, parameter.source_name, tensor);
    result_elements_ += Volume(tensor.shape).value_or(0);
    out_.tensors.push_back(std::move(tensor));
  }

  // One row range, cut where the parameter's parts meet.
  static void AddPieces(const Parameter& parameter, std::optional<uint64_t> expert, const RowRange& range, transform::Draft& draft) {
    const uint64_t part_rows = parameter.parts.size() == 1 ? parameter.shape[expert ? 1 : 0] : parameter.shape[0] / parameter.parts.size();
    for (size_t p = 0; p < parameter.parts.size(); ++p) {
      const uint64_t begin = std::max(range.source, p * part_rows), end = std::min(range.source + range.rows, (p + 1) * part_rows);
      if (begin >= end) continue;
      const Part& part = parameter.parts[p];
      transform::Piece piece{.target = Box::Whole(draft.shape), .leaf = part.tensor, .source_offset = {}, .axes = {}};
      piece.target.offset[0] = range.target + (begin - range.source);
      piece.target.shape[0] = end - begin;
      for (const auto& fixed : {part.row, expert}) {
        if (!fixed) continue;
        piece.source_offset.push_back(*fixed);
        piece.axes.push_back({.result_axis = transform::SourceAxis::kFixed, .step = 1});
      }
      for (size_t d = 0; d < draft.shape.size(); ++d) {
        piece.source_offset.push_back(d == 0 ? begin - p * part_rows : 0);
        piece.axes.push_back({.result_axis = static_cast<int32_t>(d), .step = 1});
      }
      draft.pieces.push_back(std::move(piece));
    }
  }

  void AddLeftOut() {
    std::map<std::string, transform::LeftOut> all = model_.left_out;
    if (padding_.count > 0) all[padding_.rule] = padding_;
    for (const transform::LeftOut& left : source_.left_out) {
      transform::LeftOut& sum = all[left.rule];
      sum.rule = left.rule;
      sum.count += left.count;
      sum.bytes += left.bytes;
    }
    for (auto& [rule, left] : all) out_.left_out.push_back(std::move(left));
  }

  const transform::View& source_;
  const ModelSource& model_;
  const Facts& facts_;
  const plan::SplitStep& step_;
  transform::View out_;
  transform::LeftOut padding_;
  uint64_t source_elements_ = 0, result_elements_ = 0, padding_elements_ = 0;
  const FusedSizes fused_sizes_{.heads = facts_.heads, .vocab_size = facts_.vocab_size};
  Caster caster_{step_};
};

}  // namespace

transform::View ExportTensors(const transform::View& source, const ModelSource& model, const Facts& facts, const plan::SplitStep& step) {
  return Exporter(source, model, facts, step).Export();
}

DType MostUsedDtype(const transform::View& view) {
  std::map<DType, uint64_t> elements;
  for (const transform::Tensor& tensor : view.tensors) elements[tensor.dtype] += Volume(tensor.shape).value_or(0);
  const auto most = std::max_element(elements.begin(), elements.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == elements.end() ? DType::kF32 : most->first;
}

}  // namespace ck::huggingface
