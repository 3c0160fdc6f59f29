#include "libs/pickle/graph.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "libs/base/error.h"

namespace ck::pickle {
namespace {

std::vector<Ref> Items(const Graph& graph, Ref ref) {
  return {graph.items(ref).begin(), graph.items(ref).end()};
}

TEST(GraphTest, Scalars) {
  Graph graph;
  EXPECT_EQ(graph.kind(graph.NewNone()), Kind::kNone);
  EXPECT_TRUE(graph.AsBool(graph.NewBool(true)));
  EXPECT_FALSE(graph.AsBool(graph.NewBool(false)));
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(graph.AsInt(graph.NewInt(value)), value);
    EXPECT_EQ(graph.IntText(graph.NewInt(value)), std::to_string(value));
  }
  EXPECT_EQ(graph.AsFloat(graph.NewFloat(-2.5)), -2.5);
  EXPECT_EQ(graph.bytes(graph.NewString("text")), "text");
  EXPECT_EQ(graph.bytes(graph.NewBytes(std::string("\0x", 2))), std::string("\0x", 2));
}

TEST(GraphTest, BigIntsThatFitAreInts) {
  Graph graph;
  const Ref small = graph.NewBigInt(std::string("\x07\0\0\0\0\0\0\0\0\0", 10));
  EXPECT_EQ(graph.kind(small), Kind::kInt);
  EXPECT_EQ(graph.AsInt(small), 7);
  const Ref big = graph.NewBigInt(std::string("\0\0\0\0\0\0\0\x80\0\0\0", 11));
  EXPECT_EQ(graph.kind(big), Kind::kBigInt);
  EXPECT_EQ(graph.bytes(big).size(), 9u);
  EXPECT_EQ(graph.IntText(big), "9223372036854775808");
}

TEST(GraphTest, DictsReplaceInPlaceAndErase) {
  for (const int count : {3, 8, 9, 100}) {  // below, at and above the size at which a dict gets a hash table
    Graph graph;
    const Ref dict = graph.NewDict();
    for (int i = 0; i < count; ++i) graph.DictSet(dict, "key" + std::to_string(i), graph.NewInt(i));
    graph.DictSet(dict, "key1", graph.NewInt(-1));
    ASSERT_EQ(graph.entries(dict).size(), static_cast<size_t>(count));
    EXPECT_EQ(graph.AsInt(graph.entries(dict)[1].second), -1);
    EXPECT_TRUE(graph.DictErase(dict, "key0"));
    EXPECT_FALSE(graph.DictErase(dict, "key0"));
    ASSERT_EQ(graph.entries(dict).size(), static_cast<size_t>(count - 1));
    EXPECT_EQ(graph.Find(dict, "key0"), kNoRef);
    for (int i = 1; i < count; ++i) {
      const Ref found = graph.Find(dict, "key" + std::to_string(i));
      ASSERT_NE(found, kNoRef) << i << " of " << count;
      EXPECT_EQ(graph.AsInt(found), i == 1 ? -1 : i);
    }
  }
}

// The number of entries of a dict with these two keys, among `fillers` other entries.
size_t KeysLeft(Graph& graph, Ref a, Ref b, int fillers) {
  const Ref dict = graph.NewDict();
  graph.AppendEntry(dict, a, graph.NewNone());
  for (int i = 0; i < fillers; ++i) graph.AppendEntry(dict, graph.NewString("filler" + std::to_string(i)), a);
  graph.AppendEntry(dict, b, graph.NewNone());
  return graph.entries(dict).size() - static_cast<size_t>(fillers);
}

TEST(GraphTest, KeysThatAreEqual) {
  Graph graph;
  const auto text = [&](const char* value) { return graph.NewString(value); };
  const auto big = [&] { return graph.NewBigInt(std::string(20, 'x')); };
  const auto dtypes = [&] {
    return graph.NewTuple({graph.NewGlobal("torch", "bfloat16"), graph.NewGlobal("torch", "float32")});
  };
  const std::pair<Ref, Ref> equal[] = {
      {text("a"), text("a")},
      {graph.NewBytes("a"), graph.NewBytes("a")},
      {graph.NewNone(), graph.NewNone()},
      {graph.NewInt(5), graph.NewInt(5)},
      {graph.NewInt(1), graph.NewBool(true)},
      {graph.NewInt(-3), graph.NewFloat(-3.0)},
      {graph.NewFloat(0.0), graph.NewFloat(-0.0)},
      {graph.NewFloat(0.5), graph.NewFloat(0.5)},
      {big(), big()},
      {graph.NewGlobal("torch", "int8"), graph.NewGlobal("torch", "int8")},
      {dtypes(), dtypes()},
      {graph.NewTuple({}), graph.NewTuple({})},
      {graph.NewTuple({graph.NewTuple({graph.NewInt(1)}), text("x")}),
       graph.NewTuple({graph.NewTuple({graph.NewBool(true)}), text("x")})},
  };
  for (const auto& [a, b] : equal) {
    EXPECT_EQ(KeysLeft(graph, a, b, 0), 1u) << a;
    EXPECT_EQ(KeysLeft(graph, a, b, 20), 1u) << a;
  }
}

TEST(GraphTest, KeysThatDiffer) {
  Graph graph;
  const auto object = [&] { return graph.NewObject(Form::kNewObj, graph.NewGlobal("a", "B"), graph.NewTuple({})); };
  const auto long_tuple = [&] { return graph.NewTuple(std::vector<Ref>(100, graph.NewInt(1))); };
  const std::pair<Ref, Ref> different[] = {
      {graph.NewString("a"), graph.NewString("b")},
      {graph.NewString("a"), graph.NewBytes("a")},
      {graph.NewString("1"), graph.NewInt(1)},
      {graph.NewNone(), graph.NewBool(false)},
      {graph.NewInt(1), graph.NewFloat(1.5)},
      {graph.NewFloat(std::numeric_limits<double>::quiet_NaN()),
       graph.NewFloat(std::numeric_limits<double>::quiet_NaN())},
      {graph.NewBigInt(std::string(20, 'x')), graph.NewBigInt(std::string(20, 'y'))},
      {graph.NewInt(1), graph.NewTuple({graph.NewInt(1)})},
      {graph.NewTuple({graph.NewInt(1)}), graph.NewTuple({graph.NewInt(1), graph.NewInt(1)})},
      {graph.NewTuple({graph.NewInt(1), graph.NewInt(2)}), graph.NewTuple({graph.NewInt(2), graph.NewInt(1)})},
      {object(), object()},
      {graph.NewTuple({object()}), graph.NewTuple({object()})},
      {graph.NewGlobal("torch", "int8"), graph.NewGlobal("torch", "int16")},
      {long_tuple(), long_tuple()},
  };
  for (const auto& [a, b] : different) {
    EXPECT_EQ(KeysLeft(graph, a, b, 0), 2u) << a;
    EXPECT_EQ(KeysLeft(graph, a, b, 20), 2u) << a;
    EXPECT_EQ(KeysLeft(graph, a, a, 20), 1u) << a;
  }
}

// A tuple of pairs of pairs: 2^40 leaves that share 41 nodes.
TEST(GraphTest, KeysThatShareDeeplyCostLittle) {
  Graph graph;
  const auto knot = [&] {
    Ref ref = graph.NewInt(1);
    for (int i = 0; i < 40; ++i) ref = graph.NewTuple({ref, ref});
    return ref;
  };
  EXPECT_EQ(KeysLeft(graph, knot(), knot(), 20), 2u);
}

TEST(GraphTest, ContainersThatGrowInTurns) {
  Graph graph;
  std::vector<Ref> lists;
  for (int i = 0; i < 5; ++i) lists.push_back(graph.NewList({}));
  std::vector<std::vector<Ref>> expected(lists.size());
  for (int round = 0; round < 300; ++round) {
    for (size_t i = 0; i < lists.size(); ++i) {
      const Ref item = graph.NewInt(round * 10 + static_cast<int>(i));
      graph.AppendItem(lists[i], item);
      expected[i].push_back(item);
    }
  }
  for (size_t i = 0; i < lists.size(); ++i) EXPECT_EQ(Items(graph, lists[i]), expected[i]);
}

TEST(GraphTest, Objects) {
  Graph graph;
  const Ref type = graph.NewGlobal("argparse", "Namespace");
  const Ref object = graph.NewObject(Form::kNewObj, type, graph.NewTuple({}));
  EXPECT_TRUE(graph.IsCall(object, "argparse", "Namespace"));
  EXPECT_FALSE(graph.IsCall(object, "argparse", "Other"));
  EXPECT_FALSE(graph.IsCall(type, "argparse", "Namespace"));
  EXPECT_EQ(graph.state(object), kNoRef);
  EXPECT_EQ(graph.Attribute(object, "x"), kNoRef);
  graph.SetAttribute(object, "x", graph.NewInt(1));
  const Ref state = graph.state(object);
  graph.AppendItem(object, graph.NewInt(2));
  graph.AppendEntry(object, graph.NewString("k"), graph.NewInt(3));
  EXPECT_EQ(graph.state(object), state);
  EXPECT_EQ(graph.kwargs(object), kNoRef);
  EXPECT_EQ(graph.AsInt(graph.Attribute(object, "x")), 1);
  EXPECT_EQ(graph.AsInt(graph.items(object)[0]), 2);
  EXPECT_EQ(graph.AsInt(graph.Find(object, "k")), 3);
  graph.SetAttribute(object, "x", graph.NewInt(4));
  EXPECT_EQ(graph.AsInt(graph.Attribute(object, "x")), 4);
}

TEST(GraphTest, AttributesInSlots) {
  Graph graph;
  const Ref object = graph.NewObject(Form::kNewObj, graph.NewGlobal("a", "B"), graph.NewTuple({}));
  const Ref slots = graph.NewDict();
  graph.DictSet(slots, "x", graph.NewInt(1));
  graph.SetState(object, graph.NewTuple({graph.NewNone(), slots}));
  EXPECT_EQ(graph.AsInt(graph.Attribute(object, "x")), 1);
  EXPECT_EQ(graph.Attribute(object, "y"), kNoRef);
}

TEST(GraphTest, ImportKeepsSharingCyclesAndLookups) {
  Graph source;
  const Ref dict = source.NewDict();
  for (int i = 0; i < 50; ++i) source.DictSet(dict, std::to_string(i), dict);
  Graph target;
  target.NewInt(1);
  const Ref copy = target.Import(source, dict);
  EXPECT_EQ(target.size(), 1 + source.size());
  EXPECT_EQ(target.entries(copy).size(), 50u);
  EXPECT_EQ(target.Find(copy, "49"), copy);
  EXPECT_EQ(target.Find(copy, "50"), kNoRef);
}

TEST(GraphTest, MisuseIsOurBug) {
  Graph graph;
  const Ref none = graph.NewNone();
  const auto is_internal = [](auto misuse) {
    try {
      misuse();
    } catch (const Error& error) {
      return error.code() == Code::kInternal;
    }
    return false;
  };
  EXPECT_TRUE(is_internal([&] { graph.kind(none + 1); }));
  EXPECT_TRUE(is_internal([&] { graph.AsInt(none); }));
  EXPECT_TRUE(is_internal([&] { graph.bytes(none); }));
  EXPECT_TRUE(is_internal([&] { graph.items(none); }));
  EXPECT_TRUE(is_internal([&] { graph.entries(none); }));
  EXPECT_TRUE(is_internal([&] { graph.NewTuple({none + 1}); }));
  EXPECT_TRUE(is_internal([&] { graph.AppendItem(graph.NewTuple({}), none); }));
}

}  // namespace
}  // namespace ck::pickle
