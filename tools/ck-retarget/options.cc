#include "tools/ck-retarget/options.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"
#include "libs/coefficients/schedule.h"

namespace ck::retarget {

namespace {

using cli::Arity;
using cli::Shown;
using plan::RetargetStep;

constexpr char kTarget[] = "Conversion";
constexpr char kMamba[] = "Fresh Mamba layers";
constexpr char kShow[] = "Showing";

std::vector<cli::Option> TargetRows() {
  return {
      {.name = "--to", .arity = Arity::kOne, .value = "MODEL", .help = "The model that the result is of: hybrid or gpt.", .group = kTarget, .choices = {"hybrid", "gpt"}},
      {.name = "--pattern", .aliases = {"--hybrid-layer-pattern"}, .arity = Arity::kOne, .value = "PATTERN",
       .help = "The layers of the Hybrid model, quoted for the shell: M G * D - E +, '|' between pipeline segments. Back to GPT it may be left out.", .group = kTarget},
      {.name = "--per-layer", .help = "GPT with one key per layer. Default: layers stacked in one tensor, as Megatron saves them.", .group = kTarget},
      {.name = "--transformer-impl", .arity = Arity::kOne, .value = "IMPL", .help = "Names of a GPT result: transformer_engine or local. They differ in the norm of an MoE layer. Default: transformer_engine.",
       .group = kTarget, .choices = {"transformer_engine", "local"}},
      {.name = "--format", .aliases = {"--output-format"}, .arity = Arity::kOne, .value = "FORMAT", .help = "Of the result. auto: the source's.", .group = kTarget, .choices = {"auto", "torch_dist", "fsdp_dtensor"}},
      {.name = "--drop-ssm", .help = "Leave the Mamba layers out on the way to GPT. What remains is another model.", .group = kTarget},
      {.name = "--with-optimizer", .help = "Carry optimizer state over instead of leaving it out.", .group = kTarget},
      {.name = "--drop-extra-state", .help = "Leave every _extra_state out; the loader then needs --dist-ckpt-strictness log_unexpected.", .group = kTarget},
      {.name = "--reset-iterations", .help = "Set iteration, consumed samples, train_iters and train_samples to 0; the result is iter_0000000.", .group = kTarget},
      {.name = "--assume-compatible", .help = "Convert a checkpoint without saved args by its keys alone.", .group = kTarget},
      {.name = "--allow-reorder", .help = "Accept a pattern in which attention and MLP do not alternate, such as **--: the weights pair up, the function is another one.", .group = kTarget},
      {.name = "--direction", .arity = Arity::kOne, .value = "DIRECTION", .choices = {"gpt-to-hybrid", "hybrid-to-gpt"}, .shown = Shown::kNo},
  };
}

std::vector<cli::Option> MambaRows() {
  return {
      {.name = "--seed", .arity = Arity::kOne, .value = "N", .help = "Of the random weights: the same seed gives the same bytes. Default: 0.", .group = kMamba},
      {.name = "--mamba-d-state", .aliases = {"--mamba-state-dim"}, .arity = Arity::kOne, .value = "N", .help = "State size per group.", .group = kMamba},
      {.name = "--mamba2-n-groups", .aliases = {"--mamba-num-groups"}, .arity = Arity::kOne, .value = "N", .help = "Groups.", .group = kMamba},
      {.name = "--mamba2-head-dim", .aliases = {"--mamba-head-dim"}, .arity = Arity::kOne, .value = "N", .help = "Head size.", .group = kMamba},
      {.name = "--d-conv", .arity = Arity::kOne, .value = "N", .help = "Taps of the convolution. Default: 4.", .group = kMamba},
      {.name = "--expand", .arity = Arity::kOne, .value = "N", .help = "Inner size as a multiple of the hidden size. Default: from args, else 2.", .group = kMamba},
      {.name = "--d-model", .arity = Arity::kOne, .value = "N", .help = "Hidden size, which must be the checkpoint's.", .group = kMamba},
      {.name = "--mamba-version", .arity = Arity::kOne, .value = "N", .choices = {"2"}, .shown = Shown::kNo},
  };
}

std::vector<cli::Option> ShowRows() {
  return {
      {.name = "--explain", .help = "Show the layer map of --pattern and what changes in the training command; converts nothing.", .group = kShow},
      {.name = "--list", .arity = Arity::kOne, .value = "V,V,...", .help = "With --explain: a list by GPT layer, expanded to hybrid layers.", .group = kShow},
      {.name = "--pipeline-model-parallel-size", .arity = Arity::kOne, .value = "N", .help = "Check that the pattern's segments can be spread over so many stages.", .group = kShow},
      {.name = "--virtual-pipeline-model-parallel-size", .arity = Arity::kOne, .value = "N", .help = "Virtual stages per stage. Default: 1.", .group = kShow},
      {.name = "--shards", .arity = Arity::kOne, .value = "STAGES", .help = "Show how many of --layers each pipeline stage gets; converts nothing.", .group = kShow},
      {.name = "--layers", .arity = Arity::kOne, .value = "N", .help = "Layers for --shards.", .group = kShow},
  };
}

std::vector<cli::Option> InputRows() {
  return {
      {.name = "--input", .aliases = {"--load-dir"}, .arity = Arity::kOne, .value = "PATH", .help = "A checkpoint, or a root with a marker. Default: a plan on stdin.", .group = "Input"},
      {.name = "--input-format", .arity = Arity::kOne, .value = "FORMAT", .help = "What the input must be. Default: auto.", .group = "Input", .choices = {"auto", "torch_dist", "fsdp_dtensor"}},
  };
}

std::optional<plan::Format> ReadFormat(const cli::Args& args, const char* option) {
  const std::string text = args.GetOr(option, "auto");
  if (text == "torch_dist") return plan::Format::kTorchDist;
  if (text == "fsdp_dtensor") return plan::Format::kFsdpDtensor;
  return std::nullopt;
}

RetargetStep::To ReadTo(const cli::Args& args) {
  const auto to = args.Get("--to"), direction = args.Get("--direction");
  if (!to && !direction) throw UsageError("usage.missing_option", "option --to is not given: hybrid or gpt");
  const bool hybrid = to ? *to == "hybrid" : *direction == "gpt-to-hybrid";
  if (to && direction && hybrid != (*direction == "gpt-to-hybrid")) throw UsageError("usage.conflict", Cat("--to ", *to, " and --direction ", *direction, " contradict each other"));
  return hybrid ? RetargetStep::To::kHybrid : RetargetStep::To::kGpt;
}

std::optional<uint64_t> ReadSize(const cli::Args& args, const char* option) {
  const auto size = args.GetUint(option);
  if (size && *size == 0) throw UsageError("usage.bad_value", Cat("value of ", args.NameUsed(option), " is 0, expected at least 1"));
  return size;
}

RetargetStep ReadStep(const cli::Args& args) {
  RetargetStep step;
  step.to = ReadTo(args);
  step.pattern = args.Get("--pattern");
  step.format = ReadFormat(args, "--format");
  step.per_layer = args.Has("--per-layer");
  step.drop_ssm = args.Has("--drop-ssm");
  step.seed = args.GetOr("--seed", "0");
  if (!coefficients::IsSeed(step.seed)) throw UsageError("usage.bad_value", Cat("value of --seed is ", Quote(step.seed), ", expected an integer"));
  if (args.Has("--with-optimizer")) step.optimizer = RetargetStep::Optimizer::kCarry;
  if (args.Has("--drop-extra-state")) step.extra_state = RetargetStep::ExtraState::kDrop;
  step.reset_iterations = args.Has("--reset-iterations");
  step.assume_compatible = args.Has("--assume-compatible");
  step.allow_reorder = args.Has("--allow-reorder");
  if (const auto impl = args.Get("--transformer-impl")) step.transformer_impl = *impl == "local" ? plan::TransformerImpl::kLocal : plan::TransformerImpl::kTransformerEngine;
  step.mamba = {.d_model = ReadSize(args, "--d-model"), .d_state = ReadSize(args, "--mamba-d-state"), .n_groups = ReadSize(args, "--mamba2-n-groups"),
                .head_dim = ReadSize(args, "--mamba2-head-dim"), .d_conv = ReadSize(args, "--d-conv"), .expand = ReadSize(args, "--expand")};
  if (step.per_layer && step.to == RetargetStep::To::kHybrid) throw UsageError("usage.conflict", "--per-layer is about GPT keys; a Hybrid model always has one key per layer");
  return step;
}

void RefuseAllBut(const cli::Args& args, const char* action, const std::vector<std::string>& allowed) {
  for (const auto& rows : {TargetRows(), MambaRows(), ShowRows(), InputRows(), std::vector<cli::Option>{cli::OutputOption()}, cli::CarryOutOptions()}) {
    for (const cli::Option& option : rows) {
      bool is_allowed = option.name == action;
      for (const std::string& name : allowed) is_allowed = is_allowed || option.name == name;
      if (!is_allowed) cli::RefuseTogether(args, {action, option.name});
    }
  }
  if (!args.operands().empty()) throw UsageError("usage.extra_operand", Cat("operand ", Quote(args.operands()[0]), " is not taken with ", action));
}

void ReadStages(const cli::Args& args, Options& out) {
  out.pipeline_stages = ReadSize(args, "--pipeline-model-parallel-size").value_or(0);
  const auto virtual_stages = ReadSize(args, "--virtual-pipeline-model-parallel-size");
  if (virtual_stages && out.pipeline_stages == 0) throw UsageError("usage.missing_option", "option --virtual-pipeline-model-parallel-size needs --pipeline-model-parallel-size");
  out.virtual_stages = virtual_stages.value_or(1);
}

void ReadShards(const cli::Args& args, Options& out) {
  RefuseAllBut(args, "--shards", {"--layers"});
  out.action = Options::Action::kShards;
  out.shards = *ReadSize(args, "--shards");
  const auto layers = ReadSize(args, "--layers");
  if (!layers) throw UsageError("usage.missing_option", "option --shards needs --layers");
  out.layers = *layers;
}

void ReadExplain(const cli::Args& args, Options& out) {
  RefuseAllBut(args, "--explain", {"--pattern", "--list", "--allow-reorder", "--pipeline-model-parallel-size", "--virtual-pipeline-model-parallel-size", "--to", "--direction"});
  out.action = Options::Action::kExplain;
  out.step.pattern = args.Get("--pattern");
  out.step.allow_reorder = args.Has("--allow-reorder");
  if (!out.step.pattern) throw UsageError("usage.missing_option", "option --explain needs --pattern");
  if (const auto list = args.Get("--list")) out.list = Split(*list, ',');
}

}  // namespace

cli::Command CommandLine() {
  return {
      .tool = "ck-retarget",
      .summary = "Makes a Hybrid checkpoint of a GPT one, and back.",
      .usage = {"ck-retarget --to hybrid --pattern PATTERN [OPTIONS] [PLAN.json | -]", "ck-retarget --to gpt [OPTIONS] [PLAN.json | -]", "ck-retarget --to MODEL [OPTIONS] --input PATH [--output OUT]",
                "ck-retarget --explain --pattern PATTERN [--list V,V,...]", "ck-retarget --shards STAGES --layers N"},
      .description =
          "Adds the step \"retarget\" to a plan and prints it; with --output carries the plan out. A GPT layer becomes an attention layer (*) and an MLP (-) or MoE (E) "
          "layer of the Hybrid model; the i-th of each belongs to GPT layer i. Every weight keeps its bits.\n\n"
          "Optimizer, rng and rerun state is left out; --with-optimizer carries moments and fp32 masters over.",
      .operands = {.name = "PLAN", .min_count = 0, .max_count = 1},
      .options = cli::Concat({TargetRows(), MambaRows(), ShowRows(), cli::ViewOptions(), InputRows(), {cli::OutputOption({"--save-dir"})}, cli::CarryOutOptions()}),
      .examples = {"ck-retarget --to hybrid --pattern '*-*-*-*-' --input GPT --output HYBRID", "ck-ls RUN --latest | ck-retarget --to gpt | ck-publish OUT", "ck-retarget --explain --pattern '*-*-|*-*-'"},
      .exit_codes = {{1, ""}},
  };
}

Options ReadOptions(const cli::Args& args) {
  Options out;
  ReadStages(args, out);
  if (args.Has("--shards")) {
    ReadShards(args, out);
    return out;
  }
  if (args.Has("--explain")) {
    ReadExplain(args, out);
    return out;
  }
  for (const char* option : {"--layers", "--list"}) {
    if (args.Has(option)) throw UsageError("usage.missing_option", Cat("option ", option, " needs ", option == std::string_view("--list") ? "--explain" : "--shards"));
  }
  for (const char* option : {"--json", "--table"}) {
    if (args.Has(option)) throw UsageError("usage.missing_option", Cat("option ", option, " needs --explain or --shards; a plan is always JSON"));
  }
  cli::CheckCarryOutOptions(args);
  out.step = ReadStep(args);
  out.input = args.Get("--input");
  out.output = args.Get("--output");
  if (!out.output) cli::RefuseCarryOutOptions(args, "needs --output: without it a plan is printed");
  out.input_format = ReadFormat(args, "--input-format");
  if (!args.operands().empty()) out.plan_file = args.operands()[0];
  if (out.input && out.plan_file) throw UsageError("usage.conflict", Cat("a plan and ", args.NameUsed("--input"), " are given; the input comes from one place"));
  return out;
}

}  // namespace ck::retarget
