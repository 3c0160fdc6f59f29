// Compared with entries that Megatron-Core wrote.
#include "libs/megatron/extra_state.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/bytes/source.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/pickle/describe.h"
#include "libs/tensor/box.h"
#include "libs/tensor/dtype.h"
#include "libs/torchsave/read.h"

namespace ck::megatron {
namespace {

using checkpoint::Checkpoint;

std::vector<std::string> StatesOf(const std::string& folder) {
  const auto opened = Checkpoint::Open(Cat("testdata/fixtures/megatron/", folder, "/ckpt/iter_0000010"));
  std::vector<std::string> out;
  for (const dcp::Object& object : opened->objects()) {
    if (object.name.find("._extra_state/") != std::string::npos) out.push_back(opened->ReadObject(object));
  }
  return out;
}

// The object in an item, as text: torch numbers the parts of a pickle otherwise, and means the same.
std::string ObjectOf(const std::string& item) {
  const torchsave::SavedObject object = torchsave::ReadObject(bytes::StringSource(item));
  return Cat(object.root_name, ": ", pickle::Describe(object.graph, object.root, 1000));
}

void ExpectAll(const std::string& made, const std::string& folder, size_t count) {
  const auto stored = StatesOf(folder);
  ASSERT_EQ(stored.size(), count);
  for (const std::string& item : stored) {
    EXPECT_EQ(made.size(), item.size());
    EXPECT_EQ(ObjectOf(made), ObjectOf(item));
  }
}

TEST(ExtraState, OfTransformerEngineIsATensorWithoutElements) {
  const std::string item = EmptyExtraState();
  const torchsave::SavedObject object = torchsave::ReadObject(bytes::StringSource(item));
  ASSERT_EQ(object.graph.items(object.root).size(), 1u);
  const auto tensor = torchsave::AsTensor(object, object.graph.items(object.root)[0]);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->dtype, DType::kU8);
  EXPECT_EQ(tensor->shape, Dims{0});
}

TEST(ExtraState, OfLocalModules) { ExpectAll(NoExtraState(), "gpt_moe_stacked", 20); }

TEST(ExtraState, OfTransformerEngineWithoutFp8) { ExpectAll(EmptyExtraState(), "te_gpt_moe", 27); }

// By the entries of the fixtures, and the modules without one.
TEST(ExtraState, ModulesThatStoreOne) {
  for (const char* module : {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2", "linear_q_down_proj", "linear_kv_up_proj", "eh_proj", "in_proj", "out_proj"}) {
    EXPECT_TRUE(LinearHasExtraState(module)) << module;
    EXPECT_FALSE(NormHasExtraState(module)) << module;
  }
  for (const char* module : {"final_layernorm", "input_layernorm", "pre_mlp_layernorm", "q_layernorm", "k_layernorm", "kv_layernorm", "enorm", "hnorm", "final_norm"}) {
    EXPECT_FALSE(LinearHasExtraState(module)) << module;
    EXPECT_TRUE(NormHasExtraState(module)) << module;
  }
  for (const char* module : {"output_layer", "word_embeddings", "router", "conv1d", "norm"}) {
    EXPECT_FALSE(LinearHasExtraState(module)) << module;
    EXPECT_FALSE(NormHasExtraState(module)) << module;
  }
}

}  // namespace
}  // namespace ck::megatron
