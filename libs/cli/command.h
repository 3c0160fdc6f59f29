// The command line of a tool as a table: parsed, checked and printed as help from the same rows.
//
// Names    are whole: no abbreviations; a near miss is suggested. A row lists its aliases, among them the flag names of
//          the programs that ck replaces, so that a script changes one word.
// Parsing  opens nothing and reads no environment. `--` ends the options; `-` is an operand. "--name value",
//          "--name=value", "-n value", "-nvalue".
// General  options (--help, --version, --quiet, --verbose, --error-format) belong to every tool; Parse adds them.
// Errors.  usage.unknown_option, usage.missing_value, usage.unexpected_value, usage.duplicate_option, usage.bad_value,
//          usage.missing_operand, usage.extra_operand (kUsage).
#ifndef CK_CLI_COMMAND_H_
#define CK_CLI_COMMAND_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ck::cli {

enum class Arity {
  kFlag,      // no value; repeating it changes nothing
  kOne,       // one value, at most once under all its names
  kRepeated,  // one value each time, any number of times
  kList,      // one or more values each time, any number of times: --merge-inputs A B C
};

enum class Shown { kYes, kNo };

struct Option {
  std::string name = {};                  // "--output": the one that messages and help use
  std::vector<std::string> aliases = {};  // "-o", "--merge-output"
  Arity arity = Arity::kFlag;
  std::string value = {};                 // "DIR": what help calls the value
  std::string help = {};                  // one sentence or two
  std::string group = {};                 // the heading in help; groups appear in the order of their first row
  std::vector<std::string> choices = {};  // the only values allowed; empty: any
  Shown shown = Shown::kYes;              // kNo: accepted, not in help
};

inline constexpr size_t kAnyNumber = static_cast<size_t>(-1);

struct Operands {
  std::string name = {};  // "PATH"; empty: none are taken
  size_t min_count = 0;
  size_t max_count = 0;  // kAnyNumber: no limit
};

struct ExitCode {
  int code = 0;
  std::string meaning = {};
};

struct Command {
  std::string tool = {};                // "ck-merge"
  std::string summary = {};             // one line: what it does
  std::vector<std::string> usage = {};  // lines after "usage: ", each with the tool's name
  std::string description = {};         // paragraphs, separated by empty lines; wrapped to the width
  Operands operands = {};
  std::vector<Option> options = {};
  std::vector<std::string> examples = {};
  std::vector<ExitCode> exit_codes = {};    // meanings special to the tool; "" for a code it never has
  std::vector<std::string> libraries = {};  // "zstd 1.5.4": what it links beside those of every tool, for --version
};

// What was given. Names are those of the table ("--output"); an unknown one is an InternalError.
class Args {
 public:
  bool Has(std::string_view option) const;
  // The name that the user wrote, e.g. "--merge-output"; the option's own name when it was not given.
  std::string NameUsed(std::string_view option) const;
  // The value of a kOne option.
  std::optional<std::string> Get(std::string_view option) const;
  std::string GetOr(std::string_view option, std::string_view fallback) const;
  std::optional<int64_t> GetInt(std::string_view option) const;
  std::optional<uint64_t> GetUint(std::string_view option) const;
  std::optional<double> GetDouble(std::string_view option) const;
  std::optional<uint64_t> GetBytes(std::string_view option) const;
  // Every value, in the order given; of any arity.
  const std::vector<std::string>& All(std::string_view option) const;
  const std::vector<std::string>& operands() const { return operands_; }

 private:
  friend Args Parse(const Command& command, const std::vector<std::string>& arguments);
  struct Given {
    bool given = false;
    std::string name_used;
    std::vector<std::string> values;
  };
  const Given& Find(std::string_view option) const;

  std::map<std::string, Given, std::less<>> options_;
  std::vector<std::string> operands_;
};

// `arguments` without the program's name.
Args Parse(const Command& command, const std::vector<std::string>& arguments);

// The options that every tool has.
std::vector<Option> GeneralOptions();

// One table of several.
std::vector<Option> Concat(const std::vector<std::vector<Option>>& tables);

// The text of --help, wrapped to `columns` (clamped to 60..100), with the exit codes.
std::string HelpText(const Command& command, int columns);
// "ck-merge 0.1.0" and one line per library.
std::string VersionText(const Command& command);

}  // namespace ck::cli

#endif  // CK_CLI_COMMAND_H_
