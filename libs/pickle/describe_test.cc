#include "libs/pickle/describe.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ck::pickle {
namespace {

class DescribeTest : public testing::Test {
 protected:
  Ref Text(std::string_view text) { return graph_.NewString(text); }
  Ref Int(int64_t value) { return graph_.NewInt(value); }
  Ref Bytes(std::string_view bytes) { return graph_.NewBytes(bytes); }
  Ref Tuple(std::initializer_list<Ref> items) { return graph_.NewTuple(items); }
  Ref Global(std::string_view module, std::string_view name) { return graph_.NewGlobal(module, name); }
  Ref Call(std::string_view module, std::string_view name, std::initializer_list<Ref> args) {
    return graph_.NewObject(Form::kReduce, Global(module, name), Tuple(args));
  }
  Ref Dict(std::initializer_list<std::pair<std::string_view, Ref>> entries) {
    const Ref dict = graph_.NewDict();
    for (const auto& [key, value] : entries) graph_.DictSet(dict, key, value);
    return dict;
  }
  Ref WithState(Ref object, Ref state) {
    graph_.SetState(object, state);
    return object;
  }
  Ref NumpyType(std::string_view code, std::string_view order) {
    const Ref none = graph_.NewNone();
    return WithState(Call("numpy", "dtype", {Text(code), graph_.NewBool(false), graph_.NewBool(true)}),
                     Tuple({Int(3), Text(order), none, none, none, Int(-1), Int(-1), Int(0)}));
  }
  Ref Scalar(std::string_view code, std::string_view bytes, std::string_view order = "<") {
    return Call("numpy._core.multiarray", "scalar", {NumpyType(code, order), Bytes(bytes)});
  }
  Ref Array(std::string_view code, Ref shape, std::string_view bytes) {
    return WithState(
        Call("numpy.core.multiarray", "_reconstruct", {Global("numpy", "ndarray"), Tuple({Int(0)}), Bytes("b")}),
        Tuple({Int(1), shape, NumpyType(code, "<"), graph_.NewBool(false), Bytes(bytes)}));
  }
  std::string Show(Ref ref, size_t limit = 500) { return Describe(graph_, ref, limit); }

  Graph graph_;
};

TEST_F(DescribeTest, Scalars) {
  EXPECT_EQ(Show(graph_.NewNone()), "None");
  EXPECT_EQ(Show(graph_.NewBool(true)), "True");
  EXPECT_EQ(Show(Int(-5)), "-5");
  EXPECT_EQ(Show(graph_.NewBigInt(std::string(9, '\x01'))), "18519084246547628289");
  EXPECT_EQ(Show(graph_.NewFloat(0.1)), "0.1");
  EXPECT_EQ(Show(graph_.NewFloat(3)), "3.0");
  EXPECT_EQ(Show(Text("a\nb")), "'a\\x0ab'");
  EXPECT_EQ(Show(Bytes("\xff")), "b'\\xff'");
}

TEST_F(DescribeTest, Containers) {
  EXPECT_EQ(Show(Tuple({})), "()");
  EXPECT_EQ(Show(Tuple({Int(1)})), "(1,)");
  EXPECT_EQ(Show(Tuple({Int(1), graph_.NewList({Int(2), Int(3)})})), "(1, [2, 3])");
  EXPECT_EQ(Show(Dict({{"a", Int(1)}, {"b", graph_.NewDict()}})), "{'a': 1, 'b': {}}");
  EXPECT_EQ(Show(graph_.NewSet({Int(1)})), "{1}");
  EXPECT_EQ(Show(graph_.NewSet({})), "set()");
  EXPECT_EQ(Show(graph_.NewFrozenSet({Int(1)})), "frozenset({1})");
  EXPECT_EQ(Show(graph_.NewFrozenSet({})), "frozenset()");
  EXPECT_EQ(Show(Call("__builtin__", "set", {graph_.NewList({Int(4)})})), "{4}");
  EXPECT_EQ(Show(Call("__builtin__", "frozenset", {graph_.NewList({Int(4)})})), "frozenset({4})");
}

TEST_F(DescribeTest, KnownObjects) {
  const Ref fields = Dict({{"num_layers", Int(4)}, {"params_dtype", Global("torch", "bfloat16")}});
  EXPECT_EQ(Show(WithState(graph_.NewObject(Form::kNewObj, Global("argparse", "Namespace"), Tuple({})), fields)),
            "Namespace(num_layers=4, params_dtype=torch.bfloat16)");
  EXPECT_EQ(Show(WithState(Call("types", "SimpleNamespace", {}), fields)),
            "SimpleNamespace(num_layers=4, params_dtype=torch.bfloat16)");
  const Ref ordered = Call("collections", "OrderedDict", {});
  graph_.AppendEntry(ordered, Text("k"), Int(1));
  EXPECT_EQ(Show(ordered), "OrderedDict({'k': 1})");
  EXPECT_EQ(Show(Call("torch", "Size", {Tuple({Int(2), Int(3)})})), "(2, 3)");
  EXPECT_EQ(Show(Call("megatron.core.transformer.enums", "AttnBackend", {Int(5)})), "AttnBackend(5)");
  EXPECT_EQ(Show(Call("builtins", "getattr", {Global("m", "Mode"), Text("FAST")})), "Mode.FAST");
  EXPECT_EQ(Show(Call("_codecs", "encode", {Text("\xc3\xbf"), Text("latin1")})), "b'\\xff'");
  EXPECT_EQ(Show(Call("builtins", "bytearray", {Bytes("ab")})), "bytearray(b'ab')");
  EXPECT_EQ(Show(Call("pathlib", "PosixPath", {Text("/"), Text("data")})), "'/data'");
}

TEST_F(DescribeTest, Tensors) {
  const Ref storage =
      graph_.NewPersistent(Tuple({Text("storage"), Global("torch", "HalfStorage"), Text("0"), Text("cpu"), Int(6)}));
  const Ref tensor =
      Call("torch._utils", "_rebuild_tensor_v2",
           {storage, Int(0), Tuple({Int(2), Int(3)}), Tuple({Int(3), Int(1)}), graph_.NewBool(false), Tuple({})});
  EXPECT_EQ(Show(tensor), "tensor(F16, [2, 3])");
  EXPECT_EQ(Show(storage), "<persistent id ('storage', <torch.HalfStorage>, '0', 'cpu', 6)>");
}

TEST_F(DescribeTest, NumpyScalars) {
  EXPECT_EQ(Show(Scalar("f8", std::string("\0\0\0\0\0\0\xf8\x3f", 8))), "float64(1.5)");
  EXPECT_EQ(Show(Scalar("f8", std::string("\x3f\xf8\0\0\0\0\0\0", 8), ">")), "float64(1.5)");
  EXPECT_EQ(Show(Scalar("f4", "\xcd\xcc\xcc\x3d")), "float32(0.1)");
  EXPECT_EQ(Show(Scalar("f2", std::string("\x00\x3e", 2))), "float16(1.5)");
  EXPECT_EQ(Show(Scalar("f2", std::string("\x00\xfc", 2))), "float16(-inf)");
  EXPECT_EQ(Show(Scalar("f2", std::string("\x01\x00", 2))), "float16(5.9604645e-08)");
  EXPECT_EQ(Show(Scalar("i2", "\xfe\xff")), "int16(-2)");
  EXPECT_EQ(Show(Scalar("i8", std::string(8, '\xff'))), "int64(-1)");
  EXPECT_EQ(Show(Scalar("u8", std::string(8, '\xff'))), "uint64(18446744073709551615)");
  EXPECT_EQ(Show(Scalar("b1", "\x01", "|")), "bool(True)");
  EXPECT_EQ(Show(Scalar("c8", std::string("\0\0\x80\x3f\0\0\x80\xbf", 8))), "complex64((1.0-1.0j))");
}

TEST_F(DescribeTest, NumpyArrays) {
  EXPECT_EQ(Show(Array("u4", Tuple({Int(2)}), std::string("\x01\0\0\0\x02\0\0\0", 8))),
            "ndarray([1, 2], dtype=uint32)");
  EXPECT_EQ(Show(Array("u4", Tuple({Int(624)}), std::string(2496, 'x'))), "ndarray(shape=(624,), dtype=uint32)");
  EXPECT_EQ(Show(Array("u1", Tuple({Int(2), Int(1)}), "ab")), "ndarray(shape=(2, 1), dtype=uint8)");
  EXPECT_EQ(Show(Array("u1", Tuple({Int(0)}), "")), "ndarray([], dtype=uint8)");
}

TEST_F(DescribeTest, UnknownThings) {
  EXPECT_EQ(Show(Global("foo", "Bar")), "<foo.Bar>");
  EXPECT_EQ(Show(Call("posix", "system", {Text("touch x")})), "<posix.system('touch x',)>");
  EXPECT_EQ(Show(WithState(graph_.NewObject(Form::kNewObj, Global("foo", "Bar"), Tuple({})), Dict({{"a", Int(1)}}))),
            "<foo.Bar a=1>");
  EXPECT_EQ(Show(WithState(Call("foo", "Bar", {}), Tuple({Int(1), Int(2)}))), "<foo.Bar (1, 2)>");
  EXPECT_EQ(Show(Global("foo\x1b", "Bar")), "<foo\\x1b.Bar>");
}

// Objects of known classes with parts that make no sense are shown as unknown ones.
TEST_F(DescribeTest, OddShapes) {
  EXPECT_EQ(Show(Call("torch", "Size", {Int(-1)})), "Size(-1)");
  EXPECT_EQ(Show(Call("torch", "Size", {})), "<torch.Size>");
  EXPECT_EQ(Show(Call("argparse", "Namespace", {})), "<argparse.Namespace>");
  EXPECT_EQ(Show(Scalar("f8", "short")).substr(0, 29), "<numpy._core.multiarray.scala");
  EXPECT_EQ(Show(Scalar("O8", "12345678")).substr(0, 29), "<numpy._core.multiarray.scala");
  EXPECT_EQ(Show(Scalar("f", "1")).substr(0, 29), "<numpy._core.multiarray.scala");
  EXPECT_EQ(Show(Array("u4", Tuple({Int(3)}), "1234")).substr(0, 28), "<numpy.core.multiarray._reco");
  EXPECT_EQ(Show(Array("u4", Tuple({Int(INT64_MAX), Int(INT64_MAX)}), "1234")).substr(0, 28),
            "<numpy.core.multiarray._reco");
  EXPECT_EQ(Show(Call("numpy.core.multiarray", "_reconstruct", {})), "<numpy.core.multiarray._reconstruct>");
}

TEST_F(DescribeTest, LimitCutsBetweenCharacters) {
  EXPECT_EQ(Show(Text("abcdef"), 8), "'abcdef'");
  EXPECT_EQ(Show(Text("abcdef"), 4).substr(0, 4), "'abc");
  EXPECT_EQ(Show(graph_.NewList({Int(100), Int(200), Int(300)}), 7), "[100, 2...");
  const std::string cut = Show(Tuple({Text("\xc3\xa9\xc3\xa9\xc3\xa9")}), 4);
  EXPECT_EQ(cut, "('\xc3\xa9...");
}

TEST_F(DescribeTest, DepthAndCyclesEnd) {
  Ref deep = Tuple({});
  for (int i = 0; i < 100'000; ++i) deep = graph_.NewList({deep});
  EXPECT_EQ(Show(deep), std::string(kMaxDescribeDepth, '[') + "..." + std::string(kMaxDescribeDepth, ']'));
  const Ref loop = graph_.NewList({});
  graph_.AppendItem(loop, loop);
  EXPECT_EQ(Show(loop), std::string(kMaxDescribeDepth, '[') + "..." + std::string(kMaxDescribeDepth, ']'));
  Ref wide = Int(1);
  for (int i = 0; i < 1000; ++i) wide = Tuple({wide, wide});
  EXPECT_LE(Show(wide, 200).size(), 203u);
}

}  // namespace
}  // namespace ck::pickle
