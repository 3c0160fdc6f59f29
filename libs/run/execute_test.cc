#include "libs/run/execute.h"

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/fs/fault.h"
#include "libs/fs/test_directory.h"
#include "libs/run/layout.h"
#include "libs/run/testing/read_tensor.h"
#include "libs/transform/view.h"

namespace ck::run {
namespace {

using checkpoint::Checkpoint;
using transform::Arithmetic;
using transform::Leaf;
using transform::Piece;
using transform::SourceAxis;
using transform::Tensor;
using transform::View;

constexpr char kStacked[] = "testdata/fixtures/megatron/gpt_dense_tp2pp2/ckpt/iter_0000010";  // F32, cut by layer and by TP
constexpr char kQkv[] = "decoder.layers.self_attention.linear_qkv.weight";                   // [3, 64, 24]
constexpr char kProj[] = "decoder.layers.self_attention.linear_proj.weight";                 // [3, 24, 32]
constexpr SourceAxis kFixed{SourceAxis::kFixed, 1};

Leaf CopyLeaf(const std::string& name, const Dims& shape) {
  return {.name = name, .dtype = DType::kF32, .shape = shape, .arithmetic = Arithmetic::kCopy, .terms = {{0, 1.0}}};
}

View ViewOf(std::vector<Leaf> leaves, std::vector<Tensor> tensors) {
  View view;
  view.inputs = {Checkpoint::Open(kStacked)};
  view.leaves = std::move(leaves);
  view.tensors = std::move(tensors);
  view.format = checkpoint::Format::kDcp;
  transform::CheckView(view);
  return view;
}

// Carries a view out with these options and reads the result back.
std::map<std::string, WholeTensor> Carry(const View& view, uint64_t tile_bytes, unsigned threads) {
  const fs::TestDirectory scratch;
  const Layout layout = LayOutDcp(view);
  Execute(view, layout, scratch.path(), {.threads = threads, .durability = fs::Durability::kNoSync, .tile_bytes = tile_bytes, .stop_requested = {}, .progress = {}});
  for (const SmallFile& file : layout.small_files) scratch.Write(file.name, file.content);
  return ReadTensors(*Checkpoint::Open(scratch.path()));
}

float Element(const WholeTensor& tensor, const Dims& index) {
  const Dims strides = RowMajorStrides(tensor.shape);
  uint64_t position = 0;
  for (size_t d = 0; d < index.size(); ++d) position += index[d] * strides[d];
  float value;
  std::memcpy(&value, tensor.bytes.data() + position * sizeof value, sizeof value);
  return value;
}

class Views : public testing::TestWithParam<uint64_t> {
 protected:
  static const std::map<std::string, WholeTensor>& Source() {
    static const std::map<std::string, WholeTensor> source = ReadTensors(*Checkpoint::Open(kStacked));
    return source;
  }
  // Checks every element of a rank-2 or rank-3 result against `expected`.
  template <typename Expected>
  void ExpectElements(const View& view, Expected expected) {
    for (const unsigned threads : {1u, 3u}) {
      const auto result = Carry(view, GetParam(), threads);
      for (const Tensor& tensor : view.tensors) {
        const WholeTensor& found = result.at(tensor.name);
        ASSERT_EQ(found.shape, tensor.shape);
        const Dims strides = RowMajorStrides(tensor.shape);
        for (uint64_t n = 0; n < *Volume(tensor.shape); ++n) {
          Dims index(tensor.shape.size());
          uint64_t rest = n;
          for (size_t d = 0; d < index.size(); ++d) {
            index[d] = rest / strides[d];
            rest %= strides[d];
          }
          ASSERT_EQ(Element(found, index), expected(tensor.name, index)) << tensor.name << FormatDims(index);
        }
      }
    }
  }
};

TEST_P(Views, ARowOfAStackedTensorBecomesATensor) {
  std::vector<Tensor> tensors;
  for (uint64_t layer = 0; layer < 3; ++layer) {
    tensors.push_back({.name = Cat("layer", layer), .dtype = DType::kF32, .shape = {64, 24}, .chunks = {{{0, 0}, {20, 24}}, {{20, 0}, {44, 24}}},
                       .pieces = {{.target = Box::Whole({64, 24}), .leaf = 0, .source_offset = {layer, 0, 0}, .axes = {kFixed, {0, 1}, {1, 1}}}}});
  }
  ExpectElements(ViewOf({CopyLeaf(kQkv, {3, 64, 24})}, tensors), [](const std::string& name, const Dims& i) {
    return Element(Source().at(kQkv), {static_cast<uint64_t>(name.back() - '0'), i[0], i[1]});
  });
}

TEST_P(Views, RowsAreRegroupedByQueryGroup) {
  // Heads 4, groups 2, head dimension 8: a group is two query heads, a key head, a value head.
  std::vector<Piece> pieces;
  for (uint64_t group = 0; group < 2; ++group) {
    pieces.push_back({.target = {{group * 16, 0}, {16, 24}}, .leaf = 0, .source_offset = {1, group * 32, 0}, .axes = {kFixed, {0, 1}, {1, 1}}});
  }
  const View view = ViewOf({CopyLeaf(kQkv, {3, 64, 24})}, {{.name = "q", .dtype = DType::kF32, .shape = {32, 24}, .chunks = {Box::Whole({32, 24})}, .pieces = pieces}});
  ExpectElements(view, [](const std::string&, const Dims& i) { return Element(Source().at(kQkv), {1, i[0] / 16 * 32 + i[0] % 16, i[1]}); });
}

TEST_P(Views, AxesAreSwappedAndStepped) {
  const Piece transposed{.target = Box::Whole({32, 24}), .leaf = 0, .source_offset = {2, 0, 0}, .axes = {kFixed, {1, 1}, {0, 1}}};
  const Piece odd_columns{.target = Box::Whole({24, 16}), .leaf = 0, .source_offset = {0, 0, 1}, .axes = {kFixed, {0, 1}, {1, 2}}};
  const View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "odd", .dtype = DType::kF32, .shape = {24, 16}, .chunks = {Box::Whole({24, 16})}, .pieces = {odd_columns}},
                                                            {.name = "transposed", .dtype = DType::kF32, .shape = {32, 24}, .chunks = {{{0, 0}, {32, 7}}, {{0, 7}, {32, 17}}}, .pieces = {transposed}}});
  ExpectElements(view, [](const std::string& name, const Dims& i) {
    return name == "odd" ? Element(Source().at(kProj), {0, i[0], 2 * i[1] + 1}) : Element(Source().at(kProj), {2, i[1], i[0]});
  });
}

TEST_P(Views, PiecesOfDifferentLeavesAndArithmeticShareATensor) {
  std::vector<Leaf> leaves = {CopyLeaf(kQkv, {3, 64, 24}), CopyLeaf(kProj, {3, 24, 32})};
  leaves[1].arithmetic = Arithmetic::kWeightedSum;
  leaves[1].terms = {{0, 0.5}, {0, 0.25}};
  // Left columns: copied rows of qkv. Right columns: three quarters of proj.
  const std::vector<Piece> pieces = {{.target = {{0, 0}, {24, 24}}, .leaf = 0, .source_offset = {0, 3, 0}, .axes = {kFixed, {0, 1}, {1, 1}}},
                                     {.target = {{0, 24}, {24, 32}}, .leaf = 1, .source_offset = {1, 0, 0}, .axes = {kFixed, {0, 1}, {1, 1}}}};
  const View view = ViewOf(leaves, {{.name = "both", .dtype = DType::kF32, .shape = {24, 56}, .chunks = {Box::Whole({24, 56})}, .pieces = pieces}});
  ExpectElements(view, [](const std::string&, const Dims& i) {
    if (i[1] < 24) return Element(Source().at(kQkv), {0, i[0] + 3, i[1]});
    const float x = Element(Source().at(kProj), {1, i[0], i[1] - 24});
    return __builtin_fmaf(x, 0.25f, __builtin_fmaf(x, 0.5f, 0.0f));
  });
}

TEST_P(Views, AConstantIsAddedInAnyTile) {
  View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "plus", .dtype = DType::kF32, .shape = {24, 32}, .chunks = {Box::Whole({24, 32})},
                                                       .pieces = {{.target = Box::Whole({24, 32}), .leaf = 0, .source_offset = {1, 0, 0}, .axes = {kFixed, {0, 1}, {1, 1}}}}}});
  view.tensors[0].added = 1;
  ExpectElements(view, [](const std::string&, const Dims& i) { return Element(Source().at(kProj), {1, i[0], i[1]}) + 1.0f; });
}

TEST_P(Views, TensorsAreStacked) {
  std::vector<Piece> pieces;
  for (uint64_t row = 0; row < 3; ++row) {  // layers in reverse order, each under a new leading axis
    pieces.push_back({.target = {{row, 0, 0}, {1, 64, 24}}, .leaf = 0, .source_offset = {2 - row, 0, 0}, .axes = {kFixed, {1, 1}, {2, 1}}});
  }
  std::vector<Box> chunks;
  for (uint64_t row = 0; row < 3; ++row) chunks.push_back({{row, 0, 0}, {1, 64, 24}});
  ExpectElements(ViewOf({CopyLeaf(kQkv, {3, 64, 24})}, {{.name = "stack", .dtype = DType::kF32, .shape = {3, 64, 24}, .chunks = chunks, .pieces = pieces}}),
                 [](const std::string&, const Dims& i) { return Element(Source().at(kQkv), {2 - i[0], i[1], i[2]}); });
}

// What was added and is lost to rounding is counted, by element.
TEST(Execute, InexactAdditionsAreCounted) {
  View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "plus", .dtype = DType::kF32, .shape = {3, 24, 32}, .chunks = {Box::Whole({3, 24, 32})}, .pieces = {Piece::Whole(0, {3, 24, 32})}}});
  const auto count = [&](double added) {
    view.tensors[0].added = added;
    const fs::TestDirectory scratch;
    return Execute(view, LayOutDcp(view), scratch.path(), {.threads = 2, .durability = fs::Durability::kNoSync, .tile_bytes = 100, .stop_requested = {}, .progress = {}}).inexact_additions;
  };
  uint64_t expected = 0;
  const auto source = ReadTensors(*Checkpoint::Open(kStacked)).at(kProj);
  for (size_t at = 0; at < source.bytes.size(); at += sizeof(float)) {
    float x;
    std::memcpy(&x, source.bytes.data() + at, sizeof x);
    const volatile float sum = x + 1.0f;
    if (sum - 1.0f != x) ++expected;
  }
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(count(1), expected);
  EXPECT_EQ(count(0), 0u);
}

INSTANTIATE_TEST_SUITE_P(TileBytes, Views, testing::Values(4, 52, 1000, uint64_t{256} << 10));

TEST(CheckView, RefusesWhatATransformMustNotMake) {
  const auto id_of = [](const Piece& piece, const Dims& shape) -> std::string {
    try {
      ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "t", .dtype = DType::kF32, .shape = shape, .chunks = {Box::Whole(shape)}, .pieces = {piece}}});
    } catch (const Error& error) {
      return error.id();
    }
    return "";
  };
  const Piece good{.target = Box::Whole({24, 32}), .leaf = 0, .source_offset = {0, 0, 0}, .axes = {kFixed, {0, 1}, {1, 1}}};
  EXPECT_EQ(id_of(good, {24, 32}), "");
  Piece past = good;
  past.source_offset = {3, 0, 0};
  EXPECT_EQ(id_of(past, {24, 32}), "transform.bad_view");
  Piece stepped = good;
  stepped.axes[2].step = 2;
  EXPECT_EQ(id_of(stepped, {24, 32}), "transform.bad_view");
  Piece hole = good;
  hole.target.shape = {24, 31};
  EXPECT_EQ(id_of(hole, {24, 32}), "transform.bad_view");
  Piece no_leaf = good;
  no_leaf.leaf = 1;
  EXPECT_EQ(id_of(no_leaf, {24, 32}), "transform.bad_view");
}

TEST(Execute, AFailedWriteReachesTheCaller) {
  const View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "t", .dtype = DType::kF32, .shape = {3, 24, 32}, .chunks = {Box::Whole({3, 24, 32})}, .pieces = {Piece::Whole(0, {3, 24, 32})}}});
  const Layout layout = LayOutDcp(view);
  for (const fs::Operation operation : {fs::Operation::kCreate, fs::Operation::kAllocate, fs::Operation::kWrite, fs::Operation::kFsync, fs::Operation::kClose, fs::Operation::kRead}) {
    const fs::TestDirectory scratch;
    const fs::ScopedFault fault(operation, 1, EIO);
    EXPECT_THROW(Execute(view, layout, scratch.path(), {.threads = 2, .durability = fs::Durability::kSync, .tile_bytes = 1000, .stop_requested = {}, .progress = {}}), Error);
  }
}

// Every thread waits for the same file; none may try again and report that it exists.
TEST(Execute, AFileThatCannotBeMadeIsOneErrorInEveryThread) {
  const View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "t", .dtype = DType::kF32, .shape = {3, 24, 32}, .chunks = {Box::Whole({3, 24, 32})}, .pieces = {Piece::Whole(0, {3, 24, 32})}}});
  const Layout layout = LayOutDcp(view);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const fs::TestDirectory scratch;
    const fs::ScopedFault fault(fs::Operation::kAllocate, 1, ENOSPC);
    try {
      Execute(view, layout, scratch.path(), {.threads = 8, .durability = fs::Durability::kNoSync, .tile_bytes = 100, .stop_requested = {}, .progress = {}});
      FAIL();
    } catch (const Error& error) {
      ASSERT_EQ(error.id(), "fs.no_space");
    }
  }
}

TEST(Execute, StopsWhenAsked) {
  const View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, {{.name = "t", .dtype = DType::kF32, .shape = {3, 24, 32}, .chunks = {Box::Whole({3, 24, 32})}, .pieces = {Piece::Whole(0, {3, 24, 32})}}});
  const fs::TestDirectory scratch;
  try {
    Execute(view, LayOutDcp(view), scratch.path(), {.threads = 1, .durability = fs::Durability::kNoSync, .tile_bytes = 100, .stop_requested = [] { return true; }, .progress = {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "run.interrupted");
  }
}

TEST(Execute, ProgressAddsUpToTheDataOfTheResult) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 3; ++i) {
    tensors.push_back({.name = Cat("t", i), .dtype = DType::kF32, .shape = {3, 24, 32}, .chunks = {Box::Whole({3, 24, 32})}, .pieces = {Piece::Whole(0, {3, 24, 32})}});
  }
  View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, tensors);
  view.objects = {{.name = "o", .input = 0, .source_name = "", .literal = std::string(100, 'x')}};
  for (const uint64_t tile_bytes : {uint64_t{1000}, uint64_t{9000}, uint64_t{1} << 20}) {  // the last tile of an item is a part of one
    const fs::TestDirectory scratch;
    std::atomic<uint64_t> told{0};
    Execute(view, LayOutDcp(view), scratch.path(),
            {.threads = 3, .durability = fs::Durability::kNoSync, .tile_bytes = tile_bytes, .stop_requested = {}, .progress = [&](uint64_t bytes) { told += bytes; }});
    EXPECT_EQ(told, transform::DataBytes(view));
  }
}

TEST(Layout, FilesAreCutByBytesAndObjectsComeFirst) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 5; ++i) {
    tensors.push_back({.name = Cat("t", i), .dtype = DType::kF32, .shape = {3, 24, 32}, .chunks = {Box::Whole({3, 24, 32})}, .pieces = {Piece::Whole(0, {3, 24, 32})}});
  }
  View view = ViewOf({CopyLeaf(kProj, {3, 24, 32})}, tensors);
  view.objects = {{.name = "o", .input = 0, .source_name = "", .literal = std::string(100, 'x')}};
  const Layout layout = LayOutDcp(view, 25000);
  EXPECT_EQ(layout.objects[0].offset, 0u);
  EXPECT_EQ(layout.tensors[0].offset, 100u);
  ASSERT_EQ(layout.files.size(), 3u);
  EXPECT_EQ(layout.files[2].name, "__0_2.distcp");
  for (const OutputFile& file : layout.files) EXPECT_LE(file.size_bytes, 25000u);
  const Layout one_each = LayOutDcp(view, 1);
  EXPECT_EQ(one_each.files.size(), 6u);
}

}  // namespace
}  // namespace ck::run
