#include "libs/compare/compare.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/safetensors/header.h"

namespace ck::compare {
namespace {

namespace stdfs = std::filesystem;
using checkpoint::Checkpoint;

struct Content {
  DType dtype;
  Dims shape;
  std::string bytes;
};
using Model = std::map<std::string, Content>;

// One model.safetensors, written by the test.
std::shared_ptr<const Checkpoint> Write(const std::string& directory, const Model& model) {
  std::vector<safetensors::Tensor> tensors, placed;
  for (const auto& [name, content] : model) tensors.push_back({.name = name, .dtype = content.dtype, .shape = content.shape});
  std::string file = safetensors::WriteHeader(tensors, {{"format", "pt"}}, placed);
  for (const safetensors::Tensor& tensor : placed) file += model.at(tensor.name).bytes;
  stdfs::create_directories(directory);
  std::ofstream(fs::JoinPath(directory, "model.safetensors"), std::ios::binary) << file;
  return Checkpoint::Open(directory);
}

template <typename T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

Content F32(const Dims& shape, const std::vector<float>& values) { return {DType::kF32, shape, Bytes(values)}; }

class CompareTest : public testing::Test {
 protected:
  Comparison Between(const Model& checked, const Model& reference, const Options& options = {}) {
    ++number_;
    return Compare(Write(scratch_ / Cat("a", number_), checked), Write(scratch_ / Cat("b", number_), reference), options);
  }

  // "id severity; id severity"
  static std::string Ids(const Comparison& comparison) {
    std::vector<std::string> out;
    for (const plan::Finding& finding : comparison.findings) out.push_back(finding.severity == plan::Severity::kError ? finding.id : finding.id + " (warning)");
    return Join(out, "; ");
  }

  fs::TestDirectory scratch_;
  int number_ = 0;
};

TEST_F(CompareTest, EqualModelsHaveNoFinding) {
  const Model model = {{"w", F32({2, 3}, {0, 1, 2, 10, 11, 12})}, {"empty", F32({0, 7}, {})}, {"scalar", F32({}, {5})}};
  const Comparison comparison = Between(model, model);
  EXPECT_EQ(Ids(comparison), "");
  EXPECT_EQ(comparison.tensors, 3u);
  EXPECT_EQ(comparison.elements, 7u);
}

TEST_F(CompareTest, NamesTheFirstElementBothValuesAndTheCount) {
  const Comparison comparison = Between({{"w", F32({2, 3}, {0, 1, 2, 10, 11.5, 15})}}, {{"w", F32({2, 3}, {0, 1, 2, 10, 11, 12})}});
  ASSERT_EQ(Ids(comparison), "compare.values_differ");
  const plan::Finding& finding = comparison.findings[0];
  EXPECT_EQ(finding.where, "w");
  EXPECT_EQ(finding.found, "11.5");
  EXPECT_EQ(finding.expected, "11.0");
  EXPECT_NE(finding.message.find("2 of 6 elements, first at [1, 1]: 11.5 in "), std::string::npos) << finding.message;
  EXPECT_NE(finding.message.find("largest difference 3.0 at [1, 2]"), std::string::npos) << finding.message;
  EXPECT_EQ(comparison.different_elements, 2u);
  EXPECT_EQ(comparison.different_tensors, 1u);
}

TEST_F(CompareTest, NamesShapesAndDtypes) {
  const Model reference = {{"a", F32({2}, {1, 2})}, {"b", F32({2}, {1, 2})}, {"c", F32({1, 2}, {1, 2})}, {"d", F32({1}, {1})}};
  const Model checked = {{"b", F32({2}, {1, 2})}, {"c", F32({2, 1}, {1, 2})}, {"d", {DType::kF64, {1}, Bytes<double>({1})}}, {"e", F32({1}, {1})}};
  EXPECT_EQ(Ids(Between(checked, reference)), "compare.missing_tensor; compare.shape_differs; compare.dtype_differs; compare.extra_tensor");
  EXPECT_EQ(Ids(Between(checked, reference, {.atol = 1e-9})), "compare.missing_tensor; compare.shape_differs; compare.dtype_differs (warning); compare.extra_tensor");
}

TEST_F(CompareTest, TolerancesAreOfTheReference) {
  const auto within = [&](float a, float b, double atol, double rtol) { return Ids(Between({{"w", F32({1}, {a})}}, {{"w", F32({1}, {b})}}, {.atol = atol, .rtol = rtol})) == ""; };
  EXPECT_TRUE(within(1.5F, 1.0F, 0.5, 0));
  EXPECT_FALSE(within(1.5F, 1.0F, 0.4999, 0));
  EXPECT_TRUE(within(2.0F, 4.0F, 0, 0.5));
  EXPECT_FALSE(within(4.0F, 2.0F, 0, 0.5));  // half of the reference is 1
  EXPECT_TRUE(within(0.0F, -0.0F, 1e-30, 0));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(within(infinity, infinity, 1, 1));
  EXPECT_FALSE(within(infinity, 1.0F, 1, 1));
  EXPECT_FALSE(within(1.0F, infinity, 1, 1));
  EXPECT_FALSE(within(std::nanf(""), 1.0F, 1e30, 1));
}

TEST_F(CompareTest, TolerancesCompareAcrossDtypes) {
  const Model wide = {{"w", F32({3}, {1, 2, 3.0078125F})}};
  const Model narrow = {{"w", {DType::kBF16, {3}, Bytes<uint16_t>({0x3F80, 0x4000, 0x4040})}}};
  EXPECT_EQ(Ids(Between(narrow, wide, {.atol = 0.01})), "compare.dtype_differs (warning)");
  EXPECT_EQ(Ids(Between(narrow, wide, {.atol = 0.001})), "compare.dtype_differs (warning); compare.values_differ");
}

TEST_F(CompareTest, ExactMeansTheBits) {
  EXPECT_EQ(Ids(Between({{"w", F32({1}, {0.0F})}}, {{"w", F32({1}, {-0.0F})}})), "compare.values_differ");
  const Model quiet = {{"w", F32({1}, {std::bit_cast<float>(0x7FC00000u)})}}, other = {{"w", F32({1}, {std::bit_cast<float>(0x7FC00001u)})}};
  EXPECT_EQ(Ids(Between(quiet, quiet)), "");
  EXPECT_EQ(Ids(Between(quiet, other)), "compare.values_differ");
  EXPECT_EQ(Ids(Between(quiet, other, {.nan = NanPolicy::kAnyEqual})), "");
  EXPECT_EQ(Ids(Between(quiet, {{"w", F32({1}, {1})}}, {.nan = NanPolicy::kAnyEqual})), "compare.values_differ");
  const Model big = {{"w", {DType::kI64, {1}, Bytes<int64_t>({(int64_t{1} << 60) + 1})}}}, bigger = {{"w", {DType::kI64, {1}, Bytes<int64_t>({(int64_t{1} << 60) + 2})}}};
  const Comparison integers = Between(big, bigger);
  ASSERT_EQ(Ids(integers), "compare.values_differ");
  EXPECT_EQ(integers.findings[0].found, "1152921504606846977");
  const Model fp8 = {{"w", {DType::kF8E4M3, {1}, "\x3A"}}}, other_fp8 = {{"w", {DType::kF8E4M3, {1}, "\x3B"}}};
  EXPECT_EQ(Ids(Between(fp8, other_fp8, {.atol = 100})), "compare.values_differ");
}

TEST_F(CompareTest, ABadToleranceIsRefused) {
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    try {
      Between({{"w", F32({1}, {0})}}, {{"w", F32({1}, {0})}}, {.rtol = bad});
      FAIL() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "compare.bad_tolerance");
    }
  }
}

TEST_F(CompareTest, FindingsDoNotDependOnTilesOrThreads) {
  Model a, b;
  for (int t = 0; t < 7; ++t) {
    std::vector<float> values(1000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + static_cast<float>(t) * 1000;
    a[Cat("w", t)] = F32({10, 100}, values);
    if (t % 2 == 1) values[100 * static_cast<size_t>(t) + 3] += 1, values[999] -= 2;
    b[Cat("w", t)] = F32({10, 100}, values);
  }
  const Comparison plain = Between(a, b);
  EXPECT_EQ(plain.different_tensors, 3u);
  EXPECT_EQ(plain.different_elements, 6u);
  const auto first = Write(scratch_ / "first", a), second = Write(scratch_ / "second", b);
  std::vector<std::string> expected;
  for (const plan::Finding& finding : Compare(first, second, {}).findings) expected.push_back(finding.message);
  EXPECT_NE(expected[1].find("first at [3, 3]"), std::string::npos) << expected[1];
  for (const uint64_t tile_bytes : {uint64_t{1}, uint64_t{52}, uint64_t{4000}}) {
    for (const unsigned threads : {1u, 3u, 8u}) {
      std::vector<std::string> messages;
      for (const plan::Finding& finding : Compare(first, second, {.threads = threads, .tile_bytes = tile_bytes}).findings) messages.push_back(finding.message);
      EXPECT_EQ(messages, expected) << tile_bytes << " " << threads;
    }
  }
}

TEST_F(CompareTest, AStopEndsIt) {
  const Model model = {{"w", F32({2}, {1, 2})}};
  EXPECT_THROW(Between(model, model, {.stop_requested = [] { return true; }}), Error);
}

// Megatron checkpoints of every cut against the logical state that torch recorded of them.
TEST_F(CompareTest, TorchDistEqualsTheRecordedStateInSafetensors) {
  size_t compared = 0;
  for (const auto& entry : stdfs::directory_iterator("testdata/fixtures/megatron")) {
    const std::string truth = entry.path() / "truth.safetensors";
    if (!fs::Stat(truth)) continue;
    SCOPED_TRACE(truth);
    const std::string content = fs::ReadSmallFile(truth, 1 << 28);
    Model state;
    for (const safetensors::Tensor& tensor : safetensors::ReadHeader(bytes::StringSource(content)).tensors) {
      if (StartsWith(tensor.name, "state.")) state[tensor.name.substr(6)] = {tensor.dtype, tensor.shape, content.substr(tensor.begin, tensor.end - tensor.begin)};
    }
    const stdfs::path root = entry.path() / "ckpt";
    const auto checkpoint = Checkpoint::Open(stdfs::exists(root / "release") ? root / "release" : root / "iter_0000010");
    const auto reference = Write(scratch_ / Cat("truth", compared), state);
    EXPECT_EQ(Ids(Compare(checkpoint, reference, {.threads = 2, .tile_bytes = 1000})), "");
    // A single changed byte is found.
    auto& [name, last] = *state.rbegin();
    last.bytes.back() = static_cast<char>(last.bytes.back() ^ 0x01);
    const Comparison changed = Compare(checkpoint, Write(scratch_ / Cat("changed", compared), state), {});
    EXPECT_EQ(Ids(changed), "compare.values_differ");
    EXPECT_EQ(changed.different_elements, 1u);
    EXPECT_EQ(changed.findings.empty() ? "" : changed.findings[0].where, name);
    ++compared;
  }
  EXPECT_GE(compared, 34u);
}

TEST_F(CompareTest, ReadsAllOfBoth) {
  const auto model = Checkpoint::Open("testdata/fixtures/hf/qwen2/model");
  uint64_t bytes = 0;
  EXPECT_EQ(Ids(Compare(model, model, {.progress = [&](uint64_t more) { bytes += more; }})), "");
  EXPECT_EQ(bytes, BytesToCompare(*model, *model));
}

// A result that is not written: rows 2 and 3 of a stored tensor under another name.
TEST_F(CompareTest, AViewAgainstACheckpoint) {
  const auto source = Write(scratch_ / "source", {{"stored", F32({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}});
  const auto view = [&] {
    transform::View out;
    out.inputs = {source};
    out.leaves = {{.name = "stored", .dtype = DType::kF32, .shape = {4, 3}, .arithmetic = transform::Arithmetic::kCopy, .terms = {{.input = 0, .weight = 1.0}}}};
    out.tensors = {{.name = "half", .dtype = DType::kF32, .shape = {2, 3}, .chunks = {{{0, 0}, {1, 3}}, {{1, 0}, {1, 3}}},
                     .pieces = {{.target = Box::Whole({2, 3}), .leaf = 0, .source_offset = {2, 0}, .axes = {{.result_axis = 0, .step = 1}, {.result_axis = 1, .step = 1}}}}}};
    transform::CheckView(out);
    return out;
  };
  const auto same = Write(scratch_ / "same", {{"half", F32({2, 3}, {6, 7, 8, 9, 10, 11})}});
  EXPECT_TRUE(Compare(view(), "the result", same, {}).findings.empty());
  EXPECT_EQ(Compare(view(), "the result", same, {}).elements, 6u);
  EXPECT_EQ(BytesToCompare(view(), *same), 48u);
  const Comparison other = Compare(view(), "the result", Write(scratch_ / "other", {{"half", F32({2, 3}, {6, 7, 8, 9, 10, 12})}, {"more", F32({1}, {0})}}), {});
  ASSERT_EQ(other.findings.size(), 2u);
  EXPECT_EQ(other.findings[0].id, "compare.values_differ");
  EXPECT_NE(other.findings[0].message.find("1 of 6 elements, first at [1, 2]: 11.0 in the result, 12.0 in "), std::string::npos) << other.findings[0].message;
  EXPECT_EQ(other.findings[1].id, "compare.missing_tensor");
  EXPECT_EQ(other.findings[1].found, "no such tensor");
}

}  // namespace
}  // namespace ck::compare
