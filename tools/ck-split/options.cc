#include "tools/ck-split/options.h"

#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"

namespace ck::split {

namespace {

using cli::Arity;
using cli::Shown;
using plan::SplitStep;

constexpr char kModel[] = "Model";
constexpr char kResult[] = "Result";
constexpr char kMegatron[] = "Result of --to megatron";

std::vector<cli::Option> ModelRows() {
  return {
      {.name = "--to", .arity = Arity::kOne, .value = "WHAT", .help = "The direction: hf, a Hugging Face model, or megatron, a Megatron-Core checkpoint in torch_dist.", .group = kModel,
       .choices = {"hf", "megatron"}},
      {.name = "--config", .aliases = {"--hf_model_path"}, .arity = Arity::kOne, .value = "DIR",
       .help = "A Hugging Face directory: its config.json is checked and completed, its tokenizer and other side files come along. Without one, or without config.json, the config is derived from "
               "the checkpoint's arguments. With --to megatron the default is the input itself.",
       .group = kModel},
      {.name = "--config-from", .arity = Arity::kOne, .value = "WHICH", .help = "Which wins where config.json and the checkpoint contradict each other: template or checkpoint. Default: stop.",
       .group = kModel, .choices = {"template", "checkpoint"}},
      {.name = "--architecture", .arity = Arity::kOne, .value = "CLASS", .help = "The class, e.g. Qwen3ForCausalLM. Default: architectures[0] of config.json.", .group = kModel},
      {.name = "--vocab-size", .arity = Arity::kOne, .value = "N", .help = "Rows of the vocabulary without padding, where neither the checkpoint nor config.json says it.", .group = kModel},
      {.name = "--tied", .arity = Arity::kOne, .value = "WHETHER", .help = "Whether the head is the embedding: yes, no, auto. Default: auto, what the arguments say.", .group = kModel,
       .choices = {"auto", "yes", "no"}},
      {.name = "--tie-word-embedding", .group = kModel, .shown = Shown::kNo},
      {.name = "--value-model", .aliases = {"--is-value-model"}, .help = "The head is a value head: the class is CLASSForTokenClassification.", .group = kModel},
  };
}

std::vector<cli::Option> ResultRows() {
  return {
      {.name = "--dtype", .arity = Arity::kOne, .value = "DTYPE", .help = "Dtype of the result: same, float32, float16, bfloat16. Tensors that must stay as they are (expert_bias, A_log, D, dt_bias, fp32 routers) stay.",
       .group = kResult, .choices = {"same", "float32", "float16", "bfloat16"}},
      {.name = "--cast-all", .help = "Let --dtype cast every tensor.", .group = kResult},
      {.name = "--max-shard-size", .arity = Arity::kOne, .value = "BYTES", .help = "Data bytes of one file at most, e.g. 5GB. A larger tensor has a file of its own. Default: 5GB.", .group = kResult},
      {.name = "--list", .help = "Show the tables: every class, its tensors, and how they are made.", .group = "Showing"},
  };
}

std::vector<cli::Option> MegatronRows() {
  return {
      {.name = "--transformer-impl", .arity = Arity::kOne, .value = "IMPL",
       .help = "Whose layers will load it, which decides keys of norms and extra states: transformer_engine or local. Default: transformer_engine.", .group = kMegatron,
       .choices = {"transformer_engine", "local"}},
      {.name = "--per-layer", .help = "A key for each layer. Default: layers stacked in one tensor, unless they are of two kinds.", .group = kMegatron},
      {.name = "--make-vocab-size-divisible-by", .arity = Arity::kOne, .value = "N", .help = "Pad the vocabulary with rows of zeros to a multiple of N x the tensor parallelism. Default: 128.",
       .group = kMegatron},
      {.name = "--tensor-parallel", .aliases = {"--tensor-model-parallel-size"}, .arity = Arity::kOne, .value = "N", .help = "Tensor parallelism of the run that will load it. Default: 1.",
       .group = kMegatron},
      {.name = "--no-extra-state", .help = "Leave out the empty extra states that a strict load asks for.", .group = kMegatron},
  };
}

std::vector<cli::Option> InputRows() {
  return {
      {.name = "--input", .aliases = {"--load-dir"}, .arity = Arity::kOne, .value = "PATH", .help = "A Megatron checkpoint, or a root with a marker; with --to megatron a Hugging Face directory. Default: a plan on stdin.", .group = "Input"},
      {.name = "--local_dir", .arity = Arity::kOne, .value = "DIR", .group = "Input", .shown = Shown::kNo},
      {.name = "--backend", .arity = Arity::kOne, .value = "megatron", .choices = {"megatron"}, .shown = Shown::kNo},
      {.name = "--use_cpu_initialization", .shown = Shown::kNo},
      {.name = "--test_hf_dir", .arity = Arity::kOne, .value = "DIR", .shown = Shown::kNo},
      {.name = "--hf_upload_path", .arity = Arity::kOne, .value = "NAME", .shown = Shown::kNo},
      {.name = "--private", .shown = Shown::kNo},
  };
}

plan::SaveDtype ReadDtype(const std::string& name) {
  if (name == "float32") return plan::SaveDtype::kFloat32;
  if (name == "float16") return plan::SaveDtype::kFloat16;
  if (name == "bfloat16") return plan::SaveDtype::kBfloat16;
  return plan::SaveDtype::kSame;
}

SplitStep::Tied ReadTied(const cli::Args& args) {
  cli::RefuseTogether(args, {"--tied", "--tie-word-embedding"});
  const std::string text = args.GetOr("--tied", "auto");
  if (text == "yes" || args.Has("--tie-word-embedding")) return SplitStep::Tied::kYes;
  return text == "no" ? SplitStep::Tied::kNo : SplitStep::Tied::kAuto;
}

// What belongs to the other direction.
void RefuseOther(const cli::Args& args, SplitStep::To to) {
  const bool megatron = to == SplitStep::To::kMegatron;
  std::vector<std::string> names = {"--config-from", "--vocab-size", "--value-model", "--max-shard-size", "--local_dir"};
  if (!megatron) {
    names.clear();
    for (const cli::Option& option : MegatronRows()) names.push_back(option.name);
  }
  for (const std::string& name : names) {
    if (args.Has(name)) throw UsageError("usage.conflict", Cat("option ", args.NameUsed(name), " does not go with --to ", megatron ? "megatron" : "hf"));
  }
}

uint64_t Positive(const cli::Args& args, const std::string& name, uint64_t otherwise) {
  const uint64_t value = args.GetUint(name).value_or(otherwise);
  if (value == 0) throw UsageError("usage.bad_value", Cat("value of ", args.NameUsed(name), " is 0, expected at least 1"));
  return value;
}

void ReadMegatronRows(const cli::Args& args, SplitStep& step) {
  if (args.GetOr("--transformer-impl", "") == "local") step.transformer_impl = plan::TransformerImpl::kLocal;
  step.per_layer = args.Has("--per-layer");
  step.vocab_divisible_by = Positive(args, "--make-vocab-size-divisible-by", step.vocab_divisible_by);
  step.tensor_parallel = Positive(args, "--tensor-parallel", step.tensor_parallel);
  if (args.Has("--no-extra-state")) step.extra_state = SplitStep::ExtraState::kDrop;
}

SplitStep ReadStep(const cli::Args& args) {
  SplitStep step;
  if (args.GetOr("--to", "hf") == "megatron") step.to = SplitStep::To::kMegatron;
  RefuseOther(args, step.to);
  ReadMegatronRows(args, step);
  step.architecture = args.Get("--architecture");
  step.config = args.Get("--config");
  if (const auto from = args.Get("--config-from")) step.config_from = *from == "template" ? SplitStep::ConfigFrom::kTemplate : SplitStep::ConfigFrom::kCheckpoint;
  step.vocab_size = args.GetUint("--vocab-size");
  if (step.vocab_size && *step.vocab_size == 0) throw UsageError("usage.bad_value", "value of --vocab-size is 0, expected at least 1");
  step.tied = ReadTied(args);
  step.value_model = args.Has("--value-model");
  step.dtype = ReadDtype(args.GetOr("--dtype", "same"));
  step.cast_all = args.Has("--cast-all");
  if (step.cast_all && step.dtype == plan::SaveDtype::kSame) throw UsageError("usage.missing_option", "option --cast-all needs --dtype: which dtype to cast to");
  if (const auto bytes = args.GetBytes("--max-shard-size")) step.max_shard_size = *bytes;
  if (step.max_shard_size == 0) throw UsageError("usage.bad_value", "value of --max-shard-size is 0, expected at least one byte");
  return step;
}

void RefuseUpload(const cli::Args& args) {
  for (const char* option : {"--hf_upload_path", "--private"}) {
    if (args.Has(option)) throw UsageError("split.no_upload", Cat("option ", option, ": ck uses no network; upload the directory with a tool of its own"));
  }
}

// The first word of verl's merger.
void ReadOperand(const cli::Args& args, Options& out) {
  if (args.operands().empty()) return;
  const std::string& operand = args.operands()[0];
  if (operand == "merge") return;
  if (operand == "test") {
    if (!args.Has("--test_hf_dir")) throw UsageError("usage.missing_option", "test needs --test_hf_dir: the model to compare with");
    cli::RefuseTogether(args, {"--test_hf_dir", "--output"});
    out.action = Options::Action::kTest;
    out.reference = *args.Get("--test_hf_dir");
    return;
  }
  out.plan_file = operand;
}

}  // namespace

cli::Command CommandLine() {
  return {
      .tool = "ck-split",
      .summary = "Makes a Hugging Face model of a Megatron checkpoint, or a Megatron checkpoint of a Hugging Face model.",
      .usage = {"ck-split --to hf [OPTIONS] [PLAN.json | -]", "ck-split --to hf [OPTIONS] --input PATH [--output OUT]", "ck-split --to megatron [OPTIONS] --input HFDIR [--output OUT]", "ck-split --list",
                "ck-split merge --backend megatron --local_dir DIR --target_dir OUT",
                "ck-split test --backend megatron --local_dir DIR --test_hf_dir MODEL"},
      .description =
          "Adds the step \"split\" to a plan and prints it; with --output carries the plan out. Fused tensors are taken apart, experts get a tensor each, padding of the vocabulary is left out. The "
          "input may be a GPT model or a Hybrid model without Mamba layers, with stacked layers or not, cut in any way.\n\n"
          "--to megatron is the way back: the tensors of a Hugging Face model are joined to those of a Megatron-Core model, with arguments made of its config.json.\n\n"
          "Every tensor of the class must be in the input, and every tensor of the input must have a place in the class; otherwise nothing is written.",
      .operands = {.name = "PLAN", .min_count = 0, .max_count = 1},
      .options = cli::Concat({ModelRows(), ResultRows(), MegatronRows(), cli::ViewOptions(), InputRows(), {cli::OutputOption({"--target_dir"})}, cli::CarryOutOptions()}),
      .examples = {"ck-split --to hf --input RUN --config Qwen3-8B --output MODEL", "ck-ls RUN --latest | ck-split --to hf --config Qwen3-8B | ck-publish MODEL",
                   "ck-split --to megatron --input Qwen3-8B --output RUN --release"},
      .exit_codes = {{1, "test: the export is not what MODEL holds"}},
  };
}

Options ReadOptions(const cli::Args& args) {
  Options out;
  if (args.Has("--list")) {
    for (const auto& rows : {ModelRows(), MegatronRows(), InputRows(), std::vector<cli::Option>{cli::OutputOption()}, cli::CarryOutOptions()}) {
      for (const cli::Option& option : rows) cli::RefuseTogether(args, {"--list", option.name});
    }
    out.action = Options::Action::kList;
    return out;
  }
  RefuseUpload(args);
  cli::CheckCarryOutOptions(args);
  ReadOperand(args, out);
  const bool test = out.action == Options::Action::kTest;
  for (const char* option : {"--json", "--table"}) {
    if (args.Has(option) && !test) throw UsageError("usage.missing_option", Cat("option ", option, " needs --list; a plan is always JSON"));
  }
  out.verl_directory = args.Get("--local_dir");
  if (!args.Has("--to") && !out.verl_directory) throw UsageError("usage.missing_option", "option --to is not given: hf or megatron");
  out.step = ReadStep(args);
  out.input = args.Get("--input");
  out.output = args.Get("--output");
  cli::RefuseTogether(args, {"--input", "--local_dir"});
  if (test && !out.input && !out.verl_directory) throw UsageError("usage.missing_option", "test needs --local_dir or --input: the checkpoint to export");
  if (!out.output && !test) cli::RefuseCarryOutOptions(args, "needs --output: without it a plan is printed");
  if (out.plan_file && (out.input || out.verl_directory)) {
    throw UsageError("usage.conflict", Cat("a plan and ", out.input ? args.NameUsed("--input") : "--local_dir", " are given; the input comes from one place"));
  }
  return out;
}

}  // namespace ck::split
