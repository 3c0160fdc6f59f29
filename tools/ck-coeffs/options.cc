#include "tools/ck-coeffs/options.h"

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/common_options.h"
#include "libs/cli/values.h"
#include "libs/coefficients/schedule.h"

namespace ck::coeffs {

namespace {

std::vector<double> ReadWeights(const std::string& name, const std::string& text) {
  std::vector<double> weights;
  for (const std::string& number : Split(text, ',')) weights.push_back(cli::ParseDoubleValue(name, number));
  return weights;
}

uint64_t ReadCount(const std::string& name, uint64_t count) {
  if (count >= 1 && count <= coefficients::kMaxCount) return count;
  throw UsageError("usage.bad_value",
                   Cat("value of ", name, " is ", count, ", expected 1 to ", coefficients::kMaxCount));
}

std::string ReadSeed(const std::string& name, const std::string& text) {
  if (coefficients::IsSeed(text)) return text;
  throw UsageError("usage.bad_value", Cat("value of ", name, " is ", Quote(text), ", expected an integer of at most ",
                                          coefficients::kMaxSeedDigits, " digits"));
}

}  // namespace

cli::Command CommandLine() {
  using cli::Arity;
  return {
      .tool = "ck-coeffs",
      .summary = "Gives every input of a plan its weight, and shows the weights.",
      .usage = {"ck-coeffs [--style STYLE] [--seed N] [PLAN]", "ck-coeffs --weights W,W,... [--normalize] [PLAN]",
                "ck-coeffs --normalize [PLAN]", "ck-coeffs --count N [--style STYLE] [--seed N]"},
      .description =
          "Reads the plan PLAN, or stdin, and prints it with the weights; nothing else in it changes.\n\n"
          "Without an option the weights that the plan has are kept, and a plan without weights gets the schedule "
          "linear. "
          "A schedule goes by the order of the inputs, oldest first.",
      .operands = {.name = "PLAN", .min_count = 0, .max_count = 1},
      .options = cli::Concat(
          {{
               {.name = "--style",
                .aliases = {"--merge-style"},
                .arity = Arity::kOne,
                .value = "STYLE",
                .help = "Weights by a schedule.",
                .choices = coefficients::StyleNames()},
               {.name = "--seed",
                .aliases = {"--coefficient-seed"},
                .arity = Arity::kOne,
                .value = "N",
                .help = "Seed of the __scramble styles, any integer. Default: 0."},
               {.name = "--weights",
                .arity = Arity::kOne,
                .value = "W,W,...",
                .help = "One weight per input, in the order of the inputs, used exactly as given."},
               {.name = "--normalize",
                .help = "Divide each weight by their sum. A schedule needs no dividing and is left as it is."},
               {.name = "--count",
                .arity = Arity::kOne,
                .value = "N",
                .help = "Show the schedule for N checkpoints; reads no plan."},
           },
           cli::ViewOptions()}),
      .examples = {"ck-ls RUN --start 1000 --end 5000 | ck-coeffs --style minus-sqrt | ck-merge --output OUT",
                   "ck-ls A B | ck-coeffs --weights 1.5,-0.5 > plan.json", "ck-coeffs --count 5 --style minus-sqrt"},
      .exit_codes = {{1, ""}, {5, ""}},
  };
}

Options ReadOptions(const cli::Args& args) {
  cli::RefuseTogether(args, {"--style", "--weights"});
  cli::RefuseTogether(args, {"--seed", "--weights"});
  cli::RefuseTogether(args, {"--count", "--weights"});
  cli::RefuseTogether(args, {"--count", "--normalize"});
  if (args.Has("--seed") && !args.Has("--style")) {
    throw UsageError("usage.missing_option",
                     Cat("option ", args.NameUsed("--seed"), " needs --style: it says how to scramble"));
  }
  Options options;
  options.style = args.Get("--style");
  if (const auto seed = args.Get("--seed")) options.seed = ReadSeed(args.NameUsed("--seed"), *seed);
  if (const auto weights = args.Get("--weights")) options.weights = ReadWeights("--weights", *weights);
  options.normalize = args.Has("--normalize");
  if (const auto count = args.GetUint("--count")) options.count = ReadCount("--count", *count);
  if (!args.operands().empty()) options.plan = args.operands()[0];
  if (options.count && options.plan) {
    throw UsageError("usage.conflict", Cat("--count reads no plan, but ", Quote(*options.plan), " is given"));
  }
  return options;
}

}  // namespace ck::coeffs
