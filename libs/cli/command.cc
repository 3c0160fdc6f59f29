#include "libs/cli/command.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <set>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/cli/values.h"

namespace ck::cli {

namespace po = boost::program_options;

namespace {

constexpr int kStyle = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

// Every name the user may write ("--output", "-o"), to its row.
using Names = std::map<std::string, const Option*, std::less<>>;

Names NamesOf(const std::vector<Option>& table) {
  Names names;
  for (const Option& option : table) {
    Check(names.emplace(option.name, &option).second, Cat("two options are named ", option.name));
    for (const std::string& alias : option.aliases) {
      Check(names.emplace(alias, &option).second, Cat("two options are named ", alias));
    }
  }
  return names;
}

bool IsLong(std::string_view name) { return StartsWith(name, "--"); }

// Boost's spelling: "output" for "--output", ",o" for "-o".
std::string BoostName(std::string_view name) {
  return IsLong(name) ? std::string(name.substr(2)) : Cat(',', name.substr(1));
}

// The key that Boost reports, as the user wrote it: "output" is "--output", "-o" stays.
std::string NameOfKey(const std::string& key) { return StartsWith(key, "-") ? key : "--" + key; }

// One description per name, so that what Boost reports is the name used.
void Describe(const Names& names, po::options_description& description) {
  for (const auto& [name, option] : names) {
    if (option->arity == Arity::kFlag) {
      description.add_options()(BoostName(name).c_str(), "");
      continue;
    }
    auto* value = po::value<std::vector<std::string>>();
    if (option->arity == Arity::kList) value->multitoken();
    description.add_options()(BoostName(name).c_str(), value, "");
  }
}

[[noreturn]] void ThrowUnknown(const std::string& token, const Names& names) {
  const std::string name = token.substr(0, token.find('='));
  std::vector<std::string> candidates;
  for (const auto& [candidate, option] : names) {
    if (IsLong(candidate) && option->shown == Shown::kYes) candidates.push_back(candidate);
  }
  std::string nearest = IsLong(name) ? NearestWord(name, candidates) : "";
  // An abbreviation is far from its word by distance.
  const auto whole =
      std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return StartsWith(c, name); });
  if (nearest.empty() && IsLong(name) && whole != candidates.end()) nearest = *whole;
  throw UsageError("usage.unknown_option",
                   Cat("unknown option ", Quote(name), nearest.empty() ? "" : Cat("; did you mean ", nearest, "?")));
}

[[noreturn]] void ThrowMissingValue(std::string_view name) {
  throw UsageError("usage.missing_value", Cat("option ", Quote(name), " needs a value"));
}

[[noreturn]] void ThrowSyntax(const po::invalid_command_line_syntax& error, const Names& names) {
  // Boost says "--o" for "-o".
  std::string name = error.get_option_name();
  if (names.count(name) == 0 && names.count(name.substr(1)) > 0) name.erase(0, 1);
  switch (error.kind()) {
    case po::invalid_syntax::extra_parameter:
      throw UsageError("usage.unexpected_value", Cat("option ", Quote(name), " takes no value"));
    case po::invalid_syntax::missing_parameter:
    case po::invalid_syntax::empty_adjacent_parameter:
      ThrowMissingValue(name);
    default:
      throw UsageError("usage.unknown_option", Cat("cannot read option ", Quote(name)));
  }
}

std::vector<po::option> RunBoost(const Names& names, const std::vector<std::string>& arguments) {
  po::options_description description;
  Describe(names, description);
  try {
    return po::command_line_parser(arguments).options(description).style(kStyle).run().options;
  } catch (const po::unknown_option& error) {
    ThrowUnknown(error.get_option_name(), names);
  } catch (const po::invalid_command_line_syntax& error) {
    ThrowSyntax(error, names);
  }
}

// Boost takes any next argument as a value; "--output --dry-run" lacks one. Such a value is written "--output=--x".
void CheckIsNoOption(const po::option& parsed, std::string_view name, const Names& names) {
  const bool adjacent = parsed.original_tokens.size() < 2;
  if (adjacent || parsed.value.empty()) return;
  const std::string& value = parsed.value[0];
  if (IsLong(value) || names.count(value) > 0) ThrowMissingValue(name);
}

void CheckChoice(const Option& option, std::string_view name, const std::string& value) {
  if (option.choices.empty() || std::count(option.choices.begin(), option.choices.end(), value) > 0) return;
  const std::string nearest = NearestWord(value, option.choices);
  throw UsageError("usage.bad_value",
                   Cat("value of ", name, " is ", Quote(value), ", expected one of ", Join(option.choices, ", "),
                       nearest.empty() ? "" : Cat("; did you mean ", nearest, "?")));
}

void CheckOperands(const Operands& operands, const std::vector<std::string>& given) {
  if (given.size() > operands.max_count) {
    const std::string& first = given[operands.max_count];
    throw UsageError("usage.extra_operand", operands.max_count == 0
                                                ? Cat("unexpected argument ", Quote(first))
                                                : Cat("unexpected argument ", Quote(first), ": at most ",
                                                      operands.max_count, " ", operands.name, " expected"));
  }
  if (given.size() < operands.min_count) {
    throw UsageError("usage.missing_operand", Cat("missing ", operands.name, ": ", given.size(), " given, at least ",
                                                  operands.min_count, " expected"));
  }
}

}  // namespace

std::vector<Option> Concat(const std::vector<std::vector<Option>>& tables) {
  std::vector<Option> all;
  for (const auto& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

Args Parse(const Command& command, const std::vector<std::string>& arguments) {
  const std::vector<Option> table = Concat({command.options, GeneralOptions()});
  const Names names = NamesOf(table);
  Args args;
  for (const Option& option : table) args.options_[option.name].name_used = option.name;
  for (const po::option& parsed : RunBoost(names, arguments)) {
    if (parsed.string_key.empty()) {
      args.operands_.insert(args.operands_.end(), parsed.value.begin(), parsed.value.end());
      continue;
    }
    const std::string name = NameOfKey(parsed.string_key);
    const Option& option = *names.at(name);
    Args::Given& given = args.options_[option.name];
    if (given.given && option.arity == Arity::kOne) {
      throw UsageError("usage.duplicate_option",
                       given.name_used == name ? Cat("option ", name, " is given twice")
                                               : Cat("options ", given.name_used, " and ", name, " are the same one"));
    }
    CheckIsNoOption(parsed, name, names);
    given.given = true;
    given.name_used = name;
    for (const std::string& value : parsed.value) {
      CheckChoice(option, name, value);
      given.values.push_back(value);
    }
  }
  CheckOperands(command.operands, args.operands_);
  return args;
}

const Args::Given& Args::Find(std::string_view option) const {
  const auto it = options_.find(option);
  Check(it != options_.end(), Cat("no option is named ", option));
  return it->second;
}

bool Args::Has(std::string_view option) const { return Find(option).given; }
std::string Args::NameUsed(std::string_view option) const { return Find(option).name_used; }
const std::vector<std::string>& Args::All(std::string_view option) const { return Find(option).values; }

std::optional<std::string> Args::Get(std::string_view option) const {
  const Given& given = Find(option);
  Check(given.values.size() <= 1, Cat("one value of ", option, " is asked for, it has ", given.values.size()));
  if (given.values.empty()) return std::nullopt;
  return given.values[0];
}

std::string Args::GetOr(std::string_view option, std::string_view fallback) const {
  return Get(option).value_or(std::string(fallback));
}

std::optional<int64_t> Args::GetInt(std::string_view option) const {
  const auto text = Get(option);
  if (!text) return std::nullopt;
  return ParseIntValue(NameUsed(option), *text);
}

std::optional<uint64_t> Args::GetUint(std::string_view option) const {
  const auto text = Get(option);
  if (!text) return std::nullopt;
  return ParseUintValue(NameUsed(option), *text);
}

std::optional<double> Args::GetDouble(std::string_view option) const {
  const auto text = Get(option);
  if (!text) return std::nullopt;
  return ParseDoubleValue(NameUsed(option), *text);
}

std::optional<uint64_t> Args::GetBytes(std::string_view option) const {
  const auto text = Get(option);
  if (!text) return std::nullopt;
  return ParseBytesValue(NameUsed(option), *text);
}

}  // namespace ck::cli
