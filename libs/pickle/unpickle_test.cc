#include "libs/pickle/unpickle.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "libs/base/error.h"
#include "libs/pickle/testing/pickle_builder.h"

namespace ck::pickle {
namespace {

// A graph as text, to compare in tables. Only for small trees.
std::string Show(const Graph& graph, Ref ref) {
  const auto list = [&](const char* open, auto items, const char* close) {
    std::string out = open;
    for (const Ref item : items) out += (out == open ? "" : " ") + Show(graph, item);
    return out + close;
  };
  const auto dict = [&](Ref of) {
    std::string out = "{";
    for (const auto& [key, value] : graph.entries(of)) {
      out += (out == "{" ? "" : " ") + Show(graph, key) + ":" + Show(graph, value);
    }
    return out + "}";
  };
  switch (graph.kind(ref)) {
    case Kind::kNone: return "None";
    case Kind::kBool: return graph.AsBool(ref) ? "True" : "False";
    case Kind::kInt:
    case Kind::kBigInt: return graph.IntText(ref);
    case Kind::kFloat: return std::to_string(graph.AsFloat(ref));
    case Kind::kString: return "'" + std::string(graph.bytes(ref)) + "'";
    case Kind::kBytes: return "b'" + std::string(graph.bytes(ref)) + "'";
    case Kind::kTuple: return list("(", graph.items(ref), ")");
    case Kind::kList: return list("[", graph.items(ref), "]");
    case Kind::kSet: return list("set[", graph.items(ref), "]");
    case Kind::kFrozenSet: return list("frozenset[", graph.items(ref), "]");
    case Kind::kDict: return dict(ref);
    case Kind::kGlobal: return std::string(graph.module(ref)) + "." + std::string(graph.name(ref));
    case Kind::kPersistent: return "persistent" + Show(graph, graph.args(ref));
    case Kind::kObject: break;
  }
  std::string out = graph.form(ref) == Form::kReduce ? "" : graph.form(ref) == Form::kNewObj ? "new " : "newex ";
  out += Show(graph, graph.callable(ref)) + Show(graph, graph.args(ref));
  if (graph.kwargs(ref) != kNoRef) out += "**" + Show(graph, graph.kwargs(ref));
  if (!graph.items(ref).empty()) out += list("+[", graph.items(ref), "]");
  if (!graph.entries(ref).empty()) out += "+" + dict(ref);
  if (graph.state(ref) != kNoRef) out += "<-" + Show(graph, graph.state(ref));
  return out;
}

std::string Decode(const std::string& data) {
  const Unpickled result = Unpickle(data, PersistentIds::kKeep);
  return Show(result.graph, result.root);
}

PickleBuilder New() {
  return {};
}

struct ValueCase {
  std::string name;
  std::string data;
  std::string shown;
};

class ValueTest : public testing::TestWithParam<ValueCase> {};

TEST_P(ValueTest, Decodes) {
  const Unpickled result = Unpickle(GetParam().data, PersistentIds::kKeep);
  EXPECT_EQ(Show(result.graph, result.root), GetParam().shown);
  EXPECT_EQ(result.bytes_used, GetParam().data.size());
}

TEST_P(ValueTest, EveryPrefixFails) {
  for (size_t length = 0; length < GetParam().data.size(); ++length) {
    EXPECT_THROW(Unpickle(std::string_view(GetParam().data).substr(0, length), PersistentIds::kKeep), Error) << length;
  }
}

TEST_P(ValueTest, FlippedBitsNeverCrash) {
  for (size_t bit = 0; bit < GetParam().data.size() * 8; ++bit) {
    std::string data = GetParam().data;
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << bit % 8));
    try {
      Unpickle(data, PersistentIds::kKeep);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInput) << error.message();
    }
  }
}

const ValueCase kValues[] = {
    {"None", New().Proto(2).None().Stop(), "None"},
    {"True", New().Op(Op::kNewTrue).Stop(), "True"},
    {"False", New().Op(Op::kNewFalse).Stop(), "False"},
    {"TextTrue", New().Line(Op::kInt, "01").Stop(), "True"},
    {"TextFalse", New().Line(Op::kInt, "00").Stop(), "False"},
    {"TextInt", New().Line(Op::kInt, "-70000000000").Stop(), "-70000000000"},
    {"TextLong", New().Line(Op::kLong, "18446744073709551616L").Stop(), "18446744073709551616"},
    {"TextLongWithoutL", New().Line(Op::kLong, "-12").Stop(), "-12"},
    {"BinInt", New().Int(-7).Stop(), "-7"},
    {"BinIntSmallest", New().Int(std::numeric_limits<int32_t>::min()).Stop(), "-2147483648"},
    {"BinInt1", New().Byte(255).Stop(), "255"},
    {"BinInt2", New().Op(Op::kBinInt2).U16(65535).Stop(), "65535"},
    {"Long1Empty", New().Long("").Stop(), "0"},
    {"Long1", New().Long(std::string("\x00\x00\x00\x80\x00", 5)).Stop(), "2147483648"},
    {"Long1Negative", New().Long("\xff").Stop(), "-1"},
    {"Long1Big", New().Long("\xff\xff\xff\xff\xff\xff\xff\xff\x7f").Stop(), "2361183241434822606847"},
    {"Long1BigNegative", New().Long(std::string("\0\0\0\0\0\0\0\0\x80", 9)).Stop(), "-2361183241434822606848"},
    {"Long1Padded", New().Long(std::string("\x05\0\0\0\0\0\0\0\0\0\0", 11)).Stop(), "5"},
    {"Long4", New().Op(Op::kLong4).U32(2).Raw("\x01\x02").Stop(), "513"},
    {"Float", New().Float(0.5).Stop(), "0.500000"},
    {"TextFloat", New().Line(Op::kFloat, "-1.5e3").Stop(), "-1500.000000"},
    {"StringLiteral", New().Line(Op::kString, R"('a\n\x41\102\q\\"')").Stop(), "'a\nAB\\q\\\"'"},
    {"BinString", New().Op(Op::kBinString).U32(2).Raw("hi").Stop(), "'hi'"},
    {"ShortBinString", New().Op(Op::kShortBinString).U8(2).Raw("hi").Stop(), "'hi'"},
    {"OldStringNotUtf8", New().Op(Op::kShortBinString).U8(2).Raw("h\xff").Stop(), "b'h\xff'"},
    {"UnicodeLiteral", New().Line(Op::kUnicode, "a\xe9\\u20ac\\U0001F600\\n").Stop(),
     "'a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\n'"},
    {"BinUnicode", New().Text("key").Stop(), "'key'"},
    {"ShortBinUnicode", New().Op(Op::kShortBinUnicode).U8(3).Raw("key").Stop(), "'key'"},
    {"BinUnicode8", New().Op(Op::kBinUnicode8).U64(3).Raw("key").Stop(), "'key'"},
    {"LoneSurrogate", New().Text("\xed\xa0\x80").Stop(), "'\xed\xa0\x80'"},
    {"BinBytes", New().Bytes("\xff\x01").Stop(), "b'\xff\x01'"},
    {"ShortBinBytes", New().Op(Op::kShortBinBytes).U8(1).Raw("z").Stop(), "b'z'"},
    {"BinBytes8", New().Op(Op::kBinBytes8).U64(1).Raw("z").Stop(), "b'z'"},
    {"ByteArray8", New().Op(Op::kByteArray8).U64(1).Raw("z").Stop(), "builtins.bytearray(b'z')"},
    {"EmptyTuple", New().Op(Op::kEmptyTuple).Stop(), "()"},
    {"Tuple1", New().Byte(1).Op(Op::kTuple1).Stop(), "(1)"},
    {"Tuple2", New().Byte(1).Byte(2).Op(Op::kTuple2).Stop(), "(1 2)"},
    {"Tuple3", New().Byte(1).Byte(2).Byte(3).Op(Op::kTuple3).Stop(), "(1 2 3)"},
    {"Tuple", New().Mark().Byte(1).Byte(2).Byte(3).Byte(4).Op(Op::kTuple).Stop(), "(1 2 3 4)"},
    {"TupleOfNothing", New().Mark().Op(Op::kTuple).Stop(), "()"},
    {"List", New().Mark().Byte(1).Byte(2).Op(Op::kList).Stop(), "[1 2]"},
    {"Append", New().Op(Op::kEmptyList).Byte(1).Op(Op::kAppend).Stop(), "[1]"},
    {"AppendsInBatches",
     New()
         .Op(Op::kEmptyList)
         .Mark()
         .Byte(1)
         .Byte(2)
         .Op(Op::kAppends)
         .Mark()
         .Op(Op::kAppends)
         .Byte(3)
         .Op(Op::kAppend)
         .Stop(),
     "[1 2 3]"},
    {"Dict", New().Mark().Text("a").Byte(1).Op(Op::kDict).Stop(), "{'a':1}"},
    {"SetItem", New().Op(Op::kEmptyDict).Text("a").Byte(1).Op(Op::kSetItem).Stop(), "{'a':1}"},
    {"SetItemsInBatches",
     New()
         .Op(Op::kEmptyDict)
         .Mark()
         .Text("a")
         .Byte(1)
         .Text("b")
         .Byte(2)
         .Op(Op::kSetItems)
         .Mark()
         .Op(Op::kSetItems)
         .Stop(),
     "{'a':1 'b':2}"},
    {"RepeatedKeyReplaces",
     New().Op(Op::kEmptyDict).Mark().Text("a").Byte(1).Text("b").Byte(2).Text("a").Byte(3).Op(Op::kSetItems).Stop(),
     "{'a':3 'b':2}"},
    {"EqualNumbersAreOneKey",
     New()
         .Op(Op::kEmptyDict)
         .Mark()
         .Byte(1)
         .Text("x")
         .Float(1.0)
         .Text("y")
         .Op(Op::kNewTrue)
         .Text("z")
         .Op(Op::kSetItems)
         .Stop(),
     "{1:'z'}"},
    {"Set", New().Op(Op::kEmptySet).Mark().Byte(1).Byte(2).Op(Op::kAddItems).Stop(), "set[1 2]"},
    {"FrozenSet", New().Mark().Byte(1).Op(Op::kFrozenSet).Stop(), "frozenset[1]"},
    {"Global", New().Global("torch", "bfloat16").Stop(), "torch.bfloat16"},
    {"StackGlobal", New().StackGlobal("torch", "bfloat16").Stop(), "torch.bfloat16"},
    {"Reduce", New().Global("torch", "Size").Byte(3).Op(Op::kTuple1).Op(Op::kTuple1).Op(Op::kReduce).Stop(),
     "torch.Size((3))"},
    {"NewObjBuild", New().Global("a", "B").Op(Op::kEmptyTuple).Op(Op::kNewObj).Op(Op::kEmptyDict).Op(Op::kBuild).Stop(),
     "new a.B()<-{}"},
    {"NewObjEx", New().Global("a", "B").Op(Op::kEmptyTuple).Op(Op::kEmptyDict).Op(Op::kNewObjEx).Stop(),
     "newex a.B()**{}"},
    {"ObjectWithItems",
     New()
         .Global("a", "L")
         .Op(Op::kEmptyTuple)
         .Op(Op::kNewObj)
         .Mark()
         .Byte(1)
         .Byte(2)
         .Op(Op::kAppends)
         .Text("k")
         .Byte(3)
         .Op(Op::kSetItem)
         .None()
         .Op(Op::kBuild)
         .Stop(),
     "new a.L()+[1 2]+{'k':3}<-None"},
    {"UnknownClassIsKept", New().Global("foo", "Bar").Op(Op::kEmptyTuple).Op(Op::kReduce).Stop(), "foo.Bar()"},
    {"CodeIsNotRun", New().Global("posix", "system").Text("touch marker").Op(Op::kTuple1).Op(Op::kReduce).Stop(),
     "posix.system('touch marker')"},
    {"EnumByName",
     New().Global("__builtin__", "getattr").Global("m", "E").Text("X").Op(Op::kTuple2).Op(Op::kReduce).Stop(),
     "__builtin__.getattr(m.E 'X')"},
    {"PersId", New().Line(Op::kPersId, "12").Stop(), "persistent'12'"},
    {"BinPersId", New().Text("k").Op(Op::kTuple1).Op(Op::kBinPersId).Stop(), "persistent('k')"},
    {"Pop", New().Byte(1).Byte(2).Op(Op::kPop).Stop(), "1"},
    {"PopOfAMark", New().Byte(1).Mark().Op(Op::kPop).Stop(), "1"},
    {"PopMark", New().Byte(1).Mark().Byte(2).Byte(3).Op(Op::kPopMark).Stop(), "1"},
    {"Dup", New().Byte(1).Op(Op::kDup).Op(Op::kTuple2).Stop(), "(1 1)"},
    {"BinPutGet", New().Text("a").Put(9).Get(9).Op(Op::kTuple2).Stop(), "('a' 'a')"},
    {"LongBinPutGet",
     New().Text("a").Op(Op::kLongBinPut).U32(0xFFFFFFFF).Op(Op::kLongBinGet).U32(0xFFFFFFFF).Op(Op::kTuple2).Stop(),
     "('a' 'a')"},
    {"TextPutGet", New().Text("a").Line(Op::kPut, "70").Line(Op::kGet, "70").Op(Op::kTuple2).Stop(), "('a' 'a')"},
    {"MemoizeCountsUp",
     New()
         .Text("a")
         .Op(Op::kMemoize)
         .Text("b")
         .Op(Op::kMemoize)
         .Get(1)
         .Get(0)
         .Mark()
         .Op(Op::kPop)
         .Op(Op::kTuple2)
         .Op(Op::kTuple3)
         .Stop(),
     "('a' 'b' ('b' 'a'))"},
    {"Frame", New().Proto(4).Frame(2).None().Stop(), "None"},
    {"Protocol5", New().Proto(5).None().Stop(), "None"},
};

INSTANTIATE_TEST_SUITE_P(Unpickle, ValueTest, testing::ValuesIn(kValues),
                         [](const auto& test) { return test.param.name; });

TEST(UnpickleTest, DeepNestingNeedsNoCallStack) {
  constexpr size_t kDepth = 100'000;
  const std::string data = New().Op(Op::kEmptyList, kDepth).Op(Op::kAppend, kDepth - 1).Stop();
  const Unpickled result = Unpickle(data);
  size_t depth = 1;
  for (Ref ref = result.root; !result.graph.items(ref).empty(); ref = result.graph.items(ref)[0]) ++depth;
  EXPECT_EQ(depth, kDepth);
}

TEST(UnpickleTest, TrailingBytesAreReported) {
  const std::string data = New().Proto(2).None().Stop();
  const Unpickled result = Unpickle(data + "more");
  EXPECT_EQ(result.bytes_used, data.size());
  EXPECT_EQ(result.protocol, 2);
}

TEST(UnpickleTest, ObjectsKeepTheirIdentityWhenTheyAreBuiltLater) {
  // (x, x) where x gets its state after it was memoized.
  const std::string data = New()
                               .Global("a", "B")
                               .Op(Op::kEmptyTuple)
                               .Op(Op::kNewObj)
                               .Put(0)
                               .Op(Op::kEmptyDict)
                               .Text("n")
                               .Byte(1)
                               .Op(Op::kSetItem)
                               .Op(Op::kBuild)
                               .Get(0)
                               .Op(Op::kTuple2)
                               .Stop();
  const Unpickled result = Unpickle(data);
  const auto items = result.graph.items(result.root);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0], items[1]);
  EXPECT_EQ(result.graph.AsInt(result.graph.Attribute(items[1], "n")), 1);
}

TEST(UnpickleTest, ListThatContainsItself) {
  const Unpickled result = Unpickle(New().Op(Op::kEmptyList).Put(0).Get(0).Op(Op::kAppend).Stop());
  ASSERT_EQ(result.graph.items(result.root).size(), 1u);
  EXPECT_EQ(result.graph.items(result.root)[0], result.root);
}

TEST(UnpickleTest, ManySparseMemoIndexesStaySmall) {
  PickleBuilder builder;
  builder.None();
  for (uint32_t i = 0; i < 1000; ++i) builder.Op(Op::kLongBinPut).U32(i * 4'000'000);
  builder.Op(Op::kLongBinGet).U32(999 * 4'000'000u).Op(Op::kTuple2);
  EXPECT_EQ(Decode(builder.Stop()), "(None None)");
}

}  // namespace
}  // namespace ck::pickle
