// What the decoder refuses, one case for each rule.
#include <gtest/gtest.h>

#include <string>

#include "libs/base/error.h"
#include "libs/pickle/testing/pickle_builder.h"
#include "libs/pickle/unpickle.h"

namespace ck::pickle {
namespace {

PickleBuilder New() {
  return {};
}

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
    {"SetItemAcrossAMark", New().Op(Op::kEmptyDict).Mark().None().None().Op(Op::kSetItem).Stop(),
     "pickle.stack_underflow", "no container"},
    {"AppendToATuple", New().Op(Op::kEmptyTuple).None().Op(Op::kAppend).Stop(), "pickle.bad_value",
     "no such container"},
    {"AppendToADict", New().Op(Op::kEmptyDict).None().Op(Op::kAppend).Stop(), "pickle.bad_value", "no such container"},
    {"SetItemOfAList", New().Op(Op::kEmptyList).None().None().Op(Op::kSetItem).Stop(), "pickle.bad_value",
     "no such container"},
    {"AddItemsToAList", New().Op(Op::kEmptyList).Mark().None().Op(Op::kAddItems).Stop(), "pickle.bad_value",
     "no such container"},
    {"KeyWithoutValue", New().Op(Op::kEmptyDict).Mark().None().Op(Op::kSetItems).Stop(), "pickle.bad_value",
     "without a value"},
    {"ListAsKey", New().Op(Op::kEmptyDict).Op(Op::kEmptyList).None().Op(Op::kSetItem).Stop(), "pickle.bad_value",
     "as a dict key"},
    {"ListInASet", New().Mark().Op(Op::kEmptyList).Op(Op::kFrozenSet).Stop(), "pickle.bad_value", "set item"},
    {"ReduceOfAnInt", New().Byte(1).Op(Op::kEmptyTuple).Op(Op::kReduce).Stop(), "pickle.bad_value", "no class"},
    {"ReduceWithAList", New().Global("a", "b").Op(Op::kEmptyList).Op(Op::kReduce).Stop(), "pickle.bad_value",
     "no tuple"},
    {"KwargsNoDict", New().Global("a", "b").Op(Op::kEmptyTuple).None().Op(Op::kNewObjEx).Stop(), "pickle.bad_value",
     "no dict"},
    {"BuildOfADict", New().Op(Op::kEmptyDict).None().Op(Op::kBuild).Stop(), "pickle.bad_value", "no object"},
    {"BuildTwice",
     New()
         .Global("a", "b")
         .Op(Op::kEmptyTuple)
         .Op(Op::kNewObj)
         .Op(Op::kEmptyDict)
         .Op(Op::kBuild)
         .Op(Op::kEmptyDict)
         .Op(Op::kBuild)
         .Stop(),
     "pickle.bad_value", "twice"},
    {"EntryAfterBuild",
     New()
         .Global("a", "b")
         .Op(Op::kEmptyTuple)
         .Op(Op::kNewObj)
         .Op(Op::kEmptyDict)
         .Op(Op::kBuild)
         .None()
         .None()
         .Op(Op::kSetItem)
         .Stop(),
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

INSTANTIATE_TEST_SUITE_P(Unpickle, FaultTest, testing::ValuesIn(kFaults),
                         [](const auto& test) { return test.param.name; });

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

}  // namespace
}  // namespace ck::pickle
