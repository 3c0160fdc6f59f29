#include "libs/megatron/pattern.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"

namespace ck::megatron {
namespace {

using Indices = std::vector<uint64_t>;

// "id: message" of the refusal, "" when the pattern is accepted.
std::string Refusal(std::string_view text) {
  try {
    ParsePattern(text);
    return "";
  } catch (const Error& error) {
    return Cat(error.id(), ": ", error.message());
  }
}

std::string FaultIds(std::string_view text, Reorder reorder = Reorder::kRefuse) {
  std::vector<std::string> ids;
  for (const PatternFault& fault : CheckGptPattern(ParsePattern(text), reorder)) ids.push_back(fault.id);
  return Join(ids, " ");
}

TEST(ParsePattern, SymbolsOfTheMainPart) {
  const struct {
    const char *text, *symbols, *mtp;
    uint64_t segments, depth;
  } cases[] = {
      {"M*-M*-", "M*-M*-", "", 1, 0},
      {"MMMM", "MMMM", "", 1, 0},
      {"****", "****", "", 1, 0},
      {"M*-M*-/MM/MM", "M*-M*-", "MM", 1, 2},
      {"M*-|M*-", "M*-M*-", "", 2, 0},
      {"M*-|M*-/MM/MM", "M*-M*-", "MM", 2, 2},
      {"M*-EG", "M*-EG", "", 1, 0},
      {"+-D-", "+-D-", "", 1, 0},
      {"*-/", "*-", "", 1, 0},
      {"*-//", "*-", "", 1, 0},
      {"||*-|", "*-", "", 4, 0},  // empty segments are stages without layers
      {"*-/D", "*-", "D", 1, 1},  // the parts are checked separately
  };
  for (const auto& c : cases) {
    const Pattern pattern = ParsePattern(c.text);
    EXPECT_EQ(pattern.Symbols(), c.symbols) << c.text;
    EXPECT_EQ(pattern.mtp, c.mtp) << c.text;
    EXPECT_EQ(pattern.segments, c.segments) << c.text;
    EXPECT_EQ(pattern.mtp_depth, c.depth) << c.text;
  }
}

TEST(ParsePattern, LayersKnowTheirColumnSegmentAndPlaceInTheFamily) {
  const Pattern pattern = ParsePattern("M*|-M*");
  const Family families[] = {Family::kMamba, Family::kAttention, Family::kMlp, Family::kMamba, Family::kAttention};
  const uint64_t columns[] = {1, 2, 4, 5, 6}, segments[] = {0, 0, 1, 1, 1}, places[] = {0, 0, 0, 1, 1};
  ASSERT_EQ(pattern.layers.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(pattern.layers[i].family, families[i]) << i;
    EXPECT_EQ(pattern.layers[i].column, columns[i]) << i;
    EXPECT_EQ(pattern.layers[i].segment, segments[i]) << i;
    EXPECT_EQ(pattern.layers[i].family_index, places[i]) << i;
  }
}

TEST(ParsePattern, RefusesWithTheColumn) {
  const struct {
    const char *text, *refusal;
  } cases[] = {
      {"", "pattern.empty: pattern, column 1: the pattern has no layer"},
      {"|", "pattern.empty: pattern, column 1: the pattern has no layer"},
      {"/MM", "pattern.empty: pattern, column 1: the pattern has no layer"},
      {"M*X", "pattern.unknown_symbol: pattern, column 3: found 'X', expected one of M G * D - E + | /"},
      {"M*-m", "pattern.unknown_symbol: pattern, column 4: found 'm', expected one of M G * D - E + | / (did you mean 'M'?)"},
      {"M[*-]", "pattern.unknown_symbol: pattern, column 2: brackets, as '[', are not supported; write the symbols out"},
      {"M* -", "pattern.unknown_symbol: pattern, column 3: white space is no part of a pattern"},
      {"*-/Mx", "pattern.unknown_symbol: pattern, column 5: found 'x', expected one of M G * D - E + | /"},
      {"*-D-", "pattern.mixed_attention: pattern, column 3: 'D' cannot stand in one model with '*'"},
      {"+|-*", "pattern.mixed_attention: pattern, column 4: '*' cannot stand in one model with '+'"},
      {"*-/MM/M", "pattern.mtp_differs: pattern, column 7: MTP part 'M' differs from the first, 'MM'; all must be identical"},
      {"*-/MM/", "pattern.mtp_differs: pattern, column 7: MTP part '' differs from the first, 'MM'; all must be identical"},
      {"*-/M|M", "pattern.mtp_segment: pattern, column 5: '|' stands in an MTP part; only the main part has pipeline segments"},
  };
  for (const auto& c : cases) EXPECT_EQ(Refusal(c.text), c.refusal);
  EXPECT_EQ(Refusal(std::string(kMaxPatternBytes, 'M')), "");
  EXPECT_EQ(Refusal(std::string(kMaxPatternBytes + 1, 'M')), "pattern.too_long: the pattern has 100001 characters, at most 100000 are read");
}

TEST(CheckGptPattern, Whitelist) {
  for (const char* text : {"M*-M*-M*-", "*-*-*-", "M*EM*EM*E", "*E*E*E", "*M-", "M*-|M*-", "*-/"}) EXPECT_EQ(FaultIds(text), "") << text;
  const struct {
    const char *text, *ids;
  } refused[] = {
      {"MMMM", "pattern.unpaired"},
      {"M*-M*E", "pattern.mixed_mlp"},
      {"G*-*-", "pattern.not_gpt"},
      {"MD-", "pattern.not_gpt pattern.unpaired"},
      {"+-", "pattern.not_gpt pattern.unpaired"},
      {"M**-", "pattern.unpaired"},
      {"M**E", "pattern.unpaired"},
      {"*-/*-", "pattern.mtp"},
      {"M*-G/MM", "pattern.mtp pattern.not_gpt"},
      {"**--", "pattern.reordered"},
      {"-*", "pattern.reordered"},
      {"G**E-/MM", "pattern.mtp pattern.not_gpt pattern.mixed_mlp"},
      {"**E-/MM", "pattern.mtp pattern.mixed_mlp pattern.reordered"},
  };
  for (const auto& c : refused) EXPECT_EQ(FaultIds(c.text), c.ids) << c.text;
  EXPECT_EQ(FaultIds("**--", Reorder::kAllow), "");
  EXPECT_EQ(FaultIds("M**-", Reorder::kAllow), "pattern.unpaired");
}

TEST(CheckGptPattern, MessagesNameTheColumn) {
  const auto message = [](const char* text) { return CheckGptPattern(ParsePattern(text), Reorder::kRefuse).at(0).message; };
  EXPECT_EQ(message("M*-M*"), "pattern 'M*-M*', column 5: 2 attention layers (*) and 1 MLP layers (- or E); their numbers must be equal and not zero, one pair per GPT layer");
  EXPECT_EQ(message("M*-M*E"), "pattern 'M*-M*E', column 6: a GPT model has dense or MoE layers throughout: use one of '-' or 'E', not both");
  EXPECT_EQ(message("G*-G*-"), "pattern 'G*-G*-', column 1: 'G' (columns 1, 4) cannot be translated: such layers have no counterpart in a GPT model; * - E M can");
  EXPECT_EQ(message("*-/MM"), "pattern '*-/MM', column 3: the part after '/' asks for Multi-Token Prediction (MTP) layers, which have no GPT source");
  EXPECT_EQ(message("*M*--").substr(0, 66), "pattern '*M*--', column 3: '*' breaks the order attention, MLP, at");
}

TEST(MapGptLayers, PairsByOccurrence) {
  const struct {
    const char* text;
    Indices attention, mlp, mamba;
  } cases[] = {
      {"M*-M*-", {1, 4}, {2, 5}, {0, 3}}, {"*-*-*-", {0, 2, 4}, {1, 3, 5}, {}}, {"M*-|M*-", {1, 4}, {2, 5}, {0, 3}},
      {"M*EM*E", {1, 4}, {2, 5}, {0, 3}}, {"**--", {0, 1}, {2, 3}, {}},
  };
  for (const auto& c : cases) {
    const GptLayers layers = MapGptLayers(ParsePattern(c.text));
    EXPECT_EQ(layers.attention, c.attention) << c.text;
    EXPECT_EQ(layers.mlp, c.mlp) << c.text;
    EXPECT_EQ(layers.mamba, c.mamba) << c.text;
  }
}

TEST(MapGptLayers, ManyLayers) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "M*-";
  const GptLayers layers = MapGptLayers(ParsePattern(text));
  ASSERT_EQ(layers.attention.size(), 200u);
  EXPECT_EQ(layers.attention[199], 598u);
  EXPECT_EQ(layers.mlp[199], 599u);
}

TEST(SameLayers, LooksAtLayersOnly) {
  EXPECT_TRUE(SameLayers(ParsePattern("M*-|M*-"), ParsePattern("M*-M*-")));
  EXPECT_FALSE(SameLayers(ParsePattern("M*-M*-"), ParsePattern("M*-M*E")));
}

}  // namespace
}  // namespace ck::megatron
