#include "tools/ck-coeffs/coeffs_tool.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/cli/common_options.h"
#include "libs/cli/plan_input.h"
#include "libs/cli/plot.h"
#include "libs/cli/table.h"
#include "libs/coefficients/schedule.h"
#include "libs/json/value.h"
#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "tools/ck-coeffs/options.h"

namespace ck::coeffs {

namespace {

constexpr char kDefaultStyle[] = "linear";
constexpr char kManual[] = "manual";
constexpr size_t kPlotColumns = 24;

bool IsSchedule(const std::optional<std::string>& style) {
  const auto names = coefficients::StyleNames();
  return style && std::count(names.begin(), names.end(), *style) > 0;
}

size_t CountWeighted(const plan::Plan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.inputs.begin(), plan.inputs.end(), [](const plan::Input& i) { return i.weight.has_value(); }));
}

std::vector<double> WeightsOf(const plan::Plan& plan) {
  std::vector<double> weights;
  for (const plan::Input& input : plan.inputs) weights.push_back(*input.weight);
  return weights;
}

void SetWeights(plan::Plan& plan, const std::vector<double>& weights) {
  Check(weights.size() == plan.inputs.size(), "one weight per input");
  for (size_t i = 0; i < weights.size(); ++i) plan.inputs[i].weight = weights[i];
}

void ApplySchedule(plan::Plan& plan, const Options& options) {
  const std::string style = options.style.value_or(kDefaultStyle);
  SetWeights(plan, coefficients::Schedule(style, plan.inputs.size(), options.seed));
  plan.coefficients = {.style = style, .seed = options.seed, .normalized = true};
}

void ApplyManual(plan::Plan& plan, std::vector<double> weights, bool normalize) {
  if (weights.size() != plan.inputs.size()) {
    throw InputError("coeffs.count_differs",
                     Cat("--weights gives ", weights.size(), ", expected one per input of the plan, which has ",
                         plan.inputs.size()));
  }
  SetWeights(plan, normalize ? coefficients::Normalize(weights) : weights);
  plan.coefficients = {.style = kManual, .seed = "0", .normalized = normalize};
}

void Weigh(plan::Plan& plan, const Options& options) {
  if (plan.inputs.empty()) throw InputError("coeffs.no_inputs", "the plan has no inputs to weigh");
  const size_t weighted = CountWeighted(plan);
  if (options.weights) {
    ApplyManual(plan, *options.weights, options.normalize);
  } else if (options.style || weighted == 0) {
    ApplySchedule(plan, options);
  } else if (weighted < plan.inputs.size()) {
    throw InputError("coeffs.partly_weighted", Cat(weighted, " of ", plan.inputs.size(),
                                                   " inputs have a weight, expected all or none; "
                                                   "give --style or --weights to replace them"));
  } else if (options.normalize) {
    ApplyManual(plan, WeightsOf(plan), true);
  }
}

// A schedule is over checkpoints from the oldest to the newest; the plan's order is what it goes by. The weights of
// linear are equal but for their last bits: there the order says nothing.
void WarnAboutOrder(const plan::Plan& plan, cli::Diagnostics& diagnostics) {
  if (StartsWith(*plan.coefficients.style, "linear")) return;
  for (size_t i = 1; i < plan.inputs.size(); ++i) {
    const auto &before = plan.inputs[i - 1].iteration, &after = plan.inputs[i].iteration;
    if (!before || !after || *before < *after) continue;
    diagnostics.Warn("coeffs.not_ascending", Cat("input ", i, " has iteration ", *after, " after ", *before,
                                                 "; the schedule goes by the order of the inputs, not by iterations"));
    return;
  }
}

void Warn(const plan::Plan& plan, cli::Diagnostics& diagnostics) {
  if (IsSchedule(plan.coefficients.style)) return WarnAboutOrder(plan, diagnostics);
  const auto normalized = plan.coefficients.normalized ? coefficients::Normalized::kYes : coefficients::Normalized::kNo;
  for (const auto& warning : coefficients::Warnings(WeightsOf(plan), normalized))
    diagnostics.Warn(warning.id, warning.message);
}

std::string Total(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return Cat("\nsum ", FormatDouble(sum), '\n');
}

std::string PlanTable(const plan::Plan& plan) {
  const std::vector<double> weights = WeightsOf(plan);
  const std::vector<std::string> bars = cli::Bars(weights, kPlotColumns);
  cli::Table table({{"ITERATION", cli::Align::kRight}, {"WEIGHT"}, {""}, {"PATH"}});
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto& iteration = plan.inputs[i].iteration;
    table.AddRow({iteration ? Cat(*iteration) : "-", FormatDouble(weights[i]), bars[i], plan.inputs[i].path});
  }
  return table.Text() + Total(weights);
}

std::string ScheduleTable(const std::vector<double>& weights) {
  const std::vector<std::string> bars = cli::Bars(weights, kPlotColumns);
  cli::Table table({{"INDEX", cli::Align::kRight}, {"WEIGHT"}, {""}});
  for (size_t i = 0; i < weights.size(); ++i) table.AddRow({Cat(i), FormatDouble(weights[i]), bars[i]});
  return table.Text() + Total(weights);
}

}  // namespace

int Run(cli::Context& context) {
  const Options options = ReadOptions(context.args);
  const cli::View view = cli::ReadView(context.args, context.streams);
  if (options.count) {
    const std::string style = options.style.value_or(kDefaultStyle);
    const std::vector<double> weights = coefficients::Schedule(style, *options.count, options.seed);
    context.streams.Print(view == cli::View::kTable
                              ? ScheduleTable(weights)
                              : json::Write(plan::ToJson({style, options.seed, weights}), {.indent = 2}));
    return 0;
  }
  plan::Plan plan = cli::ReadPlan(context.streams, options.plan);
  Weigh(plan, options);
  Warn(plan, context.diagnostics);
  plan.producer = {"ck-coeffs", std::string(kVersion)};
  context.streams.Print(view == cli::View::kTable ? PlanTable(plan) : plan::Encode(plan));
  return 0;
}

}  // namespace ck::coeffs
