#include "libs/megatron/pattern.h"

#include <algorithm>
#include <array>
#include <optional>

#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::megatron {
namespace {

struct SymbolRow {
  Family family;
  char symbol;
  std::string_view name;
};

constexpr std::array<SymbolRow, 7> kSymbols = {{{Family::kMamba, 'M', "mamba"},
                                                {Family::kGatedDelta, 'G', "gdn"},
                                                {Family::kAttention, '*', "attention"},
                                                {Family::kSparseAttention, 'D', "dsa"},
                                                {Family::kLatentAttention, '+', "mla"},
                                                {Family::kMlp, '-', "mlp"},
                                                {Family::kMoe, 'E', "moe"}}};

std::optional<Family> FamilyOf(char symbol) {
  for (const SymbolRow& row : kSymbols) {
    if (row.symbol == symbol) return row.family;
  }
  return std::nullopt;
}

bool IsMlp(Family family) { return family == Family::kMlp || family == Family::kMoe; }
bool IsLatent(Family family) { return family == Family::kSparseAttention || family == Family::kLatentAttention; }

[[noreturn]] void Fail(const char* id, size_t column, const std::string& what) {
  throw InputError(id, Cat("pattern, column ", column, ": ", what));
}

[[noreturn]] void FailSymbol(size_t column, char symbol) {
  const std::string found = Quote(std::string_view(&symbol, 1));
  if (symbol == '[' || symbol == ']') Fail("pattern.unknown_symbol", column, Cat("brackets, as ", found, ", are not supported; write the symbols out"));
  if (symbol == ' ' || symbol == '\t') Fail("pattern.unknown_symbol", column, "white space is no part of a pattern");
  const char upper = symbol >= 'a' && symbol <= 'z' ? static_cast<char>(symbol - 'a' + 'A') : symbol;
  const std::string hint = upper != symbol && FamilyOf(upper) ? Cat(" (did you mean '", upper, "'?)") : "";
  Fail("pattern.unknown_symbol", column, Cat("found ", found, ", expected one of M G * D - E + | /", hint));
}

void CheckSize(std::string_view text) {
  if (text.size() <= kMaxPatternBytes) return;
  throw InputError("pattern.too_long", Cat("the pattern has ", text.size(), " characters, at most ", kMaxPatternBytes, " are read"));
}

// Megatron refuses '*' beside 'D' or '+' within the main part and within an MTP part.
void CheckAttention(std::string_view part, size_t first_column) {
  std::optional<Family> first;
  for (size_t i = 0; i < part.size(); ++i) {
    const auto family = FamilyOf(part[i]);
    if (!family || (*family != Family::kAttention && !IsLatent(*family))) continue;
    if (!first) first = family;
    if (IsLatent(*first) != IsLatent(*family)) {
      Fail("pattern.mixed_attention", first_column + i, Cat("'", part[i], "' cannot stand in one model with '", Symbol(*first), "'"));
    }
  }
}

void ReadMain(std::string_view part, Pattern& out) {
  std::array<uint64_t, kSymbols.size()> seen{};
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '|') {
      ++out.segments;
      continue;
    }
    const auto family = FamilyOf(part[i]);
    if (!family) FailSymbol(i + 1, part[i]);
    out.layers.push_back({.family = *family, .column = i + 1, .segment = out.segments - 1, .family_index = seen[static_cast<size_t>(*family)]++});
  }
  CheckAttention(part, 1);
}

void ReadMtpPart(std::string_view part, size_t first_column) {
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '|') Fail("pattern.mtp_segment", first_column + i, "'|' stands in an MTP part; only the main part has pipeline segments");
    if (!FamilyOf(part[i])) FailSymbol(first_column + i, part[i]);
  }
  CheckAttention(part, first_column);
}

// `rest` begins with the first '/', at `column`.
void ReadMtp(std::string_view rest, size_t column, Pattern& out) {
  const std::vector<std::string> parts = Split(rest.substr(1), '/');
  if (std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); })) return;
  size_t at = column + 1;
  for (const std::string& part : parts) {
    ReadMtpPart(part, at);
    if (part != parts[0]) {
      Fail("pattern.mtp_differs", at, Cat("MTP part ", Quote(part), " differs from the first, ", Quote(parts[0]), "; all must be identical"));
    }
    at += part.size() + 1;
  }
  out.mtp = parts[0];
  out.mtp_depth = parts.size();
  out.mtp_column = column;
}

// The columns of some layers, for messages about many: "1, 4, 7 and 20 more".
std::string Columns(const std::vector<size_t>& columns) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown;
  for (size_t i = 0; i < columns.size() && i < kShown; ++i) shown.push_back(Cat(columns[i]));
  std::string out = Cat(columns.size() == 1 ? "column " : "columns ", Join(shown, ", "));
  if (columns.size() > kShown) out += Cat(" and ", columns.size() - kShown, " more");
  return out;
}

// The first layer whose MLP kind is not that of the first MLP.
const PatternLayer* FindMixedMlp(const Pattern& pattern) {
  const PatternLayer* first = nullptr;
  for (const PatternLayer& layer : pattern.layers) {
    if (!IsMlp(layer.family)) continue;
    if (!first) first = &layer;
    if (first->family != layer.family) return &layer;
  }
  return nullptr;
}

// The first layer that breaks the alternation attention, MLP, attention, ...; Mamba layers stand aside.
const PatternLayer* FindReordered(const Pattern& pattern) {
  bool attention_next = true;
  for (const PatternLayer& layer : pattern.layers) {
    if (layer.family == Family::kMamba) continue;
    if ((layer.family == Family::kAttention) != attention_next) return &layer;
    attention_next = !attention_next;
  }
  return nullptr;
}

// The column where pairs end: the first surplus symbol, or the end of the text.
size_t UnpairedColumn(const Pattern& pattern, uint64_t pairs) {
  uint64_t attention = 0, mlp = 0;
  for (const PatternLayer& layer : pattern.layers) {
    if (layer.family == Family::kAttention && ++attention > pairs) return layer.column;
    if (IsMlp(layer.family) && ++mlp > pairs) return layer.column;
  }
  return pattern.text.size();
}

}  // namespace

char Symbol(Family family) { return kSymbols[static_cast<size_t>(family)].symbol; }
std::string_view Name(Family family) { return kSymbols[static_cast<size_t>(family)].name; }

std::string Pattern::Symbols() const {
  std::string out;
  for (const PatternLayer& layer : layers) out.push_back(Symbol(layer.family));
  return out;
}

uint64_t Pattern::Count(Family family) const {
  return static_cast<uint64_t>(std::count_if(layers.begin(), layers.end(), [&](const PatternLayer& layer) { return layer.family == family; }));
}

Pattern ParsePattern(std::string_view text) {
  CheckSize(text);
  Pattern out;
  out.text = text;
  const size_t slash = std::min(text.find('/'), text.size());
  ReadMain(text.substr(0, slash), out);
  if (slash < text.size()) ReadMtp(text.substr(slash), slash + 1, out);
  if (out.layers.empty()) Fail("pattern.empty", 1, "the pattern has no layer");
  return out;
}

std::vector<PatternFault> CheckGptPattern(const Pattern& pattern, Reorder reorder) {
  std::vector<PatternFault> out;
  const auto add = [&](const char* id, size_t column, const std::string& what) { out.push_back({id, Cat("pattern ", Quote(pattern.text), ", column ", column, ": ", what)}); };
  if (pattern.mtp_depth > 0) {
    add("pattern.mtp", pattern.mtp_column, Cat("the part after '/' asks for Multi-Token Prediction (MTP) layers, which have no GPT source"));
  }
  std::vector<size_t> foreign;
  std::string symbols;
  for (const PatternLayer& layer : pattern.layers) {
    if (layer.family != Family::kGatedDelta && !IsLatent(layer.family)) continue;
    foreign.push_back(layer.column);
    if (symbols.find(Symbol(layer.family)) == std::string::npos) symbols += Cat(symbols.empty() ? "'" : ", '", Symbol(layer.family), "'");
  }
  if (!foreign.empty()) {
    add("pattern.not_gpt", foreign[0], Cat(symbols, " (", Columns(foreign), ") cannot be translated: such layers have no counterpart in a GPT model; * - E M can"));
  }
  if (const PatternLayer* mixed = FindMixedMlp(pattern)) {
    add("pattern.mixed_mlp", mixed->column, "a GPT model has dense or MoE layers throughout: use one of '-' or 'E', not both");
  }
  const uint64_t attention = pattern.Count(Family::kAttention), mlp = pattern.Count(Family::kMlp) + pattern.Count(Family::kMoe);
  if (attention != mlp || attention == 0) {
    add("pattern.unpaired", UnpairedColumn(pattern, std::min(attention, mlp)),
        Cat(attention, " attention layers (*) and ", mlp, " MLP layers (- or E); their numbers must be equal and not zero, one pair per GPT layer"));
  } else if (const PatternLayer* reordered = FindReordered(pattern); reordered && foreign.empty() && reorder == Reorder::kRefuse) {
    add("pattern.reordered", reordered->column,
        Cat("'", Symbol(reordered->family), "' breaks the order attention, MLP, attention, ...: the weights pair up, but the model computes another function; --allow-reorder accepts that"));
  }
  return out;
}

GptLayers MapGptLayers(const Pattern& pattern) {
  GptLayers out;
  for (uint64_t i = 0; i < pattern.layers.size(); ++i) {
    const Family family = pattern.layers[i].family;
    if (family == Family::kAttention) out.attention.push_back(i);
    if (IsMlp(family)) out.mlp.push_back(i);
    if (family == Family::kMamba) out.mamba.push_back(i);
  }
  Check(out.attention.size() == out.mlp.size(), "a GPT pattern pairs attention with MLP");
  return out;
}

}  // namespace ck::megatron
