#include "libs/coefficients/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/coefficients/mersenne_twister.h"
#include "libs/json/value.h"

namespace ck::coefficients {
namespace {

template <typename F>
std::string IdOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id();
  }
  return "none";
}

json::Value ReadGolden() {
  std::ifstream file("testdata/golden/coefficients.json", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return json::Parse(text);
}

TEST(Schedule, EqualsTheGoldenListsBitForBit) {
  const json::Value golden = ReadGolden();
  const json::Array& cases = *golden.AsObject()->Find("cases")->AsArray();
  ASSERT_EQ(cases.size(), 144u);
  for (const json::Value& value : cases) {
    const json::Object& c = *value.AsObject();
    const std::string& style = *c.Find("style")->AsString();
    const std::string& seed = *c.Find("seed")->AsString();
    const json::Array& expected = *c.Find("weights")->AsArray();
    const std::vector<double> weights = Schedule(style, *c.Find("n")->AsUint(), seed);
    ASSERT_EQ(weights.size(), expected.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_EQ(weights[i], std::strtod(expected[i].AsString()->c_str(), nullptr)) << style << " " << seed << " " << i;
    }
  }
}

// COEF-04: large weights belong to the oldest checkpoint.
TEST(Schedule, MinusSqrtFallsFromOldestToNewest) {
  const struct {
    uint64_t count;
    std::vector<double> expected;
  } kCases[] = {
      {1, {1}},
      {2, {0.7071067812, 0.2928932188}},
      {3, {0.5773502692, 0.2391463117, 0.1835034191}},
      {4, {0.5, 0.2071067812, 0.1589186226, 0.1339745962}},
  };
  for (const auto& c : kCases) {
    const std::vector<double> weights = Schedule("minus-sqrt", c.count);
    ASSERT_EQ(weights.size(), c.count);
    for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(weights[i], c.expected[i], 1e-10);
    const std::vector<double> reversed = Schedule("minus-sqrt__reverse", c.count);
    EXPECT_EQ(std::vector<double>(reversed.rbegin(), reversed.rend()), weights);
  }
  EXPECT_EQ(Schedule("linear", 4), std::vector<double>(4, 0.25));
}

TEST(Schedule, EveryStyleSumsToOneAndIsAPermutationOfItsBase) {
  for (const std::string& style : StyleNames()) {
    for (const uint64_t count : {1u, 2u, 17u, 1000u}) {
      std::vector<double> weights = Schedule(style, count, "7");
      EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-12) << style;
      std::vector<double> base = Schedule(style.substr(0, style.find("__")), count);
      std::sort(weights.begin(), weights.end());
      std::sort(base.begin(), base.end());
      EXPECT_EQ(weights, base) << style;
    }
  }
}

TEST(Schedule, TheSignOfASeedDoesNotCountButItsHighWordsDo) {
  const std::string big = "123456789012345678901234567890";
  const auto scramble = [](const std::string& seed) { return Schedule("minus-sqrt__scramble", 50, seed); };
  EXPECT_EQ(scramble(big), scramble("-" + big));
  EXPECT_EQ(scramble("5"), scramble("005"));
  EXPECT_EQ(scramble("0"), scramble("-0"));
  EXPECT_NE(scramble("5"), scramble("6"));
  EXPECT_NE(scramble("5"), scramble("18446744073709551621"));  // 2^64 + 5
}

TEST(Schedule, Refuses) {
  EXPECT_EQ(IdOf([] { Schedule("linear", 0); }), "coeffs.bad_count");
  EXPECT_EQ(IdOf([] { Schedule("linear", kMaxCount + 1); }), "coeffs.bad_count");
  for (const char* style : {"", "Linear", "manual", "linear__", "minus_sqrt", "linear__reverse__scramble"}) {
    EXPECT_EQ(IdOf([&] { Schedule(style, 3); }), "coeffs.unknown_style") << style;
  }
  for (const std::string& seed : {std::string(), std::string("-"), std::string("+1"), std::string("1.0"),
                                  std::string("0x1"), std::string(" 1"), std::string(kMaxSeedDigits + 1, '1')}) {
    EXPECT_EQ(IdOf([&] { Schedule("linear", 3, seed); }), "coeffs.bad_seed") << seed;
  }
  EXPECT_EQ(Schedule("linear__scramble", 1, std::string(kMaxSeedDigits, '9')), std::vector<double>{1});
}

TEST(SeedWords, AreLittleEndian) {
  using internal::SeedWords;
  EXPECT_EQ(SeedWords("0"), std::vector<uint32_t>{0});
  EXPECT_EQ(SeedWords("-0000"), std::vector<uint32_t>{0});
  EXPECT_EQ(SeedWords("4294967295"), std::vector<uint32_t>{0xffffffff});
  EXPECT_EQ(SeedWords("4294967296"), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(SeedWords("-340282366920938463463374607431768211457"), (std::vector<uint32_t>{1, 0, 0, 0, 1}));
}

TEST(MersenneTwister, GivesTheReferenceSequence) {
  internal::MersenneTwister random({0x123, 0x234, 0x345, 0x456});
  for (const uint32_t expected : {1067595299u, 955945823u, 477289528u, 4107218783u, 4228976476u}) {
    EXPECT_EQ(random.Next(), expected);
  }
}

// COEF-01: nothing is normalised unless asked.
TEST(Normalize, DividesByThePlainSum) {
  EXPECT_EQ(Normalize({0.1, 1.0}), (std::vector<double>{0.1 / 1.1, 1.0 / 1.1}));
  EXPECT_EQ(Normalize({1.5, -0.5}), (std::vector<double>{1.5, -0.5}));
  EXPECT_EQ(Normalize({2}), std::vector<double>{1});
  const std::vector<double> weights = Normalize({0.1, 1.0});
  EXPECT_NEAR(weights[0] * 1.0 + weights[1] * 3.0, 31.0 / 11, 1e-15);
  for (const std::vector<double>& bad : {std::vector<double>{0, 0}, {1, -1}, {0.5, -1}, {1e308, 1e308}}) {
    EXPECT_EQ(IdOf([&] { Normalize(bad); }), "coeffs.bad_sum") << bad[0];
  }
  EXPECT_EQ(IdOf([] { Normalize({}); }), "coeffs.no_weights");
  EXPECT_EQ(IdOf([] { Normalize({1, NAN}); }), "coeffs.not_finite");
  EXPECT_EQ(IdOf([] { CheckWeights({-HUGE_VAL}); }), "coeffs.not_finite");
}

// COEF-03: "sums to 1" has a stated tolerance.
TEST(Warnings, SumsAndNegativeWeights) {
  const struct {
    std::vector<double> weights;
    size_t as_given;
    size_t normalized;
  } kCases[] = {
      {{0.7, 0.2, 0.1}, 0, 0},    {std::vector<double>(10, 0.1), 0, 0},
      {{0.33, 0.33, 0.33}, 1, 0}, {{0.5, 0.49}, 1, 0},
      {{0.1, 1.0}, 1, 0},         {{1.5, -0.5}, 1, 1},
      {{1.5, -0.6}, 2, 1},        {{0, 0}, 1, 0},
      {{1 + 0.9e-9}, 0, 0},       {{1 + 1.1e-9}, 1, 0},
      {{1 - 0.9e-9}, 0, 0},       {{1 - 1.1e-9}, 1, 0},
      {{1e308, 1e308}, 1, 0},     {{1, -0.0}, 0, 0},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(Warnings(c.weights, Normalized::kNo).size(), c.as_given) << c.weights[0];
    EXPECT_EQ(Warnings(c.weights, Normalized::kYes).size(), c.normalized) << c.weights[0];
  }
  EXPECT_EQ(Warnings({0.5, 0.49}, Normalized::kNo)[0].id, "coeffs.sum_not_one");
  EXPECT_EQ(Warnings({1.5, -0.5}, Normalized::kNo)[0].id, "coeffs.negative_weight");
  EXPECT_NE(Warnings({0.5, 0.49}, Normalized::kNo)[0].message.find("0.99"), std::string::npos);
  EXPECT_NE(Warnings({1.5, -0.5}, Normalized::kNo)[0].message.find("-0.5"), std::string::npos);
}

}  // namespace
}  // namespace ck::coefficients
