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

PickleBuilder New() { return {}; }

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
    {"UnicodeLiteral", New().Line(Op::kUnicode, "a\xe9\\u20ac\\U0001F600\\n").Stop(), "'a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\n'"},
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
     New().Op(Op::kEmptyList).Mark().Byte(1).Byte(2).Op(Op::kAppends).Mark().Op(Op::kAppends).Byte(3).Op(Op::kAppend).Stop(), "[1 2 3]"},
    {"Dict", New().Mark().Text("a").Byte(1).Op(Op::kDict).Stop(), "{'a':1}"},
    {"SetItem", New().Op(Op::kEmptyDict).Text("a").Byte(1).Op(Op::kSetItem).Stop(), "{'a':1}"},
    {"SetItemsInBatches",
     New().Op(Op::kEmptyDict).Mark().Text("a").Byte(1).Text("b").Byte(2).Op(Op::kSetItems).Mark().Op(Op::kSetItems).Stop(),
     "{'a':1 'b':2}"},
    {"RepeatedKeyReplaces",
     New().Op(Op::kEmptyDict).Mark().Text("a").Byte(1).Text("b").Byte(2).Text("a").Byte(3).Op(Op::kSetItems).Stop(), "{'a':3 'b':2}"},
    {"EqualNumbersAreOneKey",
     New().Op(Op::kEmptyDict).Mark().Byte(1).Text("x").Float(1.0).Text("y").Op(Op::kNewTrue).Text("z").Op(Op::kSetItems).Stop(),
     "{1:'z'}"},
    {"Set", New().Op(Op::kEmptySet).Mark().Byte(1).Byte(2).Op(Op::kAddItems).Stop(), "set[1 2]"},
    {"FrozenSet", New().Mark().Byte(1).Op(Op::kFrozenSet).Stop(), "frozenset[1]"},
    {"Global", New().Global("torch", "bfloat16").Stop(), "torch.bfloat16"},
    {"StackGlobal", New().StackGlobal("torch", "bfloat16").Stop(), "torch.bfloat16"},
    {"Reduce", New().Global("torch", "Size").Byte(3).Op(Op::kTuple1).Op(Op::kTuple1).Op(Op::kReduce).Stop(), "torch.Size((3))"},
    {"NewObjBuild", New().Global("a", "B").Op(Op::kEmptyTuple).Op(Op::kNewObj).Op(Op::kEmptyDict).Op(Op::kBuild).Stop(), "new a.B()<-{}"},
    {"NewObjEx", New().Global("a", "B").Op(Op::kEmptyTuple).Op(Op::kEmptyDict).Op(Op::kNewObjEx).Stop(), "newex a.B()**{}"},
    {"ObjectWithItems",
     New().Global("a", "L").Op(Op::kEmptyTuple).Op(Op::kNewObj).Mark().Byte(1).Byte(2).Op(Op::kAppends).Text("k").Byte(3)
         .Op(Op::kSetItem).None().Op(Op::kBuild).Stop(),
     "new a.L()+[1 2]+{'k':3}<-None"},
    {"UnknownClassIsKept", New().Global("foo", "Bar").Op(Op::kEmptyTuple).Op(Op::kReduce).Stop(), "foo.Bar()"},
    {"CodeIsNotRun", New().Global("posix", "system").Text("touch marker").Op(Op::kTuple1).Op(Op::kReduce).Stop(), "posix.system('touch marker')"},
    {"EnumByName",
     New().Global("__builtin__", "getattr").Global("m", "E").Text("X").Op(Op::kTuple2).Op(Op::kReduce).Stop(), "__builtin__.getattr(m.E 'X')"},
    {"PersId", New().Line(Op::kPersId, "12").Stop(), "persistent'12'"},
    {"BinPersId", New().Text("k").Op(Op::kTuple1).Op(Op::kBinPersId).Stop(), "persistent('k')"},
    {"Pop", New().Byte(1).Byte(2).Op(Op::kPop).Stop(), "1"},
    {"PopOfAMark", New().Byte(1).Mark().Op(Op::kPop).Stop(), "1"},
    {"PopMark", New().Byte(1).Mark().Byte(2).Byte(3).Op(Op::kPopMark).Stop(), "1"},
    {"Dup", New().Byte(1).Op(Op::kDup).Op(Op::kTuple2).Stop(), "(1 1)"},
    {"BinPutGet", New().Text("a").Put(9).Get(9).Op(Op::kTuple2).Stop(), "('a' 'a')"},
    {"LongBinPutGet", New().Text("a").Op(Op::kLongBinPut).U32(0xFFFFFFFF).Op(Op::kLongBinGet).U32(0xFFFFFFFF).Op(Op::kTuple2).Stop(), "('a' 'a')"},
    {"TextPutGet", New().Text("a").Line(Op::kPut, "70").Line(Op::kGet, "70").Op(Op::kTuple2).Stop(), "('a' 'a')"},
    {"MemoizeCountsUp", New().Text("a").Op(Op::kMemoize).Text("b").Op(Op::kMemoize).Get(1).Get(0).Mark().Op(Op::kPop).Op(Op::kTuple2).Op(Op::kTuple3).Stop(), "('a' 'b' ('b' 'a'))"},
    {"Frame", New().Proto(4).Frame(2).None().Stop(), "None"},
    {"Protocol5", New().Proto(5).None().Stop(), "None"},
};

INSTANTIATE_TEST_SUITE_P(Unpickle, ValueTest, testing::ValuesIn(kValues), [](const auto& test) { return test.param.name; });

struct FaultCase {
  std::string name;
  std::string data;
  std::string id;
  std::string message;  // a part of it
};

class FaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultTest, IsRefusedByName) {
  try {
    Unpickle(GetParam().data);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), GetParam().id);
    EXPECT_EQ(error.code(), Code::kInput);
    EXPECT_NE(error.message().find(GetParam().message), std::string::npos) << error.message();
  }
}

const FaultCase kFaults[] = {
    {"Empty", "", "pickle.no_stop", "byte 0"},
    {"NoStop", New().Proto(2).None().Take(), "pickle.no_stop", "byte 3"},
    {"StopOnEmptyStack", New().Proto(2).Stop(), "pickle.stack_underflow", "byte 2, opcode 0x2e"},
    {"TwoValues", New().None().None().Stop(), "pickle.bad_value", "more than one value"},
    {"OpenMark", New().None().Mark().None().Stop(), "pickle.bad_value", "more than one value"},
    {"Protocol9", New().Proto(9).None().Stop(), "pickle.protocol_unsupported", "protocol 9"},
    {"UnknownOpcode", New().None().U8(0xFF).Stop(), "pickle.opcode_unknown", "byte 1, opcode 0xff"},
    {"Inst", New().Mark().Line(Op::kInst, "a").Raw("b\n").Stop(), "pickle.opcode_unsupported", "INST"},
    {"Obj", New().Mark().Op(Op::kObj).Stop(), "pickle.opcode_unsupported", "OBJ"},
    {"Ext1", New().Op(Op::kExt1).U8(1).Stop(), "pickle.opcode_unsupported", "EXT1"},
    {"Ext2", New().Op(Op::kExt2).U16(1).Stop(), "pickle.opcode_unsupported", "EXT2"},
    {"Ext4", New().Op(Op::kExt4).U32(1).Stop(), "pickle.opcode_unsupported", "EXT4"},
    {"NextBuffer", New().Op(Op::kNextBuffer).Stop(), "pickle.opcode_unsupported", "NEXT_BUFFER"},
    {"ReadonlyBuffer", New().None().Op(Op::kReadonlyBuffer).Stop(), "pickle.opcode_unsupported", "READONLY_BUFFER"},
    {"BytesOfAnExabyte", New().Op(Op::kBinBytes8).U64(uint64_t{1} << 60).Raw("abc").Stop(), "pickle.truncated",
     "needs 1152921504606846976 more bytes, 4 remain"},
    {"TextOfAllBytes", New().Op(Op::kBinUnicode8).U64(~uint64_t{0}).Stop(), "pickle.truncated", "18446744073709551615"},
    {"FramePastTheEnd", New().Proto(4).Frame(100).None().Stop(), "pickle.truncated", "needs 100 more bytes, 2 remain"},
    {"LineWithoutEnd", New().Op(Op::kGlobal).Raw("torch").Take(), "pickle.truncated", "byte 0, opcode 0x63"},
    {"UndefinedMemo", New().Get(0).Stop(), "pickle.memo_undefined", "entry 0"},
    {"UndefinedMemoInAGap", New().None().Put(5).Op(Op::kPop).Get(4).Stop(), "pickle.memo_undefined", "entry 4"},
    {"UndefinedFarMemo", New().Op(Op::kLongBinGet).U32(0xFFFFFFFE).Stop(), "pickle.memo_undefined", "entry 4294967294"},
    {"PutOfNothing", New().Put(0).Stop(), "pickle.stack_underflow", "byte 0"},
    {"TupleAcrossAMark", New().None().Mark().Op(Op::kTuple1).Stop(), "pickle.stack_underflow", "empty stack"},
    {"NoMark", New().None().Op(Op::kTuple).Stop(), "pickle.stack_underflow", "no mark"},
    {"AppendsToNothing", New().Mark().None().Op(Op::kAppends).Stop(), "pickle.stack_underflow", "no container"},
    {"SetItemAcrossAMark", New().Op(Op::kEmptyDict).Mark().None().None().Op(Op::kSetItem).Stop(), "pickle.stack_underflow", "no container"},
    {"AppendToATuple", New().Op(Op::kEmptyTuple).None().Op(Op::kAppend).Stop(), "pickle.bad_value", "no such container"},
    {"AppendToADict", New().Op(Op::kEmptyDict).None().Op(Op::kAppend).Stop(), "pickle.bad_value", "no such container"},
    {"SetItemOfAList", New().Op(Op::kEmptyList).None().None().Op(Op::kSetItem).Stop(), "pickle.bad_value", "no such container"},
    {"AddItemsToAList", New().Op(Op::kEmptyList).Mark().None().Op(Op::kAddItems).Stop(), "pickle.bad_value", "no such container"},
    {"KeyWithoutValue", New().Op(Op::kEmptyDict).Mark().None().Op(Op::kSetItems).Stop(), "pickle.bad_value", "without a value"},
    {"ListAsKey", New().Op(Op::kEmptyDict).Op(Op::kEmptyList).None().Op(Op::kSetItem).Stop(), "pickle.bad_value", "as a dict key"},
    {"ListInASet", New().Mark().Op(Op::kEmptyList).Op(Op::kFrozenSet).Stop(), "pickle.bad_value", "set item"},
    {"ReduceOfAnInt", New().Byte(1).Op(Op::kEmptyTuple).Op(Op::kReduce).Stop(), "pickle.bad_value", "no class"},
    {"ReduceWithAList", New().Global("a", "b").Op(Op::kEmptyList).Op(Op::kReduce).Stop(), "pickle.bad_value", "no tuple"},
    {"KwargsNoDict", New().Global("a", "b").Op(Op::kEmptyTuple).None().Op(Op::kNewObjEx).Stop(), "pickle.bad_value", "no dict"},
    {"BuildOfADict", New().Op(Op::kEmptyDict).None().Op(Op::kBuild).Stop(), "pickle.bad_value", "no object"},
    {"BuildTwice",
     New().Global("a", "b").Op(Op::kEmptyTuple).Op(Op::kNewObj).Op(Op::kEmptyDict).Op(Op::kBuild).Op(Op::kEmptyDict).Op(Op::kBuild).Stop(),
     "pickle.bad_value", "twice"},
    {"EntryAfterBuild",
     New().Global("a", "b").Op(Op::kEmptyTuple).Op(Op::kNewObj).Op(Op::kEmptyDict).Op(Op::kBuild).None().None().Op(Op::kSetItem).Stop(),
     "pickle.bad_value", "after its state"},
    {"GlobalOfInts", New().Byte(1).Byte(2).Op(Op::kStackGlobal).Stop(), "pickle.bad_value", "something else than text"},
    {"GlobalWithoutName", New().Global("a", "").Stop(), "pickle.bad_value", "names no class"},
    {"GlobalWithALineFeed", New().StackGlobal("a", "b\nc").Stop(), "pickle.bad_value", "names no class"},
    {"NotUtf8", New().Text("a\xff").Stop(), "pickle.bad_value", "not UTF-8"},
    {"OverlongUtf8", New().Text("\xc0\x80").Stop(), "pickle.bad_value", "not UTF-8"},
    {"CutUtf8", New().Text("\xe2\x82").Stop(), "pickle.bad_value", "not UTF-8"},
    {"BeyondUnicode", New().Text("\xf4\x90\x80\x80").Stop(), "pickle.bad_value", "not UTF-8"},
    {"BadInt", New().Line(Op::kInt, "1x").Stop(), "pickle.bad_value", "no integer"},
    {"BadFloat", New().Line(Op::kFloat, "one").Stop(), "pickle.bad_value", "no number"},
    {"BadLiteral", New().Line(Op::kString, "'a").Stop(), "pickle.bad_value", "no string literal"},
    {"BadLiteralEscape", New().Line(Op::kString, "'\\x4'").Stop(), "pickle.bad_value", "no string literal"},
    {"BadUnicodeEscape", New().Line(Op::kUnicode, "\\u12").Stop(), "pickle.bad_value", "broken escape"},
    {"BadMemoIndex", New().None().Line(Op::kPut, "-1").Stop(), "pickle.bad_value", "no memo index"},
    {"HugeInt", New().Op(Op::kLong4).U32(5000).Raw(std::string(5000, '\x11')).Stop(), "pickle.limit_exceeded", "4096"},
    {"HugeIntText", New().Line(Op::kLong, std::string(20000, '9')).Stop(), "pickle.limit_exceeded", "digits"},
    {"PersistentId", New().Text("x").Op(Op::kBinPersId).Stop(), "pickle.persistent_id_refused", "byte 6"},
    {"TextPersistentId", New().Line(Op::kPersId, "x").Stop(), "pickle.persistent_id_refused", "byte 0"},
};

INSTANTIATE_TEST_SUITE_P(Unpickle, FaultTest, testing::ValuesIn(kFaults), [](const auto& test) { return test.param.name; });

std::string IdOf(const std::string& data, const Limits& limits) {
  try {
    Unpickle(data, PersistentIds::kRefuse, limits);
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

TEST(UnpickleTest, Limits) {
  const std::string three_nones = New().Mark().None().None().None().Op(Op::kList).Stop();
  EXPECT_EQ(IdOf(three_nones, {.max_bytes = three_nones.size()}), "");
  EXPECT_EQ(IdOf(three_nones, {.max_bytes = three_nones.size() - 1}), "pickle.limit_exceeded");
  EXPECT_EQ(IdOf(three_nones, {.max_depth = 4}), "");
  EXPECT_EQ(IdOf(three_nones, {.max_depth = 3}), "pickle.limit_exceeded");
  const std::string texts = New().Op(Op::kEmptyList).Mark().Text("a").Text("b").Text("c").Op(Op::kAppends).Stop();
  EXPECT_EQ(IdOf(texts, {.max_nodes = 8}), "");
  EXPECT_EQ(IdOf(texts, {.max_nodes = 7}), "pickle.limit_exceeded");
  const std::string puts = New().Text("a").Put(0).Put(1).Put(1).Stop();
  EXPECT_EQ(IdOf(puts, {.max_memo = 2}), "");
  EXPECT_EQ(IdOf(puts, {.max_memo = 1}), "pickle.limit_exceeded");
}

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
  const std::string data = New().Global("a", "B").Op(Op::kEmptyTuple).Op(Op::kNewObj).Put(0).Op(Op::kEmptyDict).Text("n").Byte(1)
                               .Op(Op::kSetItem).Op(Op::kBuild).Get(0).Op(Op::kTuple2).Stop();
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
