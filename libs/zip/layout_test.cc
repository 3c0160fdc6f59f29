#include <fstream>
#include <sstream>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/reader.h"
#include "libs/bytes/source.h"
#include "libs/checksum/crc32.h"
#include "libs/zip/archive.h"

namespace ck::zip {
namespace {

std::string Fixture(const std::string& name) {
  std::ifstream file("testdata/fixtures/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::string Write(const Layout& layout, const std::vector<std::string>& data) {
  std::string out;
  std::vector<uint32_t> crcs;
  for (size_t i = 0; i < data.size(); ++i) {
    const Layout::Placed& placed = layout.placed[i];
    EXPECT_EQ(out.size(), placed.header_offset);
    out += LocalHeader(layout, i);
    EXPECT_EQ(out.size(), placed.data_offset);
    out += data[i];
    EXPECT_EQ(out.size(), placed.descriptor_offset);
    crcs.push_back(Crc32(data[i]));
    out += DataDescriptor(layout, i, crcs.back());
  }
  EXPECT_EQ(out.size(), layout.central_directory_offset);
  out += Tail(layout, crcs);
  EXPECT_EQ(out.size(), layout.total_size);
  return out;
}

TEST(ZipLayout, RewritingAnArchiveOfTorchGivesItsBytes) {
  for (const char* file : {"t113_common.pt", "t26_common.pt", "t26_foo.bar.pt", "t214_common.pt", "t214_foo.bar.pt"}) {
    const std::string bytes = Fixture(file);
    std::vector<RecordPlan> plans;
    std::vector<std::string> data;
    for (const Record& record : ReadArchive(bytes::StringSource(bytes)).records) {
      plans.push_back({record.name, record.size});
      data.push_back(bytes.substr(record.data_offset, record.size));
    }
    EXPECT_EQ(Write(LayOut(plans), data), bytes) << file;
  }
}

TEST(ZipLayout, EmptyRecordsHaveNoDescriptor) {
  const Layout layout = LayOut({{"a/data/0", 0}, {"a/version", 2}});
  EXPECT_EQ(DataDescriptor(layout, 0, 0), "");
  EXPECT_EQ(LocalHeader(layout, 0).substr(6, 2), std::string("\x00\x08", 2));
  EXPECT_EQ(LocalHeader(layout, 1).substr(6, 2), std::string("\x08\x08", 2));
  const std::string bytes = Write(layout, {"", "3\n"});
  EXPECT_EQ(ReadArchive(bytes::StringSource(bytes)).records[0].size, 0u);
}

TEST(ZipLayout, PaddingReachesTheNextMultipleOf64) {
  for (size_t name_bytes = 1; name_bytes < 130; ++name_bytes) {
    const Layout layout = LayOut({{std::string(name_bytes, 'n'), 1}});
    const uint64_t unpadded = 30 + name_bytes + 4;
    EXPECT_EQ(layout.placed[0].data_offset, (unpadded + 63) / 64 * 64);
    EXPECT_EQ(LocalHeader(layout, 0).size(), layout.placed[0].data_offset);
  }
}

// The header's fields from the flags on.
struct LocalFields {
  uint32_t crc, compressed_size, size;
  std::string name, extra;
};

LocalFields Parse(const std::string& header) {
  bytes::Reader reader(header, "test.truncated", "local header");
  reader.Take(14);
  LocalFields fields{reader.U32(), reader.U32(), reader.U32(), "", ""};
  const uint16_t name_bytes = reader.U16();
  const uint16_t extra_bytes = reader.U16();
  fields.name = reader.Take(name_bytes);
  fields.extra = reader.Take(extra_bytes);
  EXPECT_TRUE(reader.AtEnd());
  return fields;
}

// [data.pkl of 150 bytes] [5 GiB] [a small record beyond 4 GiB] [an empty one]: only sizes, no bytes.
TEST(ZipLayout, RecordsOfAndBeyond4GiB) {
  constexpr uint64_t kBig = (uint64_t{5} << 30) + 7;
  const Layout layout = LayOut({{"a/data.pkl", 150}, {"a/data/0", kBig}, {"a/version", 2}, {"a/none", 0}});

  // The big record: its header starts low, so the zip64 field has the two sizes, the compressed one still unknown.
  const auto& big = layout.placed[1];
  EXPECT_EQ(big.header_offset, 64u + 150 + 16);
  EXPECT_EQ(big.data_offset, (big.header_offset + 30 + 8 + 20 + 4 + 63) / 64 * 64);
  LocalFields fields = Parse(LocalHeader(layout, 1));
  EXPECT_EQ(fields.size, 0u);
  EXPECT_EQ(fields.compressed_size, 0u);
  bytes::Reader extra(fields.extra, "test.truncated", "extra");
  EXPECT_EQ(extra.U16(), 1);
  EXPECT_EQ(extra.U16(), 16);
  EXPECT_EQ(extra.U64(), kBig);
  EXPECT_EQ(extra.U64(), 0u);
  EXPECT_EQ(extra.Take(2), "FB");
  EXPECT_EQ(DataDescriptor(layout, 1, 0x01020304).size(), 24u);

  // A record of two bytes behind it: the zip64 field has the offset alone, and the descriptor is the wide one.
  const auto& small = layout.placed[2];
  EXPECT_EQ(small.header_offset, big.data_offset + kBig + 24);
  EXPECT_EQ(small.data_offset, (small.header_offset + 30 + 9 + 12 + 4 + 63) / 64 * 64);
  fields = Parse(LocalHeader(layout, 2));
  bytes::Reader small_extra(fields.extra, "test.truncated", "extra");
  EXPECT_EQ(small_extra.U16(), 1);
  EXPECT_EQ(small_extra.U16(), 8);
  EXPECT_EQ(small_extra.U64(), small.header_offset);
  EXPECT_EQ(small_extra.Take(2), "FB");
  EXPECT_EQ(DataDescriptor(layout, 2, 7), std::string("PK\x07\x08\x07\0\0\0\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 24));

  // The empty one: a zip64 field, no descriptor.
  EXPECT_EQ(layout.placed[3].header_offset, small.data_offset + 2 + 24);
  EXPECT_EQ(DataDescriptor(layout, 3, 0), "");
  EXPECT_EQ(layout.central_directory_offset, layout.placed[3].data_offset);

  const std::string tail = Tail(layout, {1, 2, 3, 0});
  EXPECT_EQ(layout.total_size, layout.central_directory_offset + tail.size());
  EXPECT_EQ(tail.size(), 4 * 46 + 10 + 8 + 9 + 6 + 20 + 12 + 12 + 98);
}

// The bytes of an archive whose big record is a hole of zeros.
class HoleSource : public bytes::Source {
 public:
  HoleSource(std::string head, uint64_t hole, std::string tail)
      : head_(std::move(head)), hole_(hole), tail_(std::move(tail)) {}
  uint64_t size() const override { return head_.size() + hole_ + tail_.size(); }
  std::string name() const override { return "hole"; }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    for (uint64_t at = offset; at < offset + length; ++at) {
      const uint64_t tail_at = head_.size() + hole_;
      *out++ = at < head_.size() ? head_[at] : at < tail_at ? '\0' : tail_[at - tail_at];
    }
  }

 private:
  std::string head_;
  uint64_t hole_;
  std::string tail_;
};

TEST(ZipLayout, AnArchiveBeyond4GiBReadsBack) {
  for (const uint64_t big : {uint64_t{0xFFFFFFFE}, uint64_t{0xFFFFFFFF}, (uint64_t{7} << 32) + 5}) {
    const std::vector<RecordPlan> plans = {{"a/data.pkl", 3}, {"a/data/0", big}, {"a/version", 2}, {"a/none", 0}};
    const Layout layout = LayOut(plans);
    const std::string head = LocalHeader(layout, 0) + "pkl" + DataDescriptor(layout, 0, 5) + LocalHeader(layout, 1);
    const std::string tail = DataDescriptor(layout, 1, 6) + LocalHeader(layout, 2) + "3\n" +
                             DataDescriptor(layout, 2, 7) + LocalHeader(layout, 3) + Tail(layout, {5, 6, 7, 0});
    const HoleSource source(head, big, tail);
    ASSERT_EQ(source.size(), layout.total_size);
    const Archive archive = ReadArchive(source);
    ASSERT_EQ(archive.records.size(), 4u);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(archive.records[i].name, plans[i].name);
      EXPECT_EQ(archive.records[i].size, plans[i].size);
      EXPECT_EQ(archive.records[i].data_offset, layout.placed[i].data_offset);
    }
  }
}

TEST(ZipLayout, SizesThatDoNotFit64BitsAreRefused) {
  try {
    LayOut({{"a/x", ~uint64_t{0} - 10}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "zip.limit_exceeded");
  }
}

}  // namespace
}  // namespace ck::zip
