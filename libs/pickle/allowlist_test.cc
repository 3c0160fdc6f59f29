#include "libs/pickle/allowlist.h"

#include <gtest/gtest.h>

namespace ck::pickle {
namespace {

TEST(AllowlistTest, KnownGlobals) {
  const std::pair<const char*, const char*> known[] = {
      {"torch.distributed.checkpoint.metadata", "Metadata"},
      {"torch.distributed.checkpoint.metadata", "StorageMeta"},
      {"torch.distributed.checkpoint.filesystem", "_StorageInfo"},
      {"torch.distributed._shard.checkpoint.metadata", "MetadataIndex"},
      {"torch.distributed._shard.sharded_tensor.metadata", "MEM_FORMAT_ENCODING"},
      {"megatron.core.dist_checkpointing.strategies.torch", "MCoreSavePlan"},
      {"torch", "Size"},
      {"torch", "bfloat16"},
      {"torch", "float8_e4m3fn"},
      {"torch", "BFloat16Storage"},
      {"torch.cuda", "FloatStorage"},
      {"torch._utils", "_rebuild_tensor_v3"},
      {"pathlib._local", "PosixPath"},
      {"__builtin__", "set"},
      {"numpy.core.multiarray", "_reconstruct"},
      {"megatron.core.rerun_state_machine", "RerunDiagnostic"},
      {"transformer_engine.common.recipe", "DelayedScaling"},
  };
  for (const auto& [module, name] : known) EXPECT_TRUE(IsKnownGlobal(module, name)) << module << "." << name;
}

TEST(AllowlistTest, UnknownGlobals) {
  const std::pair<const char*, const char*> unknown[] = {
      {"posix", "system"},     {"os", "system"},      {"builtins", "eval"},   {"builtins", "getattr"},
      {"builtins", "exec"},    {"torch", "load"},     {"torch", ""},          {"torch", "Size Tensor"},
      {"torch", "Siz"},        {"", "Metadata"},      {"torch.cuda", "Size"}, {"numpy", "load"},
      {"subprocess", "Popen"}, {"torch.hub", "load"}, {"pathlib", "Path"},
  };
  for (const auto& [module, name] : unknown) EXPECT_FALSE(IsKnownGlobal(module, name)) << module << "." << name;
}

TEST(AllowlistTest, ListsEveryGlobalInOrder) {
  Graph graph;
  const Ref system = graph.NewGlobal("posix", "system");
  graph.NewObject(Form::kReduce, system, graph.NewTuple({graph.NewString("x")}));
  graph.NewGlobal("torch", "bfloat16");
  graph.NewGlobal("torch", "bfloat16");
  graph.NewGlobal("argparse", "Namespace");
  const std::vector<GlobalUse> uses = ListGlobals(graph);
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[0].module, "argparse");
  EXPECT_TRUE(uses[0].known);
  EXPECT_FALSE(uses[0].called);
  EXPECT_EQ(uses[1].name, "system");
  EXPECT_TRUE(uses[1].called);
  EXPECT_FALSE(uses[1].known);
  EXPECT_EQ(uses[1].count, 1u);
  EXPECT_EQ(uses[2].name, "bfloat16");
  EXPECT_EQ(uses[2].count, 2u);
}

bool GetattrIsKnown(const char* module, const char* name, const char* member) {
  Graph graph;
  const Ref good = graph.NewTuple(
      {graph.NewGlobal("torch.distributed.checkpoint.planner", "WriteItemType"), graph.NewString("SHARD")});
  const Ref getattr = graph.NewGlobal("builtins", "getattr");
  graph.NewObject(Form::kReduce, getattr, good);
  graph.NewObject(Form::kReduce, getattr, graph.NewTuple({graph.NewGlobal(module, name), graph.NewString(member)}));
  for (const GlobalUse& use : ListGlobals(graph)) {
    if (use.name == "getattr") return use.known;
  }
  return false;
}

TEST(AllowlistTest, GetattrIsKnownForMembersOnly) {
  EXPECT_TRUE(
      GetattrIsKnown("torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING", "TORCH_CONTIGUOUS_FORMAT"));
  EXPECT_FALSE(GetattrIsKnown("torch.distributed.checkpoint.metadata", "_MEM_FORMAT_ENCODING", "__reduce__"));
  EXPECT_FALSE(GetattrIsKnown("torch.distributed.checkpoint.metadata", "Metadata", "TORCH_CONTIGUOUS_FORMAT"));
  EXPECT_FALSE(GetattrIsKnown("os", "path", "join"));
}

TEST(AllowlistTest, GetattrThatIsNotCalledIsUnknown) {
  Graph graph;
  graph.NewGlobal("builtins", "getattr");
  EXPECT_FALSE(ListGlobals(graph).at(0).known);
}

}  // namespace
}  // namespace ck::pickle
