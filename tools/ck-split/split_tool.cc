#include "tools/ck-split/split_tool.h"

#include <string>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"
#include "libs/cli/plan_input.h"
#include "libs/fs/read.h"
#include "libs/json/value.h"
#include "libs/pipeline/named_input.h"
#include "libs/plan/edit.h"
#include "libs/plan/plan.h"
#include "tools/ck-split/list.h"
#include "tools/ck-split/options.h"
#include "tools/ck-split/test_export.h"

namespace ck::split {

namespace {

bool IsDirectory(const std::string& path) {
  const auto info = fs::Stat(path);
  return info && info->type == fs::FileType::kDirectory;
}

// What verl leaves: DIR/dist_ckpt, and the config in DIR/huggingface or DIR/model.
void ReadVerlDirectory(Options& options) {
  if (!options.verl_directory) return;
  const std::string& directory = *options.verl_directory;
  options.input = fs::JoinPath(directory, "dist_ckpt");
  if (!IsDirectory(*options.input)) throw InputError("split.verl_directory", Cat("--local_dir ", Quote(directory, 4096), " holds no dist_ckpt, where the Megatron checkpoint should be"));
  if (options.step.config) return;
  for (const char* name : {"huggingface", "model"}) {
    const std::string path = fs::JoinPath(directory, name);
    if (IsDirectory(path)) {
      options.step.config = path;
      return;
    }
  }
  throw InputError("split.verl_directory", Cat("--local_dir ", Quote(directory, 4096), " holds neither huggingface nor model, where the config should be; --hf_model_path names another"));
}

plan::Plan InitialPlan(const Options& options, cli::Context& context) {
  if (!options.input) return cli::ReadPlan(context.streams, options.plan_file);
  pipeline::NamedInput named = pipeline::ResolveInput(*options.input);
  if (!named.note.empty()) context.diagnostics.Note(named.note);
  plan::Plan plan;
  plan.inputs.push_back(std::move(named.input));
  return plan;
}

int RunStep(cli::Context& context, Options options) {
  ReadVerlDirectory(options);
  if (options.step.config) options.step.config = fs::AbsolutePath(*options.step.config);
  plan::Plan plan = InitialPlan(options, context);
  plan::AddStep(plan, options.step);
  cli::ApplyTarget(context.args, plan);
  plan.producer = {"ck-split", std::string(kVersion)};
  if (options.action == Options::Action::kTest) return TestExport(context, plan, options.reference);
  if (options.output) return cli::CarryOutPlan(context, plan, *options.output);
  context.streams.Print(plan::Encode(plan));
  return 0;
}

int RunList(cli::Context& context) {
  const bool table = cli::ReadView(context.args, context.streams) == cli::View::kTable;
  context.streams.Print(table ? TablesAsText() : json::Write(TablesAsJson(), {.indent = 2}));
  return 0;
}

}  // namespace

int Run(cli::Context& context) {
  Options options = ReadOptions(context.args);
  return options.action == Options::Action::kList ? RunList(context) : RunStep(context, std::move(options));
}

}  // namespace ck::split
