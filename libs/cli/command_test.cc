#include "libs/cli/command.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/cli/values.h"

namespace ck::cli {
namespace {

Command TestCommand() {
  return {
      .tool = "ck-test",
      .summary = "Tests the command line.",
      .usage = {"ck-test [OPTION]... [PATH]...", "ck-test --list"},
      .description = "First paragraph that goes\nover two lines.\n\nSecond paragraph.",
      .operands = {.name = "PATH", .min_count = 0, .max_count = 3},
      .options =
          {
              {.name = "--output",
               .aliases = {"-o", "--merge-output"},
               .arity = Arity::kOne,
               .value = "DIR",
               .help = "Where to."},
              {.name = "--style",
               .arity = Arity::kOne,
               .value = "S",
               .help = "How.",
               .choices = {"linear", "minus-sqrt"}},
              {.name = "--filter",
               .arity = Arity::kRepeated,
               .value = "GLOB",
               .help = "Only these.",
               .group = "Filters"},
              {.name = "--merge-inputs", .arity = Arity::kList, .value = "PATH", .help = "Inputs.", .group = "Filters"},
              {.name = "--dry-run", .aliases = {"-n"}, .help = "Write nothing."},
              {.name = "--ckpt-format", .arity = Arity::kOne, .value = "F", .help = "Ignored.", .shown = Shown::kNo},
          },
      .examples = {"ck-test A | ck-other"},
      .exit_codes = {{1, "the answer is no"}, {5, ""}},
      .libraries = {"zstd 1.5.4"},
  };
}

Args ParseText(const std::vector<std::string>& arguments) { return Parse(TestCommand(), arguments); }

TEST(Command, EverySpelling) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--output", "D"}, {"--output=D"}, {"-o", "D"}, {"-oD"}, {"--merge-output", "D"}, {"-noD"}}) {
    EXPECT_EQ(ParseText(arguments).Get("--output"), "D") << arguments[0];
  }
  EXPECT_EQ(ParseText({"--merge-output=D"}).NameUsed("--output"), "--merge-output");
  EXPECT_EQ(ParseText({"-oD"}).NameUsed("--output"), "-o");
  EXPECT_EQ(ParseText({}).NameUsed("--output"), "--output");
}

TEST(Command, OperandsKeepTheirOrder) {
  const Args args = ParseText({"a", "--style", "linear", "-", "-n", "b:0.5"});
  EXPECT_EQ(args.operands(), (std::vector<std::string>{"a", "-", "b:0.5"}));
  EXPECT_TRUE(args.Has("--dry-run"));
  EXPECT_EQ(ParseText({"--", "--output", "-x"}).operands(), (std::vector<std::string>{"--output", "-x"}));
  EXPECT_EQ(ParseText({""}).operands(), (std::vector<std::string>{""}));
}

TEST(Command, ListsAndRepeats) {
  const Args args = ParseText(
      {"--merge-inputs", "A:0.5", "B:-0.5", "--filter", "x*", "--filter=y", "--merge-inputs", "C:1", "--", "D"});
  EXPECT_EQ(args.All("--merge-inputs"), (std::vector<std::string>{"A:0.5", "B:-0.5", "C:1"}));
  EXPECT_EQ(args.All("--filter"), (std::vector<std::string>{"x*", "y"}));
  EXPECT_EQ(args.operands(), std::vector<std::string>{"D"});
}

TEST(Command, ValuesMayLookNegativeOrBeEmpty) {
  EXPECT_EQ(ParseText({"--output", "-0.5,1"}).Get("--output"), "-0.5,1");
  EXPECT_EQ(ParseText({"--output=-0.5"}).Get("--output"), "-0.5");
  EXPECT_EQ(ParseText({"--output=--dry-run"}).Get("--output"), "--dry-run");
  EXPECT_EQ(ParseText({"--output", ""}).Get("--output"), "");
  EXPECT_EQ(ParseText({"--output", "a=b"}).Get("--output"), "a=b");
}

TEST(Command, AFlagMayBeRepeated) { EXPECT_TRUE(ParseText({"-n", "--dry-run"}).Has("--dry-run")); }

TEST(Command, UsageErrors) {
  const struct {
    std::vector<std::string> arguments;
    const char* id;
    const char* message;
  } kCases[] = {
      {{"--outptu", "D"}, "usage.unknown_option", "unknown option '--outptu'; did you mean --output?"},
      {{"--outp", "D"}, "usage.unknown_option", "unknown option '--outp'; did you mean --output?"},
      {{"--merge-in", "D"}, "usage.unknown_option", "unknown option '--merge-in'; did you mean --merge-inputs?"},
      {{"--zzz=1"}, "usage.unknown_option", "unknown option '--zzz'"},
      {{"-x"}, "usage.unknown_option", "unknown option '-x'"},
      {{"-nx"}, "usage.unknown_option", "unknown option '-nx'"},
      {{"--outptu=D"}, "usage.unknown_option", "unknown option '--outptu'; did you mean --output?"},
      {{"-1"}, "usage.unknown_option", "unknown option '-1'"},
      {{"--ckpt-formta", "x"}, "usage.unknown_option", "unknown option '--ckpt-formta'"},
      {{"--output"}, "usage.missing_value", "option '--output' needs a value"},
      {{"--output", "--dry-run"}, "usage.missing_value", "option '--output' needs a value"},
      {{"--output", "--"}, "usage.missing_value", "option '--output' needs a value"},
      {{"-o", "-n"}, "usage.missing_value", "option '-o' needs a value"},
      {{"--output="}, "usage.missing_value", "option '--output' needs a value"},
      {{"-o"}, "usage.missing_value", "option '-o' needs a value"},
      {{"--merge-inputs", "--dry-run"}, "usage.missing_value", "option '--merge-inputs' needs a value"},
      {{"--dry-run=yes"}, "usage.unexpected_value", "option '--dry-run' takes no value"},
      {{"--output", "A", "--output", "B"}, "usage.duplicate_option", "option --output is given twice"},
      {{"-oA", "--merge-output", "B"}, "usage.duplicate_option", "options -o and --merge-output are the same one"},
      {{"--style", "linaer"},
       "usage.bad_value",
       "value of --style is 'linaer', expected one of linear, minus-sqrt; did you mean linear?"},
      {{"a", "b", "c", "d"}, "usage.extra_operand", "unexpected argument 'd': at most 3 PATH expected"},
  };
  for (const auto& c : kCases) {
    try {
      ParseText(c.arguments);
      ADD_FAILURE() << "no error for " << c.message;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), c.id) << c.message;
      EXPECT_EQ(error.message(), c.message);
      EXPECT_EQ(error.code(), Code::kUsage);
    }
  }
}

TEST(Command, OperandCounts) {
  Command command = TestCommand();
  command.operands = {.name = "OUT", .min_count = 1, .max_count = 1};
  try {
    Parse(command, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "usage.missing_operand");
    EXPECT_EQ(error.message(), "missing OUT: 0 given, at least 1 expected");
  }
  command.operands = {};
  try {
    Parse(command, {"x"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "unexpected argument 'x'");
  }
}

TEST(Command, MistakesInATableAreOurs) {
  Command command = TestCommand();
  command.options.push_back({.name = "--quiet"});
  EXPECT_THROW(Parse(command, {}), Error);
  EXPECT_THROW(ParseText({}).Has("--no-such"), Error);
  EXPECT_THROW(ParseText({"--filter", "a", "--filter", "b"}).Get("--filter"), Error);
}

TEST(Command, Help) {
  EXPECT_EQ(HelpText(TestCommand(), 80),
            R"(usage: ck-test [OPTION]... [PATH]...
       ck-test --list

Tests the command line.

First paragraph that goes over two lines.

Second paragraph.

Options:
  -o, --output DIR        Where to. [also --merge-output]
  --style S               How. (linear, minus-sqrt)
  -n, --dry-run           Write nothing.

Filters:
  --filter GLOB           Only these.
  --merge-inputs PATH...  Inputs.

General:
  -q, --quiet             No notes on stderr; warnings and errors stay.
  -v, --verbose           More notes on stderr.
  --error-format FORMAT   How errors, warnings and notes are printed: a line of
                          text, or of JSON. (text, json)
  -h, --help              Print this text.
  --version               Print the version, and those of the libraries.

Examples:
  ck-test A | ck-other

Exit codes:
  0       done
  1       the answer is no
  2       the command line is wrong
  3       input is bad, unsafe, or does not fit the request
  4       cannot read or write, disk full, stdout failed
  70      a bug in ck
  128+n   ended by signal n
)");
}

TEST(Command, Version) {
  const std::string text = VersionText(TestCommand());
  EXPECT_EQ(text.find("ck-test 0.1.0\nBoost 1."), 0u) << text;
  EXPECT_NE(text.find("\nRapidJSON 1."), std::string::npos) << text;
  EXPECT_NE(text.find("\nzstd 1.5.4\n"), std::string::npos) << text;
}

TEST(Values, Bytes) {
  const struct {
    const char* text;
    std::optional<uint64_t> bytes;
  } kCases[] = {
      {"0", 0},
      {"5000000000", 5000000000},
      {"5GB", 5000000000},
      {"5gb", 5000000000},
      {"5GiB", 5368709120},
      {"1.5KiB", 1536},
      {"0.001kB", 1},
      {"12B", 12},
      {"18446744073709551615", UINT64_MAX},
      {"18446744073709551616", std::nullopt},
      {"16384PiB", std::nullopt},
      {"16383PiB", uint64_t{16383} << 50},
      {"0.0001kB", std::nullopt},
      {"1.GB", std::nullopt},
      {".5GB", std::nullopt},
      {"5G", std::nullopt},
      {"5 GB", std::nullopt},
      {"-1", std::nullopt},
      {"1,5GB", std::nullopt},
      {"", std::nullopt},
      {"GB", std::nullopt},
      {"1.00000000000000000000B", std::nullopt},
  };
  for (const auto& c : kCases) EXPECT_EQ(ParseBytes(c.text), c.bytes) << c.text;
}

TEST(Values, BadValuesNameTheOption) {
  const auto message_of = [](auto function) -> std::string {
    try {
      function();
    } catch (const Error& error) {
      return error.id() + " " + error.message();
    }
    return "no error";
  };
  EXPECT_EQ(ParseIntValue("--x", "-7"), -7);
  EXPECT_EQ(ParseDoubleValue("--x", "-0.25"), -0.25);
  EXPECT_EQ(message_of([] { ParseUintValue("--x", "-7"); }),
            "usage.bad_value value of --x is '-7', expected an integer of 0 or more");
  EXPECT_EQ(message_of([] { ParseIntValue("--x", "7.0"); }),
            "usage.bad_value value of --x is '7.0', expected an integer");
  EXPECT_EQ(message_of([] { ParseDoubleValue("--x", "0,5"); }),
            "usage.bad_value value of --x is '0,5', expected a number such as 0.25");
  EXPECT_EQ(message_of([] { ParseDoubleValue("--x", "1e999"); }),
            "usage.bad_value value of --x is '1e999', expected a finite number");
  EXPECT_EQ(message_of([] { ParseBytesValue("--x", "5G"); }),
            "usage.bad_value value of --x is '5G', expected a number of bytes such as 5000000000, 5GB or 4.5GiB");
}

}  // namespace
}  // namespace ck::cli
