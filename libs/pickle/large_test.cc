// Sizes that real checkpoints reach: work and memory stay in proportion.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "libs/pickle/testing/pickle_builder.h"
#include "libs/pickle/unpickle.h"

namespace ck::pickle {
namespace {

TEST(LargeTest, AMillionKeysOfText) {
  constexpr uint32_t kEntries = 1'000'000;
  PickleBuilder builder;
  builder.Proto(4).Op(Op::kEmptyDict);
  for (uint32_t i = 0; i < kEntries; ++i) {
    if (i % 1000 == 0) builder.Mark();
    builder.Text("layer." + std::to_string(i)).Int(static_cast<int32_t>(i));
    if (i % 1000 == 999) builder.Op(Op::kSetItems);
  }
  const Unpickled result = Unpickle(builder.Stop());
  EXPECT_EQ(result.graph.entries(result.root).size(), kEntries);
  EXPECT_EQ(result.graph.size(), 2 * kEntries + 5);  // a key and a value each; four shared values and the dict
  EXPECT_EQ(result.graph.AsInt(result.graph.Find(result.root, "layer.765432")), 765432);
  EXPECT_EQ(result.graph.Find(result.root, "layer.1000000"), kNoRef);
}

// storage_data of DCP: the keys are objects, which are never compared by content.
TEST(LargeTest, AMillionKeysThatAreObjects) {
  constexpr uint32_t kEntries = 1'000'000;
  PickleBuilder builder;
  builder.Proto(4)
      .Global("torch.distributed.checkpoint.metadata", "MetadataIndex")
      .Put(0)
      .Op(Op::kPop)
      .Op(Op::kEmptyDict);
  for (uint32_t i = 0; i < kEntries; ++i) {
    if (i % 1000 == 0) builder.Mark();
    builder.Get(0).Op(Op::kEmptyTuple).Op(Op::kNewObj).None();
    if (i % 1000 == 999) builder.Op(Op::kSetItems);
  }
  const Unpickled result = Unpickle(builder.Stop());
  EXPECT_EQ(result.graph.entries(result.root).size(), kEntries);
  EXPECT_EQ(result.graph.size(), kEntries + 6);  // an object each; four shared values, the class and the dict
}

}  // namespace
}  // namespace ck::pickle
