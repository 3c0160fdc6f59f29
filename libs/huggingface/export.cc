#include "libs/huggingface/export.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/huggingface/check_arguments.h"
#include "libs/huggingface/export_config.h"
#include "libs/huggingface/read_saved_args.h"

namespace ck::huggingface {
namespace {

// architectures[0] of the template, or --architecture; never guessed. A value model's class is the one with the head for it.
Architecture ArchitectureOf(const plan::SplitStep& step, const std::optional<ConfigTemplate>& config) {
  std::optional<std::string> name = step.architecture;
  if (!name && config) {
    const json::Value* names = config->root.Find("architectures");
    const json::Array* list = names == nullptr ? nullptr : names->AsArray();
    if (list != nullptr && !list->empty() && (*list)[0].AsString() != nullptr) name = *(*list)[0].AsString();
  }
  if (!name) throw InputError("split.no_architecture", "no config.json says what the model's class is, as architectures[0]: give --architecture");
  Architecture out = ParseArchitecture(*name);
  if (step.value_model && out.head == Head::kCausalLm) out.head = Head::kTokenClassification;
  ClassName(out);  // refuses a head that the class does not have
  return out;
}

// A limit of one of the two versions of transformers that read the result.
void WarnAboutLoaders(const Facts& facts, transform::View& out) {
  if (facts.architecture.family != Family::kQwen2Moe || facts.heads.heads * facts.heads.head_dim == facts.sizes.Get('h')) return;
  out.warnings.push_back({.id = "split.loader_limit",
                          .severity = plan::Severity::kWarning,
                          .message = Cat("transformers 4.57 refuses a Qwen2Moe whose heads x head_dim (", facts.heads.heads, " x ", facts.heads.head_dim, ") is not the hidden size, ",
                                         facts.sizes.Get('h'), "; transformers 5 loads it"),
                          .where = {},
                          .found = {},
                          .expected = {},
                          .source = {}});
}

// The step was made for a Megatron model.
void CheckSource(const transform::View& source) {
  if (source.format != checkpoint::Format::kSafetensors) return;
  throw InputError("split.not_megatron", "the input is a Hugging Face model already; --to hf takes a Megatron checkpoint");
}

}  // namespace

transform::View ExportView(const transform::View& source, const plan::SplitStep& step) {
  CheckSource(source);
  const auto config = step.config ? ReadTemplate(*step.config) : std::nullopt;
  const Architecture architecture = ArchitectureOf(step, config);
  const SavedArgs args = ReadSavedArgs(source);
  const ModelSource model = ReadModelSource(source, TableOf(architecture.family).form == LayerForm::kHybrid ? HybridLayers::kKeep : HybridLayers::kAsGpt);
  const std::optional<ModelConfig> stated = config ? std::optional(ReadConfig(config->root, ClassName(architecture))) : std::nullopt;
  const Facts facts = ReadFacts(model, architecture, args, stated ? &*stated : nullptr, step);
  CheckArguments(architecture, args);
  transform::View out = ExportTensors(source, model, facts, step);
  WrittenConfig written = MakeConfig(facts, args, config, MostUsedDtype(out), step);
  WarnAboutLoaders(facts, out);
  out.text_files.push_back({.name = "config.json", .content = std::move(written.text)});
  out.notes.insert(out.notes.end(), written.notes.begin(), written.notes.end());
  out.warnings.insert(out.warnings.end(), written.warnings.begin(), written.warnings.end());
  return out;
}

}  // namespace ck::huggingface
