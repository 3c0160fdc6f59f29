#include "libs/torchsave/known_layout.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/checksum/crc32.h"
#include "libs/torchsave/write.h"

namespace ck::torchsave {
namespace {

std::string ItemOf(DType dtype, const Dims& shape) {
  const TensorItemLayout layout = LayOutTensorItem(dtype, shape);
  std::string data(layout.data_bytes, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7 + 3);
  return layout.head + data + layout.Tail(Crc32(data));
}

void ExpectEqual(const TensorView& a, const TensorView& b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.strides, b.strides);
  EXPECT_EQ(a.data_offset(), b.data_offset());
  EXPECT_EQ(a.storage.offset, b.storage.offset);
  EXPECT_EQ(a.storage.size_bytes, b.storage.size_bytes);
  EXPECT_EQ(a.storage.crc, b.storage.crc);
  EXPECT_EQ(a.conj || a.neg, b.conj || b.neg);
}

TEST(KnownLayout, SaysWhatAParseSays) {
  for (const DType dtype : {DType::kBF16, DType::kF32, DType::kI64, DType::kBool, DType::kF8E4M3, DType::kU16}) {
    for (const Dims& shape : std::vector<Dims>{{}, {0}, {5}, {3, 4}, {1, 7, 2}, {1, 2, 3, 4}, {300, 17}}) {
      const std::string item = ItemOf(dtype, shape);
      const auto view = KnownLayout(dtype, shape).Match(item);
      ASSERT_TRUE(view.has_value()) << Name(dtype);
      ExpectEqual(*view, ReadTensorItem(bytes::StringSource(item)));
    }
  }
}

TEST(KnownLayout, IsForOneDtypeAndShape) {
  const std::string item = ItemOf(DType::kBF16, {6, 4});
  EXPECT_FALSE(KnownLayout(DType::kF16, {6, 4}).Match(item));
  EXPECT_FALSE(KnownLayout(DType::kBF16, {4, 6}).Match(item));
  EXPECT_FALSE(KnownLayout(DType::kBF16, {24}).Match(item));
  EXPECT_FALSE(KnownLayout(DType::kBF16, {6, 5}).Match(item));
}

// Every changed byte is either one that may differ between items of a shape, or makes the item one that has to be parsed.
TEST(KnownLayout, AnyOtherByteThatDiffersIsSeen) {
  const Dims shape = {3, 5};
  const std::string item = ItemOf(DType::kF32, shape);
  const KnownLayout layout(DType::kF32, shape);
  const TensorItemLayout planned = LayOutTensorItem(DType::kF32, shape);
  size_t unseen = 0;
  for (size_t i = 0; i < item.size(); ++i) {
    std::string changed = item;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    const bool is_data = i >= planned.head.size() && i < planned.head.size() + planned.data_bytes;
    if (layout.Match(changed) && !is_data) ++unseen;
  }
  EXPECT_EQ(unseen, 40u + 4 * 4u);  // the digits of the serialization id, and the CRCs of the id and of the data, each in two places
  for (const size_t length : {size_t{0}, item.size() - 1}) EXPECT_FALSE(layout.Match(item.substr(0, length)));
  EXPECT_FALSE(layout.Match(item + "x"));
}

TEST(ReadTensorItem, AHostileShapeIsNotLaidOut) {
  const std::string item = ItemOf(DType::kF32, {3, 5});
  for (const Dims& shape : std::vector<Dims>{{uint64_t{1} << 40, uint64_t{1} << 40}, {uint64_t{1} << 62}, {16}}) {
    const TensorView view = ReadTensorItem(item, "item", DType::kF32, shape);
    EXPECT_EQ(view.shape, (Dims{3, 5}));
  }
}

}  // namespace
}  // namespace ck::torchsave
