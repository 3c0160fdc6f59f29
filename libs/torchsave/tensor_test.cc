// AsTensor: what is a tensor, and which ones do not fit their storage.
#include <functional>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/pickle/graph.h"
#include "libs/torchsave/read.h"

namespace ck::torchsave {
namespace {

using pickle::Form;
using pickle::Graph;
using pickle::kNoRef;
using pickle::Ref;

// An object with one storage "0", and what a rebuild call is made of.
class Builder {
 public:
  std::string storage_module = "torch", storage_class = "FloatStorage";
  std::string function = "_rebuild_tensor_v2";
  int64_t elements = 30, storage_offset = 0;
  std::vector<int64_t> shape = {5, 6}, strides = {6, 1};
  std::string torch_type;  // of v3
  Ref metadata = kNoRef;
  uint64_t storage_bytes = 120;

  Graph& graph() { return object_.graph; }
  Ref Global(const char* module, const std::string& name) { return graph().NewGlobal(module, name); }
  Ref CallOf(Ref callable, std::initializer_list<Ref> args) {
    return graph().NewObject(Form::kReduce, callable, graph().NewTuple(args));
  }
  Ref Ints(const std::vector<int64_t>& values) {
    std::vector<Ref> refs;
    for (const int64_t value : values) refs.push_back(graph().NewInt(value));
    return graph().NewTuple(std::span<const Ref>(refs));
  }
  Ref PersistentId() {
    return graph().NewPersistent(
        graph().NewTuple({graph().NewString("storage"), graph().NewGlobal(storage_module, storage_class),
                          graph().NewString("0"), graph().NewString("cpu"), graph().NewInt(elements)}));
  }
  Ref Args() {
    std::vector<Ref> args = {
        PersistentId(), graph().NewInt(storage_offset), Ints(shape),
        Ints(strides),  graph().NewBool(false),         CallOf(Global("collections", "OrderedDict"), {})};
    if (!torch_type.empty()) args.push_back(Global("torch", torch_type));
    if (metadata != kNoRef) args.push_back(metadata);
    return graph().NewTuple(std::span<const Ref>(args));
  }
  Ref Tensor() { return graph().NewObject(Form::kReduce, Global("torch._utils", function), Args()); }
  SavedObject& object() {
    object_.storages = {{"0", 1000, storage_bytes, 0}};
    object_.storage_indexes = {{"0", 0}};
    return object_;
  }

 private:
  SavedObject object_;
};

TEST(Tensor, PlacesItsElements) {
  Builder b;
  b.storage_offset = 2;
  b.shape = {4, 3};
  b.strides = {1, 4};
  b.elements = 14;
  b.storage_bytes = 56;
  const auto view = AsTensor(b.object(), b.Tensor());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->dtype, DType::kF32);
  EXPECT_EQ(view->shape, (Dims{4, 3}));
  EXPECT_EQ(view->strides, (Dims{1, 4}));
  EXPECT_EQ(view->data_offset(), 1008u);
  EXPECT_FALSE(view->IsRowMajor());
  EXPECT_FALSE(view->conj || view->neg);
}

TEST(Tensor, RowMajorIgnoresStridesThatDoNotMatter) {
  const struct {
    std::vector<int64_t> shape, strides;
    bool row_major;
  } kCases[] = {
      {{}, {}, true},          {{5, 6}, {6, 1}, true},  {{1, 6}, {99, 1}, true}, {{5, 1, 3}, {3, 77, 1}, true},
      {{6, 5}, {1, 6}, false}, {{5, 3}, {6, 1}, false}, {{0, 3}, {8, 8}, true},  {{5, 3}, {0, 1}, false},
  };
  for (const auto& c : kCases) {
    Builder b;
    b.shape = c.shape;
    b.strides = c.strides;
    b.elements = 120;
    b.storage_bytes = 480;
    EXPECT_EQ(AsTensor(b.object(), b.Tensor())->IsRowMajor(), c.row_major) << ::testing::PrintToString(c.shape);
  }
}

TEST(Tensor, YoungTypesCountBytes) {
  Builder b;
  b.function = "_rebuild_tensor_v3";
  b.storage_module = "torch.storage";
  b.storage_class = "UntypedStorage";
  b.torch_type = "uint16";
  b.elements = 60;  // bytes
  b.storage_bytes = 60;
  EXPECT_EQ(AsTensor(b.object(), b.Tensor())->dtype, DType::kU16);
  b.elements = b.storage_bytes = 61;
  EXPECT_THROW(AsTensor(b.object(), b.Tensor()), Error) << "a storage that ends inside an element";
  b.elements = b.storage_bytes = 60;
  b.metadata = b.graph().NewDict();
  b.graph().DictSet(b.metadata, "neg", b.graph().NewBool(true));
  EXPECT_TRUE(AsTensor(b.object(), b.Tensor())->neg);
}

TEST(Tensor, CudaStoragesAndConjugates) {
  Builder b;
  b.storage_module = "torch.cuda";
  b.metadata = b.graph().NewDict();
  b.graph().DictSet(b.metadata, "conj", b.graph().NewBool(true));
  const auto view = AsTensor(b.object(), b.Tensor());
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->conj);
  EXPECT_FALSE(view->neg);
}

TEST(Tensor, ParametersAndSubclassesHoldOne) {
  Builder b;
  Graph& graph = b.graph();
  const Ref tensor = b.Tensor(), flag = graph.NewBool(true), none = graph.NewNone();
  const Ref subclass =
      b.CallOf(b.Global("torch._tensor", "_rebuild_from_type_v2"),
               {b.Global("torch._utils", "_rebuild_tensor_v2"), b.Global("a", "Subclass"), b.Args(), graph.NewDict()});
  const Ref of_parameter = b.CallOf(b.Global("torch.tensor", "_rebuild_from_type_v2"),
                                    {b.Global("torch._utils", "_rebuild_parameter"), b.Global("a", "Parameter"),
                                     graph.NewTuple({tensor, flag, none}), none});
  const Ref old_parameter =
      graph.NewObject(Form::kNewObj, b.Global("torch.nn.parameter", "Parameter"), graph.NewTuple({tensor, flag}));
  for (const Ref node :
       {tensor, b.CallOf(b.Global("torch._utils", "_rebuild_parameter"), {tensor, flag, none}),
        b.CallOf(b.Global("torch._utils", "_rebuild_parameter_with_state"), {subclass, flag, none, none}), subclass,
        of_parameter, old_parameter}) {
    const auto view = AsTensor(b.object(), node);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->shape, (Dims{5, 6}));
  }
}

TEST(Tensor, OtherNodesAreNone) {
  Builder b;
  Graph& graph = b.graph();
  const Ref distributed =
      b.CallOf(b.Global("torch._tensor", "_rebuild_from_type_v2"),
               {b.Global("torch._utils", "_rebuild_wrapper_subclass"), b.Global("torch.distributed.tensor", "DTensor"),
                graph.NewTuple({}), graph.NewDict()});
  for (const Ref node : {graph.NewNone(), graph.NewInt(3), graph.NewDict(), b.PersistentId(), distributed,
                         b.CallOf(b.Global("a", "_rebuild_tensor_v2"), {}),
                         b.CallOf(b.Global("torch._utils", "_rebuild_sparse_tensor"), {}),
                         b.CallOf(b.Global("torch._utils", "_rebuild_parameter"), {graph.NewInt(1)})}) {
    EXPECT_FALSE(AsTensor(b.object(), node));
  }
}

TEST(Tensor, WhatDoesNotFitIsRefused) {
  constexpr int64_t kBig = int64_t{1} << 62;
  struct Case {
    const char* what;
    std::function<Ref(Builder&)> build;
  };
  const Case kCases[] = {
      {"one element too many", [](Builder& b) { return b.elements = 29, b.storage_bytes = 116, b.Tensor(); }},
      {"offset one too far", [](Builder& b) { return b.storage_offset = 1, b.Tensor(); }},
      {"offset far", [](Builder& b) { return b.storage_offset = kBig, b.Tensor(); }},
      {"stride too long", [](Builder& b) { return b.strides = {7, 1}, b.Tensor(); }},
      {"product wraps to a small number",
       [](Builder& b) { return b.shape = {5, 3}, b.strides = {kBig, 1}, b.Tensor(); }},
      {"sum wraps",
       [](Builder& b) { return b.shape = {2, 2, 2, 2, 2}, b.strides = {kBig, kBig, kBig, kBig, 1}, b.Tensor(); }},
      {"more elements than 2^64, all the same one",
       [](Builder& b) { return b.shape = {kBig, 8}, b.strides = {0, 0}, b.Tensor(); }},
      {"more bytes than 2^64", [](Builder& b) { return b.shape = {kBig}, b.strides = {0}, b.Tensor(); }},
      {"an empty tensor outside",
       [](Builder& b) { return b.shape = {0}, b.strides = {1}, b.storage_offset = 31, b.Tensor(); }},
      {"negative size", [](Builder& b) { return b.shape = {-5, 6}, b.Tensor(); }},
      {"negative stride", [](Builder& b) { return b.strides = {6, -1}, b.Tensor(); }},
      {"negative offset", [](Builder& b) { return b.storage_offset = -1, b.Tensor(); }},
      {"negative number of elements", [](Builder& b) { return b.elements = -1, b.Tensor(); }},
      {"a stride short", [](Builder& b) { return b.strides = {6}, b.Tensor(); }},
      {"65 dimensions", [](Builder& b) { return b.shape = b.strides = std::vector<int64_t>(65, 1), b.Tensor(); }},
      {"a storage of no known class", [](Builder& b) { return b.storage_class = "StrangeStorage", b.Tensor(); }},
      {"a storage of another module", [](Builder& b) { return b.storage_module = "os", b.Tensor(); }},
      {"v2 without type", [](Builder& b) { return b.storage_class = "UntypedStorage", b.elements = 120, b.Tensor(); }},
      {"v3 of an unknown type",
       [](Builder& b) { return b.function = "_rebuild_tensor_v3", b.torch_type = "float7", b.Tensor(); }},
      {"v3 without type", [](Builder& b) { return b.function = "_rebuild_tensor_v3", b.Tensor(); }},
      {"no arguments", [](Builder& b) { return b.CallOf(b.Global("torch._utils", "_rebuild_tensor_v2"), {}); }},
      {"no storage",
       [](Builder& b) { return b.CallOf(b.Global("torch._utils", "_rebuild_tensor_v2"), {b.graph().NewInt(0)}); }},
      {"a storage that is a number",
       [](Builder& b) {
         const Ref id = b.graph().NewPersistent(b.graph().NewInt(7));
         return b.CallOf(b.Global("torch._utils", "_rebuild_tensor_v2"),
                         {id, b.graph().NewInt(0), b.Ints({1}), b.Ints({1})});
       }},
      {"a parameter in a parameter without end",
       [](Builder& b) {
         Ref node = b.Tensor();
         for (int i = 0; i < 100; ++i) node = b.CallOf(b.Global("torch._utils", "_rebuild_parameter"), {node});
         return node;
       }},
  };
  for (const Case& c : kCases) {
    Builder b;
    try {
      const Ref node = c.build(b);
      AsTensor(b.object(), node);
      ADD_FAILURE() << c.what;
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "torchsave.bad_tensor") << c.what << ": " << error.message();
    }
  }
}

TEST(Tensor, AStorageThatIsNotThere) {
  Builder b;
  const Ref node = b.Tensor();
  SavedObject& object = b.object();
  object.storages.clear();
  object.storage_indexes.clear();
  try {
    AsTensor(object, node);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "torchsave.storage_missing");
  }
}

}  // namespace
}  // namespace ck::torchsave
