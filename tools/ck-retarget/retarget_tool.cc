#include "tools/ck-retarget/retarget_tool.h"

#include <string>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"
#include "libs/cli/plan_input.h"
#include "libs/cli/table.h"
#include "libs/json/value.h"
#include "libs/megatron/pattern.h"
#include "libs/megatron/shards.h"
#include "libs/pipeline/named_input.h"
#include "libs/plan/edit.h"
#include "libs/plan/names.h"
#include "libs/plan/plan.h"
#include "tools/ck-retarget/explain.h"
#include "tools/ck-retarget/options.h"

namespace ck::retarget {

namespace {

megatron::Reorder ReorderOf(const Options& options) { return options.step.allow_reorder ? megatron::Reorder::kAllow : megatron::Reorder::kRefuse; }

// A bad pattern is refused before anything is opened, also when only a plan is printed.
void CheckPattern(const Options& options) {
  if (!options.step.pattern) return;
  const megatron::Pattern pattern = megatron::ParsePattern(*options.step.pattern);
  if (options.step.to == plan::RetargetStep::To::kHybrid) RequireGptPattern(pattern, ReorderOf(options));
  CheckSegments(pattern, options.pipeline_stages, options.virtual_stages);
}

plan::Plan InitialPlan(const Options& options, cli::Context& context) {
  if (!options.input) return cli::ReadPlan(context.streams, options.plan_file);
  pipeline::NamedInput named = pipeline::ResolveInput(*options.input);
  if (!named.note.empty()) context.diagnostics.Note(named.note);
  plan::Plan plan;
  if (named.through_root && named.input.iteration) plan.target = *named.input.iteration;
  if (named.through_root && !named.input.iteration) plan.target = plan::Release{};
  plan.inputs.push_back(std::move(named.input));
  return plan;
}

void CheckInputFormat(const Options& options, const plan::Plan& plan) {
  if (!options.input_format) return;
  for (const plan::Input& input : plan.inputs) {
    if (input.format == *options.input_format) continue;
    throw InputError("retarget.input_format", Cat(input.path, " is ", plan::Name(input.format), ", --input-format says ", plan::Name(*options.input_format)));
  }
}

int RunStep(cli::Context& context, const Options& options) {
  CheckPattern(options);
  plan::Plan plan = InitialPlan(options, context);
  CheckInputFormat(options, plan);
  plan::AddStep(plan, options.step);
  cli::ApplyTarget(context.args, plan);
  plan.producer = {"ck-retarget", std::string(kVersion)};
  if (options.output) return cli::CarryOutPlan(context, plan, *options.output);
  context.streams.Print(plan::Encode(plan));
  return 0;
}

int RunExplain(cli::Context& context, const Options& options) {
  const cli::View view = cli::ReadView(context.args, context.streams);
  const megatron::Pattern pattern = megatron::ParsePattern(*options.step.pattern);
  RequireGptPattern(pattern, ReorderOf(options));
  CheckSegments(pattern, options.pipeline_stages, options.virtual_stages);
  const Explanation explanation = Explain(pattern, options.list);
  context.streams.Print(view == cli::View::kTable ? ToTable(explanation) : json::Write(ToJson(explanation), {.indent = 2}));
  return 0;
}

int RunShards(cli::Context& context, const Options& options) {
  const cli::View view = cli::ReadView(context.args, context.streams);
  const std::vector<uint64_t> shards = megatron::PipelineShards(options.layers, options.shards);
  json::Array numbers;
  cli::Table table({{"STAGE", cli::Align::kRight}, {"LAYERS", cli::Align::kRight}});
  for (size_t stage = 0; stage < shards.size(); ++stage) {
    numbers.emplace_back(shards[stage]);
    table.AddRow({Cat(stage), Cat(shards[stage])});
  }
  json::Object out;
  out.Set("layers", options.layers).Set("stages", options.shards).Set("shards", std::move(numbers));
  context.streams.Print(view == cli::View::kTable ? table.Text() : json::Write(out, {.indent = 2}));
  return 0;
}

}  // namespace

int Run(cli::Context& context) {
  const Options options = ReadOptions(context.args);
  switch (options.action) {
    case Options::Action::kStep:
      return RunStep(context, options);
    case Options::Action::kExplain:
      return RunExplain(context, options);
    case Options::Action::kShards:
      return RunShards(context, options);
  }
  throw InternalError("internal.check_failed", "an action is one of three");
}

}  // namespace ck::retarget
