#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/text.h"
#include "libs/dcp/metadata.h"

namespace ck::dcp {
namespace {

// Everything that an encoding has to carry, with numbers around every size of an integer.
Metadata Everything() {
  Metadata metadata;
  metadata.files = {"__0_0.distcp", "__0_1.distcp"};
  metadata.version = "1.0.0";
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32, DType::kI32, DType::kU64,
                            DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kF8E4M3, DType::kF8E5M2,
                            DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ, DType::kF8E8M0, DType::kF4, DType::kC32, DType::kC64, DType::kC128}) {
    metadata.tensors.push_back({Cat("dtype ", TorchName(dtype)), dtype, {2}, {{{{0}, {2}}, {0, 0, 1}}}});
  }
  metadata.tensors.push_back({"empty", DType::kF32, {0, 4}, {{{{0, 0}, {0, 4}}, {0, 0, 0}}}});
  metadata.tensors.push_back({"empty with item", DType::kF32, {4, 0}, {{{{0, 0}, {4, 0}}, {1, 9, 8}}}});
  metadata.tensors.push_back({"no chunks", DType::kF32, {0}, {}});
  metadata.tensors.push_back({"scalar", DType::kF32, {}, {{{{}, {}}, {1, 3, 1}}}});
  Tensor sizes = {"sizes", DType::kI8, {uint64_t{1} << 40}, {}};
  uint64_t offset = 0;
  for (const uint64_t value : {uint64_t{1}, uint64_t{0x7f}, uint64_t{0x80}, uint64_t{0xff}, uint64_t{0x100}, uint64_t{0xffff}, uint64_t{0x10000},
                               uint64_t{0x7fffffff}, uint64_t{0x80000000}, uint64_t{0xffffffff}, uint64_t{0x100000000},
                               (uint64_t{1} << 63) - 1}) {
    sizes.chunks.push_back({{{offset}, {1}}, {1, value, value}});
    offset += 0x40;
  }
  sizes.chunks.push_back({{{uint64_t{1} << 39}, {uint64_t{1} << 39}}, {0, 5, 5}});
  metadata.tensors.push_back(sizes);
  std::sort(metadata.tensors.begin(), metadata.tensors.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  metadata.objects = {{std::string(300, 'x'), {0, 4, 5}}, {"\xED\xA0\x80 (0, 0)/'", {1, 70, 6}}};
  metadata.transforms[{1, 70}] = {"stream.zstd/1", "stream.other/2"};
  metadata.planner_data = {{"scalar", {}}, {"sizes", {std::string("a.b"), int64_t{0}, int64_t{70000}, std::string("0"), std::string()}}};
  metadata.original_shapes = {{"scalar", {}}, {"sizes", {1, 2, 3, 4, uint64_t{1} << 40}}};
  return metadata;
}

TEST(EncodeMetadata, DecodesToTheSame) {
  const Metadata metadata = Everything();
  EXPECT_EQ(DecodeMetadata(EncodeMetadata(metadata)), metadata);
}

TEST(EncodeMetadata, TellsEmptyPlannerDataFromNone) {
  Metadata metadata;
  metadata.version = "1.0.0";
  EXPECT_EQ(DecodeMetadata(EncodeMetadata(metadata)), metadata);
  metadata.planner_data.emplace();
  EXPECT_EQ(DecodeMetadata(EncodeMetadata(metadata)), metadata);
}

TEST(EncodeMetadata, WritesBatches) {
  for (const uint64_t count : {uint64_t{999}, uint64_t{1000}, uint64_t{1001}, uint64_t{2500}}) {
    Metadata metadata;
    metadata.version = "1.0.0";
    metadata.files = {"f"};
    Tensor tensor = {"w", DType::kF32, {count, 2}, {}};
    for (uint64_t row = 0; row < count; ++row) tensor.chunks.push_back({{{row, 0}, {1, 2}}, {0, row * 8, 8}});
    metadata.tensors = {tensor};
    for (uint64_t i = 0; i < count; ++i) metadata.objects.push_back({Cat("o", 10000 + i), {0, 1, 1}});
    EXPECT_EQ(DecodeMetadata(EncodeMetadata(metadata)), metadata) << count;
  }
}

// The opcodes of the smallest metadata: what torch unpickles, byte by byte.
TEST(EncodeMetadata, IsProtocol4WithoutFramesPathsOrRandomIds) {
  const std::string encoded = EncodeMetadata({});
  const auto text = [](std::string_view value) { return Cat('\x8c', static_cast<char>(value.size()), value, '\x94'); };
  const std::string module = "torch.distributed.checkpoint.metadata";
  EXPECT_EQ(encoded, Cat("\x80\x04", text(module), text("Metadata"), "\x93\x94)\x81}(", text("state_dict_metadata"), "}",
                         text("planner_data"), "N", text("storage_data"), "}", text("storage_meta"), std::string("h\0", 2),
                         text("StorageMeta"), "\x93\x94)\x81}(", text("checkpoint_id"), text("ck"), text("save_id"),
                         text("00000000-0000-0000-0000-000000000000"), text("load_id"), "N", text("modules"), "]ub", text("version"),
                         text("1.0.0"), "ub."));
}

}  // namespace
}  // namespace ck::dcp
