#include "tools/ck-publish/publish_tool.h"

#include <string>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/cli/carry_out.h"
#include "libs/cli/common_options.h"
#include "libs/cli/launcher.h"
#include "libs/cli/plan_input.h"
#include "libs/json/value.h"
#include "libs/pipeline/named_input.h"
#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/run/finish_staged.h"
#include "libs/run/gc.h"
#include "libs/run/signals.h"
#include "libs/run/report_file.h"
#include "tools/ck-publish/options.h"

namespace ck::publish {

namespace {

int CarryOut(cli::Context& context, plan::Plan plan, const std::string& output) {
  cli::ApplyTarget(context.args, plan);
  plan.producer = {"ck-publish", std::string(kVersion)};
  return cli::CarryOutPlan(context, plan, output);
}

int Copy(cli::Context& context, const Options& options) {
  pipeline::NamedInput named = pipeline::ResolveInput(*options.source);
  if (!named.note.empty()) context.diagnostics.Note(named.note);
  plan::Plan plan;
  if (named.through_root && named.input.iteration) plan.target = *named.input.iteration;
  if (named.through_root && !named.input.iteration) plan.target = plan::Release{};
  plan.inputs.push_back(std::move(named.input));
  return CarryOut(context, std::move(plan), *options.output);
}

int PublishStaged(cli::Context& context, const Options& options) {
  cli::CheckSingleProcess(context);
  run::InstallSignalHandlers();
  const cli::RunSettings settings = cli::ReadRunSettings(context.args);
  if (settings.report) run::CheckReport(*settings.report);
  const bool force = cli::ReadTargetSettings(context.args).marker == cli::Marker::kForce;
  const bool no_sync = settings.fsync == cli::Fsync::kNo;
  const run::Finished finished = run::FinishStaged({.staged = *options.source,
                                                    .output = options.output,
                                                    .durability = no_sync ? fs::Durability::kNoSync : fs::Durability::kSync,
                                                    .marker = force ? run::MarkerPolicy::kForce : run::MarkerPolicy::kNeverLower});
  for (const std::string& warning : finished.warnings) context.diagnostics.Warn("publish.warning", warning);
  if (!finished.marker_warning.empty()) context.diagnostics.Warn("publish.marker_kept", finished.marker_warning);
  context.diagnostics.Note(Cat("published: ", finished.result.output));
  const std::string document = json::Write(plan::ToJson(finished.result), {.indent = 2});
  if (settings.report) run::WriteReport(*settings.report, document);
  context.streams.Print(document);
  return 0;
}

json::Array ToJson(const std::vector<run::GcItem>& items) {
  json::Array out;
  for (const run::GcItem& item : items) {
    out.emplace_back(json::Object().Set("path", json::ToUtf8(item.path)).Set("reason", json::ToUtf8(item.reason)));
  }
  return out;
}

int CollectGarbage(cli::Context& context, const Options& options) {
  const run::GcReport report = run::Gc(*options.source);
  context.diagnostics.Note(Cat("removed ", report.removed.size(), ", kept ", report.kept.size()));
  json::Object document;
  document.Set("removed", ToJson(report.removed)).Set("kept", ToJson(report.kept));
  context.streams.Print(json::Write(document, {.indent = 2}));
  return 0;
}

}  // namespace

int Run(cli::Context& context) {
  const Options options = ReadOptions(context.args);
  switch (options.action) {
    case Options::Action::kPlan:
      return CarryOut(context, cli::ReadPlan(context.streams, options.source), *options.output);
    case Options::Action::kCopy:
      return Copy(context, options);
    case Options::Action::kStaged:
      return PublishStaged(context, options);
    case Options::Action::kGc:
      return CollectGarbage(context, options);
  }
  throw InternalError("internal.check_failed", "an action is one of four");
}

}  // namespace ck::publish
