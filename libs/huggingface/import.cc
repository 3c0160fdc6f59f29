#include "libs/huggingface/import.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "libs/base/checked.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/huggingface/export.h"
#include "libs/huggingface/export_config.h"
#include "libs/huggingface/import_common.h"
#include "libs/huggingface/import_source.h"
#include "libs/huggingface/import_tensors.h"
#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/tables.h"

namespace ck::huggingface {
namespace {

using megatron::LayerKeys;

void CheckSource(const transform::View& source) {
  if (source.format == checkpoint::Format::kSafetensors) return;
  throw InputError("split.not_hugging_face", Cat("the input is ", checkpoint::Name(source.format), "; --to megatron takes a Hugging Face model, a directory of safetensors files"));
}

ImportConfig ReadModel(const transform::View& source, const plan::SplitStep& step) {
  const std::string directory = step.config ? *step.config : source.inputs.at(source.common_input)->path();
  std::optional<ConfigTemplate> config = ReadTemplate(directory);
  if (!config) throw InputError("split.no_config", Cat(directory, " holds no config.json, which says what the tensors are; --config names another"));
  ImportConfig out;
  try {
    out.model = ReadConfig(config->root, step.architecture);
  } catch (const Error& error) {
    throw error.At(config->path);
  }
  out.root = std::move(config->root);
  using Tied = plan::SplitStep::Tied;
  if (step.tied != Tied::kAuto && out.model.architecture.head == Head::kCausalLm) out.model.tied = step.tied == Tied::kYes;
  return out;
}

bool HasLayersOfTwoKinds(const ModelConfig& model) {
  const bool linear = std::count(model.layers.begin(), model.layers.end(), LayerKind::kLinearAttention) > 0;
  const auto experts = std::count(model.expert_layers.begin(), model.expert_layers.end(), true);
  return linear || (experts != 0 && static_cast<size_t>(experts) != model.expert_layers.size());
}

// What Megatron does by itself: it keys layers one by one where they are of two kinds.
LayerKeys OwnKeys(const ModelConfig& model) {
  const bool hybrid = TableOf(model.architecture.family).form == LayerForm::kHybrid;
  return hybrid || HasLayersOfTwoKinds(model) ? LayerKeys::kPerLayer : LayerKeys::kStacked;
}

// The next multiple of divisible_by x tensor_parallel.
uint64_t PaddedVocab(uint64_t vocab, const plan::SplitStep& step) {
  const auto unit = CheckedMul(step.vocab_divisible_by, step.tensor_parallel);
  const auto units = unit ? std::optional(vocab / *unit + (vocab % *unit == 0 ? 0 : 1)) : std::nullopt;
  const auto padded = units ? CheckedMul(*units, *unit) : std::nullopt;
  if (padded && *padded <= kMaxConfigSize) return *padded;
  throw InputError("split.padded_vocab", Cat("a vocabulary of ", vocab, " rows, padded to a multiple of ", step.vocab_divisible_by, " x ", step.tensor_parallel, ", has more than ", kMaxConfigSize, " rows"));
}

// Fields of config.json that the tensors correct.
void CorrectModel(const transform::View& view, const ImportSource& tensors, ImportConfig& config, transform::View& out) {
  const bool has_mtp = std::any_of(tensors.tensors.begin(), tensors.tensors.end(), [](const JoinedTensor& joined) { return StartsWith(joined.key, "mtp."); });
  if (!has_mtp && config.model.mtp_layers != 0) {
    out.notes.push_back(Cat("config.json says ", config.model.mtp_layers, " layers for multi-token prediction, the model has no such tensors: none are written"));
    config.model.mtp_layers = 0;
  }
  const DType dtype = MostUsedDtype(view);
  if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16) config.model.dtype = TorchName(dtype);
}

void AddWarnings(const DerivedArgs& args, transform::View& out) {
  for (const std::string& warning : args.warnings) {
    out.warnings.push_back({.id = "split.not_the_same", .severity = plan::Severity::kWarning, .message = warning, .where = {}, .found = {}, .expected = {}, .source = {}});
  }
}

uint64_t Elements(const std::vector<transform::Tensor>& tensors) {
  uint64_t out = 0;
  for (const transform::Tensor& tensor : tensors) out += Volume(tensor.shape).value_or(0);
  return out;
}

// Source elements = result elements - padding + what was left out.
void CheckElements(const transform::View& source, const ImportSource& model, const transform::View& out, uint64_t padded_vocab) {
  uint64_t used = 0, padding = 0;
  for (const JoinedTensor& joined : model.tensors) {
    const uint64_t elements = Volume(joined.shape).value_or(0);
    used += elements;
    if (joined.rule.transform == Transform::kUnpad) padding += elements / joined.shape[0] * (padded_vocab - joined.shape[0]);
  }
  uint64_t left = 0;
  for (const transform::Tensor& tensor : source.tensors) {
    if (model.left_out_tensors.count(tensor.name) > 0) left += Volume(tensor.shape).value_or(0);
  }
  Check(Elements(source.tensors) == used + left && Elements(out.tensors) == used + padding, "every element of the model is in the result or left out");
}

}  // namespace

transform::View ImportView(const transform::View& source, const plan::SplitStep& step, int64_t iteration) {
  CheckSource(source);
  ImportConfig config = ReadModel(source, step);
  const TransformerImpl impl = step.transformer_impl == plan::TransformerImpl::kLocal ? TransformerImpl::kLocal : TransformerImpl::kTransformerEngine;
  const LayerKeys own_keys = OwnKeys(config.model), keys = step.per_layer ? LayerKeys::kPerLayer : own_keys;
  const uint64_t padded = PaddedVocab(config.model.vocab, step);
  const ImportSource tensors = ReadImportSource(source, config, impl);
  const bool drop = step.extra_state == plan::SplitStep::ExtraState::kDrop;
  const NormForm norm_form = config.model.row().norm_form;
  transform::View out = JoinTensors(source, tensors,
                                    {.keys = keys,
                                     .layers = config.model.layer_count(),
                                     .padded_vocab = padded,
                                     .family = config.model.architecture.family,
                                     .zero_centered = norm_form == NormForm::kOnePlus && impl == TransformerImpl::kTransformerEngine,
                                     .hybrid = TableOf(config.model.architecture.family).form == LayerForm::kHybrid,
                                     .extra_states = drop ? std::nullopt : std::optional(impl)},
                                    step);
  CheckElements(source, tensors, out, padded);
  CorrectModel(out, tensors, config, out);
  const DerivedArgs args = ArgsFromConfig(config.model, {.impl = impl, .padded_vocab = padded, .make_vocab_size_divisible_by = step.vocab_divisible_by});
  Check(args.zero_centered_norms == (norm_form == NormForm::kOnePlus && impl == TransformerImpl::kTransformerEngine), "norms are stored as the arguments say");
  AddWarnings(args, out);
  out.common = MakeCommon({.arguments = args.arguments, .iteration = iteration, .tensor_parallel = step.tensor_parallel, .layers = config.model.layer_count(),
                           .keys = keys == own_keys ? LayerKeys::kStacked : keys});
  return out;
}

}  // namespace ck::huggingface
