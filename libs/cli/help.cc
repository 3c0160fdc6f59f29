#include <algorithm>
#include <boost/version.hpp>

#include "libs/base/text.h"
#include "libs/base/version.h"
#include "libs/cli/command.h"
#include "libs/json/value.h"

namespace ck::cli {

namespace {

constexpr size_t kMinColumns = 60;   // below, the option column leaves no room for words
constexpr size_t kMaxColumns = 100;  // above, lines are hard to read
constexpr size_t kOptionColumn = 26;

const std::vector<ExitCode>& StandardExitCodes() {
  static const std::vector<ExitCode> codes = {
      {0, "done"},
      {1, "ran correctly, the answer is no (findings)"},
      {2, "the command line is wrong"},
      {3, "input is bad, unsafe, or does not fit the request"},
      {4, "cannot read or write, disk full, stdout failed"},
      {5, "the target exists, or a plan does not match its inputs"},
      {70, "a bug in ck"},
  };
  return codes;
}

// Appends the words of `text`, wrapped, each line from column `indent` on. The first line starts where `out` stands:
// `used` columns of it are taken.
void AppendWrapped(std::string& out, std::string_view text, size_t indent, size_t used, size_t columns) {
  bool first = true;
  for (const std::string& word : Split(text, ' ')) {
    if (word.empty()) continue;
    if (!first && used + 1 + word.size() > columns) {
      out += Cat('\n', std::string(indent, ' '));
      used = indent;
    } else if (!first) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
    first = false;
  }
  out += '\n';
}

std::string NamesColumn(const Option& option) {
  std::vector<std::string> short_names, long_names = {option.name};
  for (const std::string& alias : option.aliases) (StartsWith(alias, "--") ? long_names : short_names).push_back(alias);
  short_names.insert(short_names.end(), long_names.begin(), long_names.begin() + 1);
  std::string text = Cat("  ", Join(short_names, ", "));
  if (option.arity != Arity::kFlag) text += Cat(' ', option.value);
  if (option.arity == Arity::kList) text += "...";
  return text;
}

// The help text with what the row says beside it: the choices and the other long names.
std::string Sentence(const Option& option) {
  std::string text = option.help;
  if (!option.choices.empty()) text += Cat(" (", Join(option.choices, ", "), ")");
  std::vector<std::string> others;
  for (const std::string& alias : option.aliases) {
    if (StartsWith(alias, "--")) others.push_back(alias);
  }
  if (!others.empty()) text += Cat(" [also ", Join(others, ", "), "]");
  return text;
}

void AppendOption(std::string& out, const Option& option, size_t columns) {
  const std::string names = NamesColumn(option);
  out += names;
  size_t used = names.size();
  if (used + 2 > kOptionColumn) {
    out += '\n';
    used = 0;
  }
  out += std::string(kOptionColumn - used, ' ');
  AppendWrapped(out, Sentence(option), kOptionColumn, kOptionColumn, columns);
}

void AppendOptions(std::string& out, const std::vector<Option>& table, size_t columns) {
  std::vector<std::string> groups;
  for (const Option& option : table) {
    if (std::count(groups.begin(), groups.end(), option.group) == 0) groups.push_back(option.group);
  }
  for (const std::string& group : groups) {
    std::string rows;
    for (const Option& option : table) {
      if (option.group == group && option.shown == Shown::kYes) AppendOption(rows, option, columns);
    }
    if (!rows.empty()) out += Cat('\n', group.empty() ? "Options" : group, ":\n", rows);
  }
}

void AppendExitCodes(std::string& out, const std::vector<ExitCode>& special, size_t columns) {
  out += "\nExit codes:\n";
  for (const ExitCode& standard : StandardExitCodes()) {
    const auto own =
        std::find_if(special.begin(), special.end(), [&](const ExitCode& e) { return e.code == standard.code; });
    const std::string& meaning = own == special.end() ? standard.meaning : own->meaning;
    if (meaning.empty()) continue;
    const std::string number = Cat("  ", standard.code);
    out += Cat(number, std::string(10 - number.size(), ' '));
    AppendWrapped(out, meaning, 10, 10, columns);
  }
  out += "  128+n   ended by signal n\n";
}

}  // namespace

std::vector<Option> GeneralOptions() {
  const std::string group = "General";
  return {
      {.name = "--quiet", .aliases = {"-q"}, .help = "No notes on stderr; warnings and errors stay.", .group = group},
      {.name = "--verbose", .aliases = {"-v"}, .help = "More notes on stderr.", .group = group},
      {.name = "--error-format",
       .arity = Arity::kOne,
       .value = "FORMAT",
       .help = "How errors, warnings and notes are printed: a line of text, or of JSON.",
       .group = group,
       .choices = {"text", "json"}},
      {.name = "--help", .aliases = {"-h"}, .help = "Print this text.", .group = group},
      {.name = "--version", .help = "Print the version, and those of the libraries.", .group = group},
  };
}

std::string HelpText(const Command& command, int columns) {
  const size_t width = std::clamp(static_cast<size_t>(std::max(columns, 0)), kMinColumns, kMaxColumns);
  std::string out;
  for (size_t i = 0; i < command.usage.size(); ++i) out += Cat(i == 0 ? "usage: " : "       ", command.usage[i], '\n');
  out += '\n';
  AppendWrapped(out, command.summary, 0, 0, width);
  if (!command.description.empty()) {
    std::string paragraph;
    for (const std::string& line : Split(Cat(command.description, "\n"), '\n')) {
      if (!line.empty()) {
        paragraph += Cat(line, ' ');
      } else if (!paragraph.empty()) {
        out += '\n';
        AppendWrapped(out, paragraph, 0, 0, width);
        paragraph.clear();
      }
    }
  }
  AppendOptions(out, Concat({command.options, GeneralOptions()}), width);
  if (!command.examples.empty()) {
    out += "\nExamples:\n";
    for (const std::string& example : command.examples) out += Cat("  ", example, '\n');
  }
  AppendExitCodes(out, command.exit_codes, width);
  return out;
}

std::string VersionText(const Command& command) {
  std::string out = Cat(command.tool, ' ', kVersion, '\n');
  out += Cat("Boost ", BOOST_VERSION / 100000, '.', BOOST_VERSION / 100 % 1000, '.', BOOST_VERSION % 100, '\n');
  out += Cat(json::LibraryVersion(), '\n');
  for (const std::string& library : command.libraries) out += Cat(library, '\n');
  return out;
}

}  // namespace ck::cli
