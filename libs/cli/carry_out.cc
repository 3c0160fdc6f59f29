#include "libs/cli/carry_out.h"

#include <memory>
#include <optional>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/common_options.h"
#include "libs/cli/launcher.h"
#include "libs/cli/progress.h"
#include "libs/json/value.h"
#include "libs/plan/documents.h"
#include "libs/run/carry_out.h"
#include "libs/run/report_file.h"
#include "libs/run/signals.h"

namespace ck::cli {
namespace {

run::CarryOutOptions ReadCarryOutOptions(const Args& args, const std::string& output, const RunSettings& settings) {
  run::CarryOutOptions out;
  out.output = output;
  out.threads = settings.threads;
  out.durability = settings.fsync == Fsync::kYes ? fs::Durability::kSync : fs::Durability::kNoSync;
  out.marker = ReadTargetSettings(args).marker == Marker::kForce ? run::MarkerPolicy::kForce : run::MarkerPolicy::kNeverLower;
  out.if_same = args.GetOr("--if-same", "fail") == "skip" ? run::IfSame::kSkip : run::IfSame::kFail;
  out.stage_only = args.Has("--stage-only") ? run::StageOnly::kYes : run::StageOnly::kNo;
  out.space = args.Has("--ignore-free-space") ? run::SpaceCheck::kNo : run::SpaceCheck::kYes;
  return out;
}

std::string Seconds(double seconds) {
  const auto thousandths = static_cast<uint64_t>(seconds * 1000 + 0.5);
  std::string rest = Cat(thousandths % 1000);
  rest.insert(0, 3 - rest.size(), '0');
  return Cat(thousandths / 1000, ".", rest, " s");
}

std::string Rate(uint64_t bytes, double seconds) {
  return seconds > 0 ? Cat(FormatBytes(static_cast<uint64_t>(static_cast<double>(bytes) / seconds)), "/s") : "-";
}

std::string Counted(uint64_t count, std::string_view one, std::string_view many) { return Cat(count, " ", count == 1 ? one : many); }

std::string LeftOutLine(const plan::LeftOut& left) {
  return Cat("left out by rule ", left.rule, ": ", Counted(left.count, "entry, ", "entries, "), FormatBytes(left.bytes));
}

void PrintSummary(Diagnostics& diagnostics, const plan::Plan& plan, const run::Outcome& outcome) {
  const plan::Result& result = outcome.result;
  diagnostics.Note(Cat(outcome.staged ? "staged, not published: " : "published: ", result.output));
  if (plan::FindStep<plan::MergeStep>(plan)) {
    const std::vector<double> weights = plan::Weights(plan);
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      diagnostics.Note(Cat("input ", i, ": weight ", FormatDouble(weights[i]), ", load ", Seconds(outcome.load_seconds[i]), ", ", plan.inputs[i].path));
    }
    diagnostics.Note(Cat("averaged ", Counted(result.averaged_tensors, "tensor", "tensors"), ", copied ", Counted(result.copied_extra_states, "extra state", "extra states")));
  }
  for (const plan::LeftOut& left : result.left_out) diagnostics.Note(LeftOutLine(left));
  for (const std::string& note : outcome.notes) diagnostics.Note(note);
  diagnostics.Note(Cat("planned ", outcome.planned_tensor_bytes, " tensor bytes in ", Counted(outcome.planned_chunks, "chunk", "chunks"), ", all on one rank"));
  diagnostics.Note(Cat("read ", FormatBytes(result.bytes_read), " (", Rate(result.bytes_read, result.seconds.total), "), wrote ", FormatBytes(result.bytes_written),
                       " (", Rate(result.bytes_written, result.seconds.total), ") in ", Counted(result.files, "file", "files")));
  diagnostics.Note(Cat("discovery ", Seconds(result.seconds.discovery), ", load ", Seconds(result.seconds.load), ", accumulation ", Seconds(result.seconds.accumulation),
                       ", save ", Seconds(result.seconds.save), " (over all threads); total ", Seconds(result.seconds.total), ", peak memory ",
                       FormatBytes(result.peak_memory_bytes.empty() ? 0 : result.peak_memory_bytes[0])));
  if (plan::FindStep<plan::MergeStep>(plan)) {
    diagnostics.Note("the result holds weights only: load it for evaluation, or resume with --no-load-optim --no-load-rng");
  }
}

json::Value ToJson(const run::DryRunReport& report) {
  json::Array files, left_out, notes;
  for (const std::string& line : report.file_lines) files.emplace_back(json::ToUtf8(line));
  for (const plan::LeftOut& left : report.left_out) {
    left_out.emplace_back(json::Object().Set("rule", left.rule).Set("count", left.count).Set("bytes", left.bytes));
  }
  for (const std::string& note : report.notes) notes.emplace_back(json::ToUtf8(note));
  json::Object out;
  out.Set("output", json::ToUtf8(report.output));
  out.Set("marker", report.marker.empty() ? json::Value() : json::Value(json::ToUtf8(report.marker)));
  out.Set("files", std::move(files)).Set("bytes_to_read", report.bytes_to_read).Set("bytes_to_write", report.bytes_to_write);
  out.Set("peak_memory_bytes", report.peak_memory_bytes).Set("free_bytes", report.free_bytes);
  out.Set("left_out", std::move(left_out)).Set("notes", std::move(notes));
  return out;
}

}  // namespace

std::vector<Option> CarryOutOptions() {
  return Concat({RunOptions(),
                 TargetOptions(),
                 {
                     {.name = "--if-same", .arity = Arity::kOne, .value = "skip|fail", .help = "When the output exists and the same plan made it: exit 0 (skip), or 5 (fail). Default: fail.",
                      .group = "Output", .choices = {"skip", "fail"}},
                     {.name = "--stage-only", .help = "Write and check, but do not publish; prints the staged directory for ck-publish --staged.", .group = "Output"},
                     {.name = "--ignore-free-space", .help = "Start even when the file system says that there is too little room.", .group = "Output"},
                 }});
}

void CheckCarryOutOptions(const Args& args) {
  ReadRunSettings(args);
  ReadTargetSettings(args);
  RefuseTogether(args, {"--dry-run", "--report"});
  RefuseTogether(args, {"--dry-run", "--if-same"});
  RefuseTogether(args, {"--dry-run", "--stage-only"});
}

void RefuseCarryOutOptions(const Args& args, std::string_view why) {
  for (const char* name : {"--dry-run", "--threads", "--progress", "--report", "--no-fsync", "--force-marker", "--if-same", "--stage-only", "--ignore-free-space"}) {
    if (args.Has(name)) throw UsageError("usage.missing_option", Cat("option ", args.NameUsed(name), " ", why));
  }
}

void ApplyTarget(const Args& args, plan::Plan& plan) {
  const TargetSettings target = ReadTargetSettings(args);
  if (target.iteration) plan.target = static_cast<int64_t>(*target.iteration);
  if (target.release) plan.target = plan::Release{};
}

int CarryOutPlan(Context& context, const plan::Plan& plan, const std::string& output) {
  CheckSingleProcess(context);
  const RunSettings settings = ReadRunSettings(context.args);
  const run::CarryOutOptions options = ReadCarryOutOptions(context.args, output, settings);
  Diagnostics& diagnostics = context.diagnostics;
  std::unique_ptr<Progress> progress;
  run::Observer observer;
  observer.finding = [&](const plan::Finding& finding) {
    const auto severity = finding.severity == plan::Severity::kError ? Diagnostics::Finding::kError : Diagnostics::Finding::kWarning;
    diagnostics.PrintFinding(severity, finding.id, finding.message);
  };
  observer.begin = [&](uint64_t total_bytes) {
    progress = std::make_unique<Progress>(context.streams, settings.progress, "writing", total_bytes);
    return [&](uint64_t bytes) { progress->Add(bytes); };
  };
  if (settings.report) run::CheckReport(*settings.report);
  if (settings.dry_run == DryRun::kYes) {
    context.streams.Print(json::Write(ToJson(run::DryRun(plan, options, observer)), {.indent = 2}));
    return 0;
  }
  run::InstallSignalHandlers();
  run::Outcome outcome;
  try {
    outcome = run::CarryOut(plan, options, observer);
  } catch (const Error& error) {
    progress.reset();
    if (error.id() != "run.interrupted") throw;
    throw Error(static_cast<Code>(128 + run::StopSignal()), error.id(), error.message());
  }
  progress.reset();
  if (outcome.skipped) {
    diagnostics.Note(Cat(outcome.result.output, " was made from the same plan already; nothing to do"));
  } else {
    PrintSummary(diagnostics, plan, outcome);
  }
  for (const std::string& warning : outcome.warnings) diagnostics.Warn("publish.warning", warning);
  if (!outcome.marker_warning.empty()) diagnostics.Warn("publish.marker_kept", outcome.marker_warning);
  const std::string document = json::Write(plan::ToJson(outcome.result), {.indent = 2});
  if (settings.report) run::WriteReport(*settings.report, document);
  context.streams.Print(document);
  return 0;
}

}  // namespace ck::cli
