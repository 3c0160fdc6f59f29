#include "libs/pickle/torch_objects.h"

#include <gtest/gtest.h>

namespace ck::pickle {
namespace {

class TorchObjectsTest : public testing::Test {
 protected:
  Ref Text(std::string_view text) { return graph_.NewString(text); }
  Ref Int(int64_t value) { return graph_.NewInt(value); }
  Ref Call(std::string_view module, std::string_view name, std::initializer_list<Ref> args) {
    return graph_.NewObject(Form::kReduce, graph_.NewGlobal(module, name), graph_.NewTuple(args));
  }
  Ref Size(std::initializer_list<Ref> dims) { return Call("torch", "Size", {graph_.NewTuple(dims)}); }
  Ref Storage(std::string_view name) {
    return graph_.NewPersistent(
        graph_.NewTuple({Text("storage"), graph_.NewGlobal("torch", name), Text("0"), Text("cpu"), Int(6)}));
  }

  Graph graph_;
};

TEST_F(TorchObjectsTest, Bytes) {
  EXPECT_EQ(BytesValue(graph_, graph_.NewBytes("\xff")), "\xff");
  EXPECT_EQ(BytesValue(graph_, Call("_codecs", "encode",
                                    {Text("\xc3\xbf"
                                          "a"),
                                     Text("latin1")})),
            "\xff"
            "a");
  EXPECT_EQ(BytesValue(graph_, Call("__builtin__", "bytes", {})), "");
  EXPECT_EQ(BytesValue(graph_, Call("builtins", "bytearray", {graph_.NewBytes("x")})), "x");
  EXPECT_EQ(BytesValue(graph_, Call("__builtin__", "bytearray", {Text("\xc3\xbf"), Text("latin-1")})), "\xff");
  EXPECT_EQ(BytesValue(graph_, Call("_codecs", "encode", {Text("\xe2\x82\xac"), Text("latin1")})), std::nullopt);
  EXPECT_EQ(BytesValue(graph_, Call("_codecs", "encode", {Text("a"), Text("rot13")})), std::nullopt);
  EXPECT_EQ(BytesValue(graph_, Call("_codecs", "decode", {Text("a"), Text("latin1")})), std::nullopt);
  EXPECT_EQ(BytesValue(graph_, Text("a")), std::nullopt);
}

TEST_F(TorchObjectsTest, Dims) {
  using Dims = std::vector<uint64_t>;
  EXPECT_EQ(DimsValue(graph_, Size({Int(2), Int(3)})), (Dims{2, 3}));
  EXPECT_EQ(DimsValue(graph_, Size({})), Dims{});
  EXPECT_EQ(DimsValue(graph_, graph_.NewTuple({Int(7)})), Dims{7});
  EXPECT_EQ(DimsValue(graph_, graph_.NewList({Int(7)})), Dims{7});
  EXPECT_EQ(DimsValue(graph_, Size({Int(-1)})), std::nullopt);
  EXPECT_EQ(DimsValue(graph_, Size({Text("2")})), std::nullopt);
  EXPECT_EQ(DimsValue(graph_, Call("torch", "Size", {})), std::nullopt);
  EXPECT_EQ(DimsValue(graph_, Int(3)), std::nullopt);
}

TEST_F(TorchObjectsTest, DTypes) {
  EXPECT_EQ(DTypeValue(graph_, graph_.NewGlobal("torch", "bfloat16")), DType::kBF16);
  EXPECT_EQ(DTypeValue(graph_, graph_.NewGlobal("numpy", "bfloat16")), std::nullopt);
  EXPECT_EQ(DTypeValue(graph_, graph_.NewGlobal("torch", "Size")), std::nullopt);
  EXPECT_EQ(DTypeValue(graph_, Text("bfloat16")), std::nullopt);
}

TEST_F(TorchObjectsTest, Paths) {
  EXPECT_EQ(PathValue(graph_, Text("msc://p/x")), "msc://p/x");
  EXPECT_EQ(PathValue(graph_, Call("pathlib", "PosixPath", {Text("/"), Text("data"), Text("ck")})), "/data/ck");
  EXPECT_EQ(PathValue(graph_, Call("pathlib", "PosixPath", {Text("data"), Text("ck")})), "data/ck");
  EXPECT_EQ(PathValue(graph_, Call("pathlib._local", "PosixPath", {Text("/data/ck")})), "/data/ck");
  EXPECT_EQ(PathValue(graph_, Call("pathlib", "PurePosixPath", {})), ".");
  EXPECT_EQ(PathValue(graph_, Call("pathlib", "WindowsPath", {Text("C:\\"), Text("a"), Text("b")})), "C:\\a\\b");
  EXPECT_EQ(PathValue(graph_, Call("os", "PosixPath", {Text("/x")})), std::nullopt);
  EXPECT_EQ(PathValue(graph_, Call("pathlib", "PosixPath", {Int(1)})), std::nullopt);
}

TEST_F(TorchObjectsTest, Enums) {
  const auto by_value = AsEnum(graph_, Call("m.enums", "Backend", {Int(5)}));
  ASSERT_TRUE(by_value);
  EXPECT_EQ(by_value->module, "m.enums");
  EXPECT_EQ(by_value->name, "Backend");
  EXPECT_EQ(graph_.AsInt(by_value->value), 5);
  EXPECT_EQ(by_value->member, "");
  for (const char* builtins : {"builtins", "__builtin__"}) {
    const auto by_name = AsEnum(graph_, Call(builtins, "getattr", {graph_.NewGlobal("m", "E"), Text("NAME")}));
    ASSERT_TRUE(by_name);
    EXPECT_EQ(by_name->module, "m");
    EXPECT_EQ(by_name->name, "E");
    EXPECT_EQ(by_name->value, kNoRef);
    EXPECT_EQ(by_name->member, "NAME");
  }
  EXPECT_FALSE(AsEnum(graph_, Call("builtins", "getattr", {Text("m"), Text("NAME")})));
  EXPECT_FALSE(AsEnum(graph_, Call("m", "E", {Int(1), Int(2)})));
  EXPECT_FALSE(AsEnum(graph_, Call("m", "E", {})));
  EXPECT_FALSE(AsEnum(graph_, Size({Int(1)})));
}

TEST_F(TorchObjectsTest, Tensors) {
  const Ref hooks = Call("collections", "OrderedDict", {});
  const Ref no = graph_.NewBool(false);
  const Ref v2 = Call("torch._utils", "_rebuild_tensor_v2",
                      {Storage("BFloat16Storage"), Int(0), graph_.NewTuple({Int(2), Int(3)}),
                       graph_.NewTuple({Int(3), Int(1)}), no, hooks});
  const Ref v3 = Call("torch._utils", "_rebuild_tensor_v3",
                      {Storage("UntypedStorage"), Int(0), graph_.NewTuple({Int(5)}), graph_.NewTuple({Int(1)}), no,
                       hooks, graph_.NewGlobal("torch", "float8_e4m3fn")});
  const Ref parameter = Call("torch._utils", "_rebuild_parameter", {v2, no, hooks});
  const Ref quantized = Call("torch._utils", "_rebuild_tensor_v2",
                             {Storage("QInt8Storage"), Int(0), graph_.NewTuple({}), graph_.NewTuple({}), no, hooks});
  for (const Ref tensor : {v2, parameter}) {
    ASSERT_TRUE(AsTensorValue(graph_, tensor));
    EXPECT_EQ(AsTensorValue(graph_, tensor)->dtype, DType::kBF16);
    EXPECT_EQ(AsTensorValue(graph_, tensor)->shape, (std::vector<uint64_t>{2, 3}));
  }
  EXPECT_EQ(AsTensorValue(graph_, v3)->dtype, DType::kF8E4M3);
  EXPECT_EQ(AsTensorValue(graph_, quantized)->dtype, std::nullopt);
  EXPECT_FALSE(AsTensorValue(graph_, hooks));
  EXPECT_FALSE(AsTensorValue(graph_, Call("torch._utils", "_rebuild_tensor_v2", {no, no, no, no, no, no})));
  EXPECT_FALSE(AsTensorValue(graph_, Call("torch._utils", "_rebuild_parameter", {})));
}

}  // namespace
}  // namespace ck::pickle
