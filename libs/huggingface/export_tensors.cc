#include <algorithm>
#include <map>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/caster.h"
#include "libs/huggingface/columns.h"
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
    if (changed_norms_ > 0) out_.notes.push_back(Cat("1 is added to or taken from ", changed_norms_, " norms: the checkpoint and the class store them in different forms"));
    Check(source_elements_ == result_elements_ + padding_elements_, "every element of the source is in the result or left out");
    return std::move(out_);
  }

 private:
  void ExportMatch(const Match& match) {
    const Parameter& parameter = model_.parameters.at(match.key);
    if (match.rule.transform == Transform::kAlternate || match.rule.transform == Transform::kTranspose) return AddColumns(match, parameter);
    if (JoinsTensors(match.rule.transform)) return AddJoined(match);
    const bool per_expert = match.rule.hf[0].find("{e}") != std::string_view::npos;
    source_elements_ += Volume(parameter.shape).value_or(0);
    for (size_t part = 0; part < match.rule.hf.size(); ++part) {
      const std::string name = Expand(match.rule.hf[part], "{i}", match.layer.value_or(0));
      if (!per_expert) {
        Add(name, parameter, std::nullopt, RowsOfPart(match.rule.transform, part, parameter.shape[0], fused_sizes_));
        out_.tensors.back().added = AddedBy(match.rule.transform, RowOf(facts_.architecture.family).norm_form, facts_.zero_centered_norms);
        if (out_.tensors.back().added != 0) ++changed_norms_;
        continue;
      }
      const uint64_t experts = facts_.sizes.Get('E');
      if (experts > kMaxExperts) throw InputError("split.too_many_experts", Cat("the model has ", experts, " experts, at most ", kMaxExperts, " are exported"));
      for (uint64_t e = 0; e < experts; ++e) Add(Expand(name, "{e}", e), parameter, e, RowsOfPart(match.rule.transform, part, parameter.shape[1], fused_sizes_));
    }
    if (match.rule.transform == Transform::kUnpad) CountPadding(parameter);
  }

  // The rows of several tensors as one.
  void AddJoined(const Match& match) {
    std::vector<const Parameter*> sources = {&model_.parameters.at(match.key)};
    for (const std::string& key : match.more_keys) sources.push_back(&model_.parameters.at(key));
    transform::Draft draft{.name = Expand(match.rule.hf[0], "{i}", match.layer.value_or(0)), .dtype = sources[0]->dtype, .shape = sources[0]->shape, .pieces = {}};
    draft.shape[0] = 0;
    for (const Parameter* source : sources) {
      if (source->dtype != draft.dtype) {
        throw InputError("split.bad_shape", Cat("tensors ", Quote(sources[0]->source_name), " and ", Quote(source->source_name), " become one, but are ", Name(draft.dtype), " and ", Name(source->dtype)));
      }
      source_elements_ += Volume(source->shape).value_or(0);
      draft.shape[0] += source->shape[0];
    }
    for (const RowRange& range : RowsOfPart(match.rule.transform, 0, draft.shape[0], fused_sizes_)) {
      uint64_t begin = 0;  // of the source, in the rows of all
      for (const Parameter* source : sources) {
        const uint64_t end = begin + source->shape[0], first = std::max(range.source, begin), last = std::min(range.source + range.rows, end);
        if (first < last) AddPieces(*source, std::nullopt, {.source = first - begin, .target = range.target + (first - range.source), .rows = last - first}, draft);
        begin = end;
      }
    }
    Finish(*sources[0], draft);
  }

  // All experts at once, in other dimensions.
  void AddColumns(const Match& match, const Parameter& parameter) {
    Check(parameter.parts.size() == 1, "the tensor of all experts is one");
    source_elements_ += Volume(parameter.shape).value_or(0);
    const Part& part = parameter.parts[0];
    Columns columns = ToColumns(match.rule.transform, parameter.shape);
    transform::Draft draft{.name = Expand(match.rule.hf[0], "{i}", match.layer.value_or(0)), .dtype = parameter.dtype, .shape = columns.shape, .pieces = std::move(columns.pieces)};
    for (transform::Piece& piece : draft.pieces) {
      piece.leaf = part.tensor;
      if (!part.row) continue;
      piece.source_offset.insert(piece.source_offset.begin(), *part.row);
      piece.axes.insert(piece.axes.begin(), {.result_axis = transform::SourceAxis::kFixed, .step = 1});
    }
    Finish(parameter, draft).file_shape = std::move(columns.file_shape);
  }

  // The class has a bias; a value head of Megatron need not. Zeros say the same as none, and loaders find every tensor that they look for.
  void CompleteScore() {
    const Table& table = TableOf(facts_.architecture.family);
    const std::string weight(table.value_weight), bias(table.value_bias);
    const auto named = [&](std::string_view name) {
      return std::find_if(out_.tensors.begin(), out_.tensors.end(), [&](const transform::Tensor& tensor) { return tensor.name == name; });
    };
    if (named(bias) != out_.tensors.end()) return;
    const DType dtype = named(weight)->dtype;
    const Dims shape = {1};
    transform::Leaf leaf{.name = bias, .dtype = dtype, .shape = shape, .arithmetic = transform::Arithmetic::kFill, .terms = {}, .fill = {}};
    const auto number = static_cast<uint32_t>(out_.leaves.size());
    out_.leaves.push_back(std::move(leaf));
    out_.tensors.push_back({.name = bias, .dtype = dtype, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {transform::Piece::Whole(number, shape)}});
    out_.notes.push_back(Cat(bias, " is zero: the value head of the checkpoint has no bias"));
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
    Finish(parameter, draft);
  }

  transform::Tensor& Finish(const Parameter& parameter, const transform::Draft& draft) {
    transform::Tensor tensor = transform::Compose(source_, draft);
    tensor.chunks = {Box::Whole(tensor.shape)};
    caster_.Apply(source_, parameter.source_name, tensor);
    result_elements_ += Volume(tensor.shape).value_or(0);
    out_.tensors.push_back(std::move(tensor));
    return out_.tensors.back();
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

  static DeltaHeads DeltaOf(const Facts& facts) {
    if (!facts.gdn) return {};
    return {.key_heads = facts.gdn->key_heads, .key_dim = facts.gdn->key_dim, .value_heads = facts.gdn->value_heads, .value_dim = facts.gdn->value_dim};
  }

  const transform::View& source_;
  const ModelSource& model_;
  const Facts& facts_;
  const plan::SplitStep& step_;
  transform::View out_;
  transform::LeftOut padding_;
  uint64_t changed_norms_ = 0;
  uint64_t source_elements_ = 0, result_elements_ = 0, padding_elements_ = 0;
  const FusedSizes fused_sizes_{.heads = facts_.heads, .delta = DeltaOf(facts_), .vocab_size = facts_.vocab_size};
  Caster caster_{step_, facts_.architecture.family};
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
