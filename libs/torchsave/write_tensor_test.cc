#include <set>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/checksum/crc32.h"
#include "libs/torchsave/read.h"
#include "libs/torchsave/testing/fixtures.h"
#include "libs/torchsave/write.h"
#include "libs/zip/archive.h"

namespace ck::torchsave {
namespace {

constexpr size_t kTypes = static_cast<size_t>(DType::kC128) + 1;

std::string Write(const TensorItemLayout& layout, const std::string& data) {
  return layout.head + data + layout.Tail(Crc32(data));
}

// Zeroes the serialization id, which differs in every save of torch, and its two CRCs.
std::string WithoutId(std::string item) {
  const zip::Archive archive = zip::ReadArchive(bytes::StringSource(item));
  const zip::Record& id = archive.records.back();
  EXPECT_EQ(id.name, "archive/.data/serialization_id");
  EXPECT_EQ(id.size, 40u);
  item.replace(id.data_offset, 40, 40, '0');
  item.replace(id.data_offset + 40 + 4, 4, 4, '\0');        // descriptor: signature, CRC
  item.replace(item.rfind(id.name) - 46 + 16, 4, 4, '\0');  // central directory: CRC at 16 of 46
  return item;
}

TEST(WriteTensor, EqualsTheItemsOfTorchByteForByte) {
  size_t compared = 0;
  std::set<std::string_view> types;
  std::set<size_t> ranks;
  for (const char* file : {"t214_basic/__0_0.distcp", "t214_two_ranks/__0_0.distcp",
                           "t214_fsdp_dtensor_like/__0_0.distcp", "mcore_head_t214/__0_0.distcp"}) {
    for (const std::string& item : testing::Items(testing::Fixture(file))) {
      const bytes::StringSource source(item);
      const SavedObject object = ReadObject(source);
      const auto view = AsTensor(object, object.root);
      if (!view || !view->IsRowMajor()) continue;
      const TensorItemLayout layout = LayOutTensorItem(view->dtype, view->shape);
      ASSERT_EQ(layout.data_bytes, view->storage.size_bytes);
      ASSERT_EQ(layout.head.size(), view->data_offset());
      const std::string data = item.substr(view->data_offset(), layout.data_bytes);
      EXPECT_EQ(WithoutId(Write(layout, data)), WithoutId(item))
          << file << " " << Name(view->dtype) << FormatBox(Box::Whole(view->shape));
      ++compared;
      types.insert(Name(view->dtype));
      ranks.insert(view->shape.size());
    }
  }
  EXPECT_GE(compared, 15u);
  EXPECT_GE(types.size(), 3u);
  EXPECT_GE(ranks.size(), 3u);
}

TEST(WriteTensor, SizesThatTorchHas) {
  EXPECT_EQ(LayOutTensorItem(DType::kF32, {3, 4}).total_bytes, 1577u);
  EXPECT_EQ(LayOutTensorItem(DType::kF32, {3, 4}).head.size(), 704u);
  EXPECT_EQ(LayOutTensorItem(DType::kF32, {0, 4}).total_bytes, 1513u);
}

TEST(WriteTensor, EveryTypeAndRankReadsBack) {
  const Dims dims = {2, 3, 1, 5, 4, 7};
  for (size_t type = 0; type < kTypes; ++type) {
    const auto dtype = static_cast<DType>(type);
    for (size_t rank = 0; rank <= dims.size(); ++rank) {
      const Dims shape(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(rank));
      const TensorItemLayout layout = LayOutTensorItem(dtype, shape);
      std::string data;
      for (uint64_t i = 0; i < layout.data_bytes; ++i) data.push_back(static_cast<char>(i * 37));
      const std::string item = Write(layout, data);
      ASSERT_EQ(item.size(), layout.total_bytes);
      const TensorView view = ReadTensorItem(bytes::StringSource(item));
      EXPECT_EQ(view.dtype, dtype);
      EXPECT_EQ(view.shape, shape);
      EXPECT_EQ(view.strides, RowMajorStrides(shape));
      EXPECT_TRUE(view.IsRowMajor());
      EXPECT_EQ(item.substr(view.data_offset(), layout.data_bytes), data);
      EXPECT_EQ(view.data_offset() % 64, 0u);
      EXPECT_EQ(view.storage.crc, Crc32(data));
    }
  }
}

TEST(WriteTensor, SizesAloneEqualTheLayout) {
  for (const Dims& shape : {Dims{}, Dims{0}, Dims{255}, Dims{256}, Dims{65'535, 3}, Dims{65'536, 3}, Dims{1, 2, 3, 4},
                            Dims{uint64_t{1} << 31, 2}, Dims{uint64_t{1} << 40}, Dims{uint64_t{1} << 30, 127, 7}}) {
    for (const DType dtype : {DType::kF32, DType::kF8E4M3, DType::kC128}) {
      const TensorItemSize size = TensorItemSizeOf(dtype, shape);
      const TensorItemLayout layout = LayOutTensorItem(dtype, shape);
      EXPECT_EQ(size.head_bytes, layout.head.size());
      EXPECT_EQ(size.data_bytes, layout.data_bytes);
      EXPECT_EQ(size.total_bytes, layout.total_bytes);
      EXPECT_EQ(layout.head.size() + layout.data_bytes + layout.Tail(0).size(), layout.total_bytes);
    }
  }
}

TEST(WriteTensor, TheSerializationIdFollowsFromTheContents) {
  const TensorItemLayout layout = LayOutTensorItem(DType::kI8, {4});
  EXPECT_EQ(Write(layout, "abcd"), Write(layout, "abcd"));
  const std::string a = layout.Tail(1), b = layout.Tail(2);
  const size_t id = a.find(".data/serialization_id");
  ASSERT_NE(id, std::string::npos);
  EXPECT_NE(a.substr(id, 128), b.substr(id, 128));
}

TEST(WriteTensor, WhatTorchCannotHoldIsRefused) {
  for (const Dims& shape : {Dims{uint64_t{1} << 63}, Dims{uint64_t{1} << 32, uint64_t{1} << 32},
                            Dims{uint64_t{1} << 61}, Dims(65, 1), Dims{uint64_t{1} << 40, uint64_t{1} << 40, 0}}) {
    try {
      LayOutTensorItem(DType::kF64, shape);
      ADD_FAILURE() << FormatBox(Box::Whole(shape));
    } catch (const Error& error) {
      EXPECT_EQ(error.id(), "torchsave.bad_tensor");
    }
  }
}

}  // namespace
}  // namespace ck::torchsave
