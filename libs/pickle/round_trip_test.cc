// Decoding what was encoded gives the same graph, for real pickles and for made ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/error.h"
#include "libs/bytes/reader.h"
#include "libs/pickle/pickle.h"
#include "libs/pickle/testing/pickle_builder.h"
#include "libs/pickle/testing/same_graph.h"
#include "libs/pickle/unpickle.h"

namespace ck::pickle {
namespace {

std::string ReadFixture(const std::string& name) {
  std::ifstream file("testdata/fixtures/" + name, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The data.pkl of a torch.save archive: its records are stored, and this one is the first.
std::string DataPkl(const std::string& archive) {
  const size_t name = archive.find("/data.pkl");
  const size_t begin = archive.find("\x80\x02", name);
  const size_t end = archive.find("PK\x07\x08", begin);
  EXPECT_NE(end, std::string::npos);
  return archive.substr(begin, end - begin);
}

struct RealCase {
  std::string name;
  std::string file;
  int protocol;  // what its PROTO opcode says

  // The protocol to write it back with.
  Protocol target() const { return protocol == 2 ? Protocol::k2 : Protocol::k4; }
};

std::string Load(const RealCase& real) {
  const std::string file = ReadFixture(real.file);
  return real.protocol == 2 ? DataPkl(file) : file;
}

class RealTest : public testing::TestWithParam<RealCase> {};

TEST_P(RealTest, EncodesToTheSameGraph) {
  const std::string data = Load(GetParam());
  const Unpickled first = Unpickle(data, PersistentIds::kKeep);
  EXPECT_EQ(first.bytes_used, data.size());
  EXPECT_EQ(first.protocol, GetParam().protocol);
  const std::string encoded = Pickle(first.graph, first.root, GetParam().target());
  const Unpickled second = Unpickle(encoded, PersistentIds::kKeep);
  EXPECT_EQ(second.bytes_used, encoded.size());
  EXPECT_EQ(Difference(first.graph, first.root, second.graph, second.root), "");
  EXPECT_EQ(Pickle(second.graph, second.root, GetParam().target()), encoded);
}

TEST_P(RealTest, ImportsToTheSameGraph) {
  const Unpickled first = Unpickle(Load(GetParam()), PersistentIds::kKeep);
  Graph copy;
  copy.NewString("something that was there before");
  const Ref root = copy.Import(first.graph, first.root);
  EXPECT_EQ(Difference(first.graph, first.root, copy, root), "");
}

TEST_P(RealTest, EveryPrefixFails) {
  const std::string data = Load(GetParam());
  for (size_t length = 0; length < data.size(); ++length) {
    EXPECT_THROW(Unpickle(std::string_view(data).substr(0, length), PersistentIds::kKeep), Error) << length;
  }
}

// Decodes, and encodes what could be decoded. Returns false when the input was refused, as input should be.
bool Survives(const std::string& data, Protocol protocol) {
  try {
    const Unpickled result = Unpickle(data, PersistentIds::kKeep);
    Pickle(result.graph, result.root, protocol);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput) << error.message();
    return false;
  }
}

TEST_P(RealTest, AFlippedBitNeverCrashes) {
  constexpr size_t kAllBits = 1000;  // bytes up to which every bit is flipped; of longer ones one bit of each byte
  std::string data = Load(GetParam());
  const size_t step = data.size() <= kAllBits ? 1 : 7;
  size_t refused = 0;
  for (size_t bit = 0; bit < data.size() * 8; bit += step) {
    const char flip = static_cast<char>(1 << bit % 8);
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ flip);
    if (!Survives(data, GetParam().target())) ++refused;
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ flip);
  }
  EXPECT_GT(refused, data.size() / 4);
}

TEST_P(RealTest, OnePercentOfFlippedBitsNeverCrashes) {
  const std::string data = Load(GetParam());
  std::mt19937 random(20);
  for (int round = 0; round < 100; ++round) {
    std::string bad = data;
    for (size_t i = 0; i < data.size() * 8 / 100; ++i) {
      const size_t bit = random() % (data.size() * 8);
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    }
    Survives(bad, GetParam().target());
  }
}

const RealCase kReal[] = {
    {"MetadataTorch214", "t214_basic/.metadata", 5},
    {"MetadataTorch26", "t26_basic/.metadata", 4},
    {"MetadataMegatronMain", "mcore_head_t214/.metadata", 5},
    {"MetadataMegatron0153", "mcore_0153_t26/.metadata", 4},
    {"CommonTorch214", "t214_common.pt", 2},
    {"CommonTorch26", "t26_common.pt", 2},
    {"CommonTorch113", "t113_common.pt", 2},
};

INSTANTIATE_TEST_SUITE_P(RoundTrip, RealTest, testing::ValuesIn(kReal),
                         [](const auto& test) { return test.param.name; });

// True for the opcodes that PyTorch's weights-only loader takes.
bool IsWeightsOnly(Op op) {
  constexpr Op kAccepted[] = {
      Op::kProto,   Op::kGlobal,   Op::kReduce,  Op::kBinPut,    Op::kLongBinPut, Op::kBinGet,     Op::kLongBinGet,
      Op::kMark,    Op::kTuple,    Op::kTuple1,  Op::kTuple2,    Op::kTuple3,     Op::kEmptyTuple, Op::kEmptyList,
      Op::kAppend,  Op::kAppends,  Op::kSetItem, Op::kSetItems,  Op::kEmptyDict,  Op::kBuild,      Op::kNewObj,
      Op::kBinInt,  Op::kBinInt1,  Op::kBinInt2, Op::kLong1,     Op::kBinFloat,   Op::kBinUnicode, Op::kNone,
      Op::kNewTrue, Op::kNewFalse, Op::kStop,    Op::kBinPersId,
  };
  return std::find(std::begin(kAccepted), std::end(kAccepted), op) != std::end(kAccepted);
}

// The opcodes of a pickle of protocol 2, without their arguments.
std::vector<Op> Opcodes(const std::string& data) {
  bytes::Reader in(data, "test.truncated", "pickle");
  std::vector<Op> ops;
  while (!in.AtEnd()) {
    const Op op = static_cast<Op>(in.U8());
    ops.push_back(op);
    switch (op) {
      case Op::kProto:
      case Op::kBinPut:
      case Op::kBinGet:
      case Op::kBinInt1: in.Take(1); break;
      case Op::kBinInt2: in.Take(2); break;
      case Op::kLongBinPut:
      case Op::kLongBinGet:
      case Op::kBinInt: in.Take(4); break;
      case Op::kBinFloat: in.Take(8); break;
      case Op::kLong1: in.Take(in.U8()); break;
      case Op::kBinUnicode: in.Take(in.U32()); break;
      case Op::kGlobal:
        in.TakeUntil('\n');
        in.TakeUntil('\n');
        break;
      default: break;
    }
  }
  return ops;
}

TEST(WeightsOnlyTest, Protocol2KeepsToTheAcceptedOpcodes) {
  for (const RealCase& real : kReal) {
    const Unpickled decoded = Unpickle(Load(real), PersistentIds::kKeep);
    const std::vector<Op> ops = Opcodes(Pickle(decoded.graph, decoded.root, Protocol::k2));
    EXPECT_EQ(ops.back(), Op::kStop);
    for (const Op op : ops) EXPECT_TRUE(IsWeightsOnly(op)) << real.name << ": opcode " << static_cast<int>(op);
  }
}

// What is written for one graph, and that it reads back.
class EncodeTest : public testing::Test {
 protected:
  std::string Encode(Ref root, Protocol protocol = Protocol::k2) {
    const std::string encoded = Pickle(graph_, root, protocol);
    back_ = Unpickle(encoded, PersistentIds::kKeep);
    return encoded;
  }
  std::string Compare(Ref root) const { return Difference(graph_, root, back_.graph, back_.root); }

  Graph graph_;
  Unpickled back_;
};

TEST_F(EncodeTest, IntegersTakeTheShortestForm) {
  const std::pair<int64_t, std::string> cases[] = {
      {0, PickleBuilder().Byte(0).Stop()},
      {255, PickleBuilder().Byte(255).Stop()},
      {256, PickleBuilder().Op(Op::kBinInt2).U16(256).Stop()},
      {65536, PickleBuilder().Int(65536).Stop()},
      {-1, PickleBuilder().Int(-1).Stop()},
      {int64_t{1} << 31, PickleBuilder().Long(std::string("\0\0\0\x80\0", 5)).Stop()},
      {-(int64_t{1} << 31) - 1, PickleBuilder().Long("\xff\xff\xff\x7f\xff").Stop()},
  };
  for (const auto& [value, expected] : cases) {
    const Ref ref = graph_.NewInt(value);
    EXPECT_EQ(Encode(ref), PickleBuilder().Proto(2).Take() + expected) << value;
    EXPECT_EQ(Compare(ref), "");
  }
}

TEST_F(EncodeTest, BigIntAndFloats) {
  const std::string big(300, '\x5a');
  for (const double value : {0.0, -0.0, 1e-300, -3.5}) {
    const Ref root = graph_.NewTuple({graph_.NewBigInt(big), graph_.NewFloat(value)});
    Encode(root);
    EXPECT_EQ(Compare(root), "");
  }
}

TEST_F(EncodeTest, OnlySharedNodesAreMemoized) {
  const Ref text = graph_.NewString("t");
  const Ref root = graph_.NewList({text, graph_.NewString("u"), text});
  EXPECT_EQ(
      Encode(root),
      PickleBuilder().Proto(2).Op(Op::kEmptyList).Mark().Text("t").Put(0).Text("u").Get(0).Op(Op::kAppends).Stop());
  EXPECT_EQ(Compare(root), "");
}

TEST_F(EncodeTest, Protocol4UsesItsOwnOpcodes) {
  const Ref text = graph_.NewString("t");
  const Ref root = graph_.NewTuple(
      {text, graph_.NewBytes("b"), graph_.NewSet({text}), graph_.NewFrozenSet({text}), graph_.NewGlobal("m", "n")});
  const auto shorts = [](Op op, std::string_view text_bytes) {
    return PickleBuilder().Op(op).U8(static_cast<uint8_t>(text_bytes.size())).Raw(text_bytes).Take();
  };
  EXPECT_EQ(Encode(root, Protocol::k4), PickleBuilder()
                                            .Proto(4)
                                            .Mark()
                                            .Raw(shorts(Op::kShortBinUnicode, "t"))
                                            .Op(Op::kMemoize)
                                            .Raw(shorts(Op::kShortBinBytes, "b"))
                                            .Op(Op::kEmptySet)
                                            .Mark()
                                            .Get(0)
                                            .Op(Op::kAddItems)
                                            .Mark()
                                            .Get(0)
                                            .Op(Op::kFrozenSet)
                                            .Raw(shorts(Op::kShortBinUnicode, "m"))
                                            .Raw(shorts(Op::kShortBinUnicode, "n"))
                                            .Op(Op::kStackGlobal)
                                            .Op(Op::kMemoize)
                                            .Op(Op::kTuple)
                                            .Stop());
  EXPECT_EQ(Compare(root), "");
}

TEST_F(EncodeTest, Protocol2SpellsBytesAndSetsAsCalls) {
  const Ref root = graph_.NewTuple({graph_.NewBytes("\xff"), graph_.NewBytes("a"), graph_.NewSet({graph_.NewInt(1)})});
  EXPECT_EQ(Encode(root), PickleBuilder()
                              .Proto(2)
                              .Global("_codecs", "encode")
                              .Put(0)
                              .Text("\xc3\xbf")
                              .Text("latin1")
                              .Put(1)
                              .Op(Op::kTuple2)
                              .Op(Op::kReduce)
                              .Get(0)
                              .Text("a")
                              .Get(1)
                              .Op(Op::kTuple2)
                              .Op(Op::kReduce)
                              .Global("__builtin__", "set")
                              .Put(2)
                              .Op(Op::kEmptyList)
                              .Byte(1)
                              .Op(Op::kAppend)
                              .Op(Op::kTuple1)
                              .Op(Op::kReduce)
                              .Op(Op::kTuple3)
                              .Stop());
}

TEST_F(EncodeTest, GlobalsAreWrittenOnce) {
  const Ref root = graph_.NewTuple({graph_.NewGlobal("torch", "int8"), graph_.NewGlobal("torch", "int8")});
  EXPECT_EQ(Encode(root), PickleBuilder().Proto(2).Global("torch", "int8").Put(0).Get(0).Op(Op::kTuple2).Stop());
}

TEST_F(EncodeTest, Protocol4HasThePython3Names) {
  const std::pair<std::pair<const char*, const char*>, std::pair<const char*, const char*>> cases[] = {
      {{"__builtin__", "set"}, {"builtins", "set"}},
      {{"__builtin__", "long"}, {"builtins", "int"}},
      {{"__builtin__", "xrange"}, {"builtins", "range"}},
      {{"copy_reg", "_reconstructor"}, {"copyreg", "_reconstructor"}},
      {{"torch", "long"}, {"torch", "long"}},
  };
  for (const auto& [old_name, new_name] : cases) {
    const Ref global = graph_.NewGlobal(old_name.first, old_name.second);
    Encode(global, Protocol::k4);
    EXPECT_TRUE(back_.graph.IsGlobal(back_.root, new_name.first, new_name.second)) << old_name.second;
    Encode(global, Protocol::k2);
    EXPECT_EQ(Compare(global), "");
  }
}

TEST_F(EncodeTest, LongContainersGoInBatches) {
  const Ref list = graph_.NewList({});
  const Ref dict = graph_.NewDict();
  for (int i = 0; i < 2001; ++i) {
    graph_.AppendItem(list, graph_.NewInt(i));
    graph_.AppendEntry(dict, graph_.NewInt(i), list);
  }
  const std::string encoded = Encode(dict, Protocol::k4);
  EXPECT_EQ(Compare(dict), "");
  EXPECT_EQ(encoded.substr(encoded.size() - 2), "s.");  // the last batch has one entry
  EXPECT_THROW(Unpickle(encoded, PersistentIds::kRefuse, {.max_depth = 2000}), Error);
  EXPECT_NO_THROW(Unpickle(encoded, PersistentIds::kRefuse, {.max_depth = 3010}));
}

TEST_F(EncodeTest, ObjectsWithAllTheirParts) {
  const Ref type = graph_.NewGlobal("a", "B");
  const Ref object = graph_.NewObject(Form::kNewObj, type, graph_.NewTuple({graph_.NewInt(1)}));
  graph_.AppendItem(object, graph_.NewInt(2));
  graph_.AppendEntry(object, graph_.NewString("k"), object);
  graph_.SetAttribute(object, "self", object);
  const Ref call =
      graph_.NewObject(Form::kReduce, type, graph_.NewTuple({object, graph_.NewPersistent(graph_.NewString("id"))}));
  Encode(call);
  EXPECT_EQ(Compare(call), "");
  const Ref with_kwargs = graph_.NewObject(Form::kNewObjEx, type, graph_.NewTuple({}), graph_.NewDict());
  Encode(with_kwargs, Protocol::k4);
  EXPECT_EQ(Compare(with_kwargs), "");
  try {
    Encode(with_kwargs, Protocol::k2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "pickle.unwritable");
  }
}

TEST_F(EncodeTest, DeepNestingNeedsNoCallStack) {
  Ref root = graph_.NewTuple({});
  for (int i = 0; i < 100'000; ++i) root = i % 2 == 0 ? graph_.NewList({root}) : graph_.NewTuple({root});
  Encode(root);
  EXPECT_EQ(Compare(root), "");
}

// A tuple in a list in itself: the inner one is complete first, and is the one that stays.
TEST_F(EncodeTest, CycleThroughATupleOrACall) {
  for (const bool call : {false, true}) {
    const Ref list = graph_.NewList({});
    const Ref tuple = graph_.NewTuple({list, graph_.NewInt(7)});
    const Ref knot = call ? graph_.NewObject(Form::kReduce, graph_.NewGlobal("a", "B"), tuple) : tuple;
    graph_.AppendItem(list, knot);
    for (const Ref root : {knot, list, graph_.NewTuple({knot, list})}) {
      for (const Protocol protocol : {Protocol::k2, Protocol::k4}) {
        Encode(root, protocol);
        EXPECT_EQ(Compare(root), "");
      }
    }
  }
}

TEST_F(EncodeTest, CycleThroughFrozenSetAndDict) {
  const Ref dict = graph_.NewDict();
  const Ref set =
      graph_.NewFrozenSet({graph_.NewObject(Form::kReduce, graph_.NewGlobal("a", "B"), graph_.NewTuple({dict}))});
  graph_.DictSet(dict, "set", set);
  Encode(set, Protocol::k4);
  EXPECT_EQ(Compare(set), "");
}

TEST_F(EncodeTest, TooManyNestedBeginningsAreRefused) {
  std::vector<Ref> lists;
  for (int i = 0; i < 100; ++i) lists.push_back(graph_.NewList({}));
  const Ref tuple = graph_.NewTuple(lists);
  for (const Ref list : lists) graph_.AppendItem(list, tuple);
  try {
    Encode(tuple);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "pickle.unwritable");
  }
}

}  // namespace
}  // namespace ck::pickle
