#include "libs/checkpoint/state_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ck::checkpoint {
namespace {

using pickle::Form;
using pickle::Graph;
using pickle::kNoRef;
using pickle::Ref;

class StateJsonTest : public testing::Test {
 protected:
  Ref Text(std::string_view text) { return graph_.NewString(text); }
  Ref Int(int64_t value) { return graph_.NewInt(value); }
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
  Ref Namespace(std::initializer_list<std::pair<std::string_view, Ref>> fields) {
    return WithState(graph_.NewObject(Form::kNewObj, Global("argparse", "Namespace"), Tuple({})), Dict(fields));
  }
  Ref NumpyType(std::string_view code) {
    const Ref none = graph_.NewNone();
    return WithState(Call("numpy", "dtype", {Text(code), graph_.NewBool(false), graph_.NewBool(true)}),
                     Tuple({Int(3), Text("<"), none, none, none, Int(-1), Int(-1), Int(0)}));
  }
  Ref NumpyScalar(std::string_view code, std::string_view bytes) {
    return Call("numpy._core.multiarray", "scalar", {NumpyType(code), graph_.NewBytes(bytes)});
  }
  Ref NumpyBytes(std::initializer_list<int64_t> shape, std::string_view bytes) {
    std::vector<Ref> dims;
    for (const int64_t dim : shape) dims.push_back(Int(dim));
    return WithState(Call("numpy.core.multiarray", "_reconstruct",
                          {Global("numpy", "ndarray"), Tuple({Int(0)}), graph_.NewBytes("b")}),
                     Tuple({Int(1), graph_.NewTuple(dims), NumpyType("u1"), graph_.NewBool(false),
                            graph_.NewBytes(bytes)}));
  }
  std::string Show(Ref ref, const StateLimits& limits = {}) {
    const StateJson out = StateToJson(graph_, ref, limits);
    cut_ = out.cut;
    return json::Write(out.value, {.final_newline = false});
  }

  Graph graph_;
  bool cut_ = false;
};

TEST_F(StateJsonTest, PlainValues) {
  const double infinity = std::numeric_limits<double>::infinity();
  const struct {
    Ref value;
    std::string_view json;
  } kCases[] = {
      {graph_.NewNone(), "null"},
      {graph_.NewBool(true), "true"},
      {graph_.NewBool(false), "false"},
      {Int(0), "0"},
      {Int(std::numeric_limits<int64_t>::min()), "-9223372036854775808"},
      {Int(std::numeric_limits<int64_t>::max()), "9223372036854775807"},
      {graph_.NewBigInt(std::string(9, '\x01')), R"("18519084246547628289")"},
      {graph_.NewFloat(0.1), "0.1"},
      {graph_.NewFloat(1e-5), "1e-05"},
      {graph_.NewFloat(3), "3.0"},
      {graph_.NewFloat(-0.0), "-0.0"},
      {graph_.NewFloat(std::numeric_limits<double>::denorm_min()), "5e-324"},
      {graph_.NewFloat(infinity), R"("inf")"},
      {graph_.NewFloat(-infinity), R"("-inf")"},
      {graph_.NewFloat(std::nan("")), R"("nan")"},
      {Text(""), R"("")"},
      {Text("gr\xc3\xbc\xc3\x9f\"e\n"), "\"gr\xc3\xbc\xc3\x9f\\\"e\\n\""},
      {Text("\xed\xa0\x80"), R"("\\xed\\xa0\\x80")"},  // a lone surrogate
  };
  for (const auto& one : kCases) EXPECT_EQ(Show(one.value), one.json);
}

TEST_F(StateJsonTest, LongTextIsWhole) {
  EXPECT_EQ(Show(Text(std::string(100'000, 'x'))), "\"" + std::string(100'000, 'x') + "\"");
  EXPECT_FALSE(cut_);
}

TEST_F(StateJsonTest, Containers) {
  const Ref mixed = Dict({{"a", Int(1)}});
  graph_.AppendEntry(mixed, Int(0), Text("zero"));
  graph_.AppendEntry(mixed, Tuple({Int(1), Text("b")}), graph_.NewList({}));
  const Ref ordered = Call("collections", "OrderedDict", {});
  graph_.AppendEntry(ordered, Text("k"), Int(7));
  const Ref empty_namespace = graph_.NewObject(Form::kNewObj, Global("argparse", "Namespace"), Tuple({}));
  const Ref same_text = Dict({{"\xff", Int(1)}, {"\\xff", Int(2)}});  // both read \xff
  const struct {
    Ref value;
    std::string_view json;
  } kCases[] = {
      {graph_.NewList({Int(1), graph_.NewNone(), graph_.NewList({})}), "[1,null,[]]"},
      {Tuple({Int(1), Text("b")}), R"([1,"b"])"},
      {graph_.NewSet({Int(1), Int(2)}), "[1,2]"},
      {graph_.NewFrozenSet({Int(3)}), "[3]"},
      {Call("__builtin__", "set", {graph_.NewList({Int(4)})}), "[4]"},
      {Call("builtins", "frozenset", {graph_.NewList({Int(5)})}), "[5]"},
      {Dict({}), "{}"},
      {Dict({{"b", Int(1)}, {"a", Dict({{"c", Int(2)}})}}), R"({"b":1,"a":{"c":2}})"},
      {mixed, R"x([["a",1],[0,"zero"],["(1, 'b')",[]]])x"},
      {same_text, R"([["\\xff",1],["\\xff",2]])"},
      {ordered, R"({"k":7})"},
      {Namespace({{"lr", graph_.NewFloat(0.5)}, {"inner", Namespace({{"x", Int(1)}})}}),
       R"({"lr":0.5,"inner":{"x":1}})"},
      {empty_namespace, "{}"},
      {Call("torch", "Size", {Tuple({Int(2), Int(3)})}), "[2,3]"},
  };
  for (const auto& one : kCases) EXPECT_EQ(Show(one.value), one.json);
}

TEST_F(StateJsonTest, Classes) {
  const Ref partial = WithState(Call("functools", "partial", {Global("torch", "relu")}), Tuple({Int(1)}));
  const struct {
    Ref value;
    std::string_view json;
  } kCases[] = {
      {Global("torch", "bfloat16"), R"("torch.bfloat16")"},
      {Call("megatron.core.transformer.enums", "AttnBackend", {Int(5)}), R"x("AttnBackend(5)")x"},
      {Call("pathlib", "PosixPath", {Text("/"), Text("data"), Text("x")}), R"("/data/x")"},
      {graph_.NewBytes("a\xff"), R"("b'a\\xff'")"},
      {Global("megatron.core.optimizer", "Adam"), R"("<megatron.core.optimizer.Adam>")"},
      {partial, R"x("<functools.partial(<torch.relu>,) (1,)>")x"},
      {NumpyScalar("i8", std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8)), "-2"},
      {NumpyScalar("u1", "\xff"), "255"},
      {NumpyScalar("b1", "\x01"), "true"},
      {NumpyScalar("f4", std::string("\xcd\xcc\xcc\x3d", 4)), "0.1"},
      {NumpyScalar("f4", std::string("\x00\x00\xc0\x7f", 4)), R"("nan")"},
      {NumpyBytes({3}, "\x01\x02\x03"), "[1,2,3]"},
      {NumpyBytes({1, 2}, "\x01\x02"), R"x("ndarray(shape=(1, 2), dtype=uint8)")x"},
      {NumpyBytes({65}, std::string(65, '\0')), R"x("ndarray(shape=(65,), dtype=uint8)")x"},
  };
  for (const auto& one : kCases) EXPECT_EQ(Show(one.value), one.json);
}

TEST_F(StateJsonTest, OddShapesAreText) {
  const struct {
    Ref value;
    std::string_view json;
  } kCases[] = {
      {WithState(Call("argparse", "Namespace", {}), Int(3)), R"("<argparse.Namespace 3>")"},
      {Call("torch", "Size", {Text("3")}), R"x("Size('3')")x"},
      {Call("__builtin__", "set", {Int(3)}), R"x("<__builtin__.set(3,)>")x"},
      {Call("collections", "OrderedDict", {graph_.NewList({})}), R"x("<collections.OrderedDict([],)>")x"},
      {graph_.NewPersistent(Text("id")), R"("<persistent id 'id'>")"},
  };
  for (const auto& one : kCases) EXPECT_EQ(Show(one.value), one.json);
  EXPECT_FALSE(cut_);
}

TEST_F(StateJsonTest, DepthIsCut) {
  Ref deep = Int(1);
  for (int i = 0; i < 100'000; ++i) deep = graph_.NewList({deep});
  const std::string text = Show(Dict({{"deep", deep}, {"after", Int(2)}}));
  EXPECT_TRUE(cut_);
  EXPECT_NE(text.find(R"(["..."])"), std::string::npos);
  EXPECT_NE(text.find(R"("after":2)"), std::string::npos);
}

TEST_F(StateJsonTest, CyclesAreCut) {
  const Ref list = graph_.NewList({Int(1)});
  graph_.AppendItem(list, list);
  EXPECT_EQ(Show(list, {.levels = 2}), R"([1,[1,"..."]])");
  EXPECT_TRUE(cut_);
  Show(list);  // within the depth that JSON may have
  const Ref dict = graph_.NewDict();
  graph_.AppendEntry(dict, Int(0), dict);
  Show(dict);
  EXPECT_TRUE(cut_);
}

// 2^40 values written in 40 nodes: what is shallow, before and after them, is not lost.
TEST_F(StateJsonTest, SharedPartsAreBounded) {
  Ref bomb = Int(1);
  for (int i = 0; i < 40; ++i) bomb = graph_.NewList({bomb, bomb});
  const Ref args = Namespace({{"lr", graph_.NewFloat(0.5)}});
  const StateJson out = StateToJson(graph_, Dict({{"bomb", bomb}, {"args", args}}), {.values = 1000});
  EXPECT_TRUE(out.cut);
  EXPECT_EQ(json::Write(*out.value.AsObject()->Find("args"), {.final_newline = false}), R"({"lr":0.5})");
  EXPECT_LT(json::Write(out.value).size(), 20'000u);
}

TEST_F(StateJsonTest, TextIsBounded) {
  const Ref long_text = Text(std::string(600, 'x'));
  const Ref list = graph_.NewList({long_text, Int(1), long_text, Text("end")});
  EXPECT_EQ(Show(list, {.text_bytes = 1000}), "[\"" + std::string(600, 'x') + R"(",1,"...","end"])");
  EXPECT_TRUE(cut_);
  const Ref bytes = graph_.NewBytes(std::string(100'000, 'y'));
  EXPECT_LT(Show(bytes).size(), 5000u);
  const Ref many = graph_.NewList({bytes, bytes, bytes});
  EXPECT_LT(Show(many, {.text_bytes = 2500}).size(), 2600u);
  EXPECT_TRUE(cut_);
}

}  // namespace
}  // namespace ck::checkpoint
