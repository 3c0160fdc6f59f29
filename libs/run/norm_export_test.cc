// Norms that one side stores as w and the other as w - 1: values worked out here from the recorded state.
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/fs/test_directory.h"
#include "libs/huggingface/export.h"
#include "libs/run/execute.h"
#include "libs/run/layout.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/transform/copy.h"

namespace ck::run {
namespace {

using checkpoint::Checkpoint;
using State = std::map<std::string, WholeTensor>;

float FromBits(uint32_t bits) {
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

// To the nearest bfloat16, ties to even; finite numbers only.
float RoundToBfloat16(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return FromBits(bits & 0xFFFF0000);
}

std::vector<float> Values(const WholeTensor& tensor) {
  std::vector<float> out;
  for (uint64_t i = 0; i < *Volume(tensor.shape); ++i) {
    uint32_t bits = 0;
    if (tensor.dtype == DType::kF32) {
      std::memcpy(&bits, tensor.bytes.data() + 4 * i, 4);
    } else {
      EXPECT_EQ(tensor.dtype, DType::kBF16);
      uint16_t high = 0;
      std::memcpy(&high, tensor.bytes.data() + 2 * i, 2);
      bits = static_cast<uint32_t>(high) << 16;
    }
    out.push_back(FromBits(bits));
  }
  return out;
}

struct Model {
  State tensors;
  uint64_t inexact = 0;
  std::vector<std::string> notes;
};

// The checkpoint exported with these boolean arguments changed, written and read back.
Model Export(const std::string& folder, const std::string& architecture, const std::map<std::string, bool>& arguments, plan::SaveDtype dtype = plan::SaveDtype::kSame) {
  transform::View source = transform::CopyView(Checkpoint::Open(Cat("testdata/fixtures/megatron/", folder, "/ckpt/iter_0000010")), {});
  pickle::Graph& graph = source.common->graph;
  const pickle::Ref args = graph.Find(source.common->root, "args");
  for (const auto& [name, value] : arguments) graph.SetAttribute(args, name, graph.NewBool(value));
  plan::SplitStep step;
  step.architecture = architecture;
  step.dtype = dtype;
  const transform::View view = huggingface::ExportView(source, step);
  transform::CheckView(view);
  const fs::TestDirectory scratch;
  const ExecuteOptions options{.threads = 2, .durability = fs::Durability::kNoSync, .tile_bytes = 32, .stop_requested = {}, .progress = {}};
  const ExecuteStatistics statistics = Execute(view, LayOutSafetensors(view, {.max_shard_size = 1 << 30}), scratch.path(), options);
  return {.tensors = ReadTensors(*Checkpoint::Open(scratch.path())), .inexact = statistics.inexact_additions, .notes = view.notes};
}

std::set<std::string> NormNames(uint64_t layers) {
  std::set<std::string> out = {"model.norm.weight"};
  for (uint64_t l = 0; l < layers; ++l) {
    for (const char* name : {"input_layernorm", "post_attention_layernorm"}) out.insert(Cat("model.layers.", l, ".", name, ".weight"));
  }
  return out;
}

// Every norm of `shifted` is that of `plain` by the rule, and nothing else differs.
template <typename Sum>
void ExpectShifted(const State& plain, const State& shifted, const std::set<std::string>& norms, const Sum& sum) {
  ASSERT_EQ(plain.size(), shifted.size());
  size_t seen = 0;
  for (const auto& [name, tensor] : plain) {
    SCOPED_TRACE(name);
    if (norms.count(name) == 0) {
      EXPECT_EQ(shifted.at(name), tensor);
      continue;
    }
    ++seen;
    const std::vector<float> before = Values(tensor), after = Values(shifted.at(name));
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], sum(before[i])) << i;
  }
  EXPECT_EQ(seen, norms.size());
}

// How many elements adding and then subtracting the constant does not give back.
uint64_t CountLost(const State& plain, const std::set<std::string>& norms, float constant, float (*round)(float)) {
  uint64_t lost = 0;
  for (const std::string& name : norms) {
    for (const float x : Values(plain.at(name))) lost += round(round(x + constant) - constant) != x ? 1 : 0;
  }
  return lost;
}

float Same(float x) { return x; }

TEST(NormExport, OneIsAddedForAClassThatMultipliesByTheWeight) {
  const State plain = Export("gpt_dense_stacked", "LlamaForCausalLM", {}).tensors;
  for (const char* argument : {"layernorm_zero_centered_gamma", "apply_layernorm_1p"}) {
    SCOPED_TRACE(argument);
    const Model shifted = Export("gpt_dense_stacked", "LlamaForCausalLM", {{argument, true}});
    ExpectShifted(plain, shifted.tensors, NormNames(3), [](float x) { return x + 1.0F; });
    EXPECT_EQ(shifted.inexact, CountLost(plain, NormNames(3), 1.0F, Same));
    EXPECT_EQ(shifted.notes[0].substr(0, 39), "1 is added to or taken from 7 norms: th");
  }
}

TEST(NormExport, OneIsSubtractedForAClassThatAddsIt) {
  const State zero_centred = Export("gpt_dense_stacked", "GemmaForCausalLM", {{"swiglu", false}, {"layernorm_zero_centered_gamma", true}}).tensors;
  ExpectShifted(Export("gpt_dense_stacked", "LlamaForCausalLM", {}).tensors, zero_centred, NormNames(3), Same);
  const Model plain = Export("gpt_dense_stacked", "GemmaForCausalLM", {{"swiglu", false}});
  ExpectShifted(zero_centred, plain.tensors, NormNames(3), [](float x) { return x - 1.0F; });
  EXPECT_EQ(plain.inexact, CountLost(zero_centred, NormNames(3), -1.0F, Same));
}

// The cast comes first.
TEST(NormExport, AfterACast) {
  const State plain = Export("gpt_dense_stacked", "LlamaForCausalLM", {}).tensors;
  const Model narrow = Export("gpt_dense_stacked", "LlamaForCausalLM", {{"apply_layernorm_1p", true}}, plan::SaveDtype::kBfloat16);
  for (const std::string& name : NormNames(3)) {
    const std::vector<float> before = Values(plain.at(name)), after = Values(narrow.tensors.at(name));
    EXPECT_EQ(narrow.tensors.at(name).dtype, DType::kBF16);
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], RoundToBfloat16(RoundToBfloat16(before[i]) + 1.0F)) << name << " " << i;
  }
}

TEST(NormExport, Bfloat16RoundsAndIsCounted) {
  const State plain = Export("te_gpt_moe", "Qwen3MoeForCausalLM", {}).tensors;
  std::set<std::string> norms = NormNames(2);
  for (const char* layer : {"0", "1"}) {
    for (const char* name : {"q_norm", "k_norm"}) norms.insert(Cat("model.layers.", layer, ".self_attn.", name, ".weight"));
  }
  ASSERT_EQ(plain.at("model.norm.weight").dtype, DType::kBF16);
  const Model same = Export("te_gpt_moe", "Qwen3MoeForCausalLM", {{"layernorm_zero_centered_gamma", true}});
  ExpectShifted(plain, same.tensors, norms, [](float x) { return RoundToBfloat16(x + 1.0F); });
  const uint64_t lost = CountLost(plain, norms, 1.0F, RoundToBfloat16);
  EXPECT_EQ(same.inexact, lost);
  EXPECT_GT(lost, 0u);
  const Model wide = Export("te_gpt_moe", "Qwen3MoeForCausalLM", {{"layernorm_zero_centered_gamma", true}}, plan::SaveDtype::kFloat32);
  for (const std::string& name : norms) {
    const std::vector<float> before = Values(plain.at(name)), after = Values(wide.tensors.at(name));
    EXPECT_EQ(wide.tensors.at(name).dtype, DType::kF32);
    for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], before[i] + 1.0F) << name << " " << i;
  }
}

}  // namespace
}  // namespace ck::run
