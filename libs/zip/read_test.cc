#include <fstream>
#include <functional>
#include <sstream>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/checksum/crc32.h"
#include "libs/zip/archive.h"
#include "libs/zip/testing/zip_builder.h"

namespace ck::zip {
namespace {

using testing::BuildZip;
using testing::Descriptor;
using testing::EndSpec;
using testing::ExtraField;
using testing::RecordSpec;
using testing::U64Bytes;
using testing::Zip64;

std::string Fixture(const std::string& name) {
  std::ifstream file("testdata/fixtures/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

Archive Read(const std::string& bytes) {
  return ReadArchive(bytes::StringSource(bytes));
}

std::string DataOf(const std::string& bytes, const Record& record) {
  return bytes.substr(record.data_offset, record.size);
}

// "" when the archive is read, else the error's id.
std::string IdOf(const std::string& bytes) {
  try {
    Read(bytes);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return error.id();
  }
}

std::string NamesOf(const Archive& archive) {
  std::string out;
  for (const Record& record : archive.records) out += record.name + " ";
  return out;
}

TEST(ZipRead, ArchivesOfTorch) {
  const struct {
    const char* file;
    const char* root;
    const char* names;
  } kCases[] = {
      {"t113_common.pt", "common", "common/data.pkl common/data/0 common/version "},
      {"t26_foo.bar.pt", "foo.bar",
       "foo.bar/data.pkl foo.bar/byteorder foo.bar/data/0 foo.bar/version foo.bar/.data/serialization_id "},
      {"t214_foo.bar.pt", "foo.bar",
       "foo.bar/data.pkl foo.bar/.format_version foo.bar/.storage_alignment foo.bar/byteorder foo.bar/data/0 "
       "foo.bar/version "
       "foo.bar/.data/serialization_id "},
  };
  for (const auto& c : kCases) {
    const std::string bytes = Fixture(c.file);
    EXPECT_TRUE(IsZip(bytes));
    const Archive archive = Read(bytes);
    EXPECT_EQ(archive.root(), c.root);
    EXPECT_EQ(NamesOf(archive), c.names);
    for (const Record& record : archive.records) {
      EXPECT_EQ(Crc32(DataOf(bytes, record)), record.crc) << record.name;
      EXPECT_EQ(record.data_offset % 64, 0u);
    }
    const Record* version = archive.Find(std::string(c.root) + "/version");
    ASSERT_NE(version, nullptr);
    EXPECT_EQ(DataOf(bytes, *version), "3\n");
    EXPECT_EQ(archive.Find("version"), nullptr);
  }
}

TEST(ZipRead, SumsThatWereNotComputedAreZero) {
  for (const char* file : {"t26_nocrc.pt", "t214_nocrc.pt"}) {
    for (const Record& record : Read(Fixture(file)).records) EXPECT_EQ(record.crc, 0u) << record.name;
  }
}

TEST(ZipRead, ArchivesOfOtherTools) {
  const auto record = [](std::string name, std::string data, Descriptor descriptor = Descriptor::kNone) {
    RecordSpec spec{std::move(name), std::move(data)};
    spec.descriptor = descriptor;
    return spec;
  };
  const std::vector<RecordSpec> records = {
      record("a/one", "1"), record("a/two", "22", Descriptor::k32), record("a/three", "333", Descriptor::k64),
      record("a/four", "4444", Descriptor::k32WithoutSignature), record("a/none", "")};
  EndSpec zip64, comment;
  zip64.zip64 = Zip64::kYes;
  comment.comment = std::string(65'535, 'c');
  for (const EndSpec& end : {EndSpec{}, zip64, comment}) {
    const std::string bytes = BuildZip(records, end);
    const Archive archive = Read(bytes);
    ASSERT_EQ(archive.records.size(), records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(archive.records[i].name, records[i].name);
      EXPECT_EQ(DataOf(bytes, archive.records[i]), records[i].data);
    }
  }
  EXPECT_EQ(Read(BuildZip({})).root(), "");
  EXPECT_EQ(Read(BuildZip({record("nofolder", "x")})).root(), "");
}

TEST(ZipRead, Zip64FieldsReplaceTheNarrowOnes) {
  RecordSpec spec{"a/x", "data"};
  spec.central_size = 0xFFFFFFFF;
  spec.central_header_offset = 0xFFFFFFFF;
  spec.local_size = 0xFFFFFFFF;
  spec.central_extra = ExtraField(0x5555, "other") + ExtraField(1, U64Bytes(4) + U64Bytes(4) + U64Bytes(0));
  const std::string bytes = BuildZip({spec});
  EXPECT_EQ(DataOf(bytes, Read(bytes).records[0]), "data");
  EndSpec end;
  end.zip64 = Zip64::kYes;
  end.count = 0xFFFF;
  end.directory_bytes = 0xFFFFFFFF;
  end.directory_offset = 0xFFFFFFFF;
  EXPECT_EQ(Read(BuildZip({spec}, end)).records.size(), 1u);
}

TEST(ZipRead, EveryRefusalHasItsId) {
  struct Case {
    const char* what;
    const char* id;
    std::function<std::string(RecordSpec, EndSpec)> build;
  };
  const RecordSpec x{"a/x", "data"};
  const Case kCases[] = {
      {"nothing", "zip.no_end_record", [](auto, auto) { return std::string(); }},
      {"text", "zip.no_end_record", [](auto, auto) { return std::string(100'000, 'x'); }},
      {"bytes after the end", "zip.no_end_record", [](auto r, auto e) { return BuildZip({r}, e) + "x"; }},
      {"encrypted", "zip.encrypted", [](auto r, auto e) { return r.flags = 1, BuildZip({r}, e); }},
      {"deflated", "zip.compressed", [](auto r, auto e) { return r.method = 8, BuildZip({r}, e); }},
      {"two sizes", "zip.bad_range", [](auto r, auto e) { return r.central_compressed_size = 3, BuildZip({r}, e); }},
      {"same name twice", "zip.duplicate_name", [](auto r, auto e) { return BuildZip({r, r}, e); }},
      {"no name", "zip.limit_exceeded", [](auto r, auto e) { return r.name = "", BuildZip({r}, e); }},
      {"long name", "zip.limit_exceeded",
       [](auto r, auto e) { return r.name = std::string(5000, 'n'), BuildZip({r}, e); }},
      {"record on another disk", "zip.multi_disk", [](auto r, auto e) { return r.disk = 1, BuildZip({r}, e); }},
      {"end record on another disk", "zip.multi_disk", [](auto r, auto e) { return e.disk = 2, BuildZip({r}, e); }},
      {"several disks", "zip.multi_disk",
       [](auto r, auto e) { return e.zip64 = Zip64::kYes, e.zip64_disks = 2, BuildZip({r}, e); }},
      {"local name differs", "zip.local_header_mismatch",
       [](auto r, auto e) { return r.local_name = "a/y", BuildZip({r}, e); }},
      {"local size differs", "zip.local_header_mismatch",
       [](auto r, auto e) { return r.local_size = 5, BuildZip({r}, e); }},
      {"local sum differs", "zip.local_header_mismatch",
       [](auto r, auto e) { return r.local_crc = 5, BuildZip({r}, e); }},
      {"header beyond the directory", "zip.bad_range",
       [](auto r, auto e) { return r.central_header_offset = 1000, BuildZip({r}, e); }},
      {"header that is none", "zip.bad_signature",
       [](auto r, auto e) { return r.central_header_offset = 1, BuildZip({r}, e); }},
      {"data beyond the directory", "zip.bad_range",
       [](auto r, auto e) { return r.central_size = 5, r.local_size = 5, BuildZip({r}, e); }},
      {"size of 2^64 - 1", "zip.bad_range",
       [](auto r, auto e) {
         r.central_size = 0xFFFFFFFF;
         r.central_extra = ExtraField(1, U64Bytes(~uint64_t{0}) + U64Bytes(~uint64_t{0}));
         r.descriptor = Descriptor::k64;
         return BuildZip({r}, e);
       }},
      {"zip64 field missing", "zip.truncated",
       [](auto r, auto e) { return r.central_size = 0xFFFFFFFF, BuildZip({r}, e); }},
      {"zip64 field too short", "zip.truncated",
       [](auto r, auto e) {
         return r.central_size = 0xFFFFFFFF, r.central_extra = ExtraField(1, U64Bytes(4)), BuildZip({r}, e);
       }},
      {"extra field longer than the extras", "zip.truncated",
       [](auto r, auto e) {
         return r.central_size = 0xFFFFFFFF, r.central_extra = "\x09\x01\xff\xff", BuildZip({r}, e);
       }},
      {"overlapping records", "zip.bad_range",
       [](auto r, auto e) {
         RecordSpec outer{"a/outer",
                          BuildZip({r}).substr(0, 37)};  // a local header and its data inside another record's data
         r.central_header_offset = 30 + 7;
         std::string bytes = BuildZip({outer, r}, e);
         return bytes;
       }},
      {"fewer records than counted", "zip.bad_range", [](auto r, auto e) { return e.count = 2, BuildZip({r}, e); }},
      {"more records than counted", "zip.bad_range", [](auto r, auto e) { return e.count = 0, BuildZip({r}, e); }},
      {"a huge count", "zip.bad_range",
       [](auto r, auto e) {
         return e.zip64 = Zip64::kYes, e.count = 0xFFFF, e.zip64_count = 3'000'000, BuildZip({r}, e);
       }},
      {"a count over the limit", "zip.limit_exceeded",
       [](auto r, auto e) {
         return e.zip64 = Zip64::kYes, e.count = 0xFFFF, e.zip64_count = uint64_t{1} << 62, BuildZip({r}, e);
       }},
      {"a directory over the limit", "zip.limit_exceeded",
       [](auto r, auto e) {
         return e.zip64 = Zip64::kYes, e.directory_bytes = 0xFFFFFFFF, e.zip64_directory_bytes = uint64_t{1} << 40,
                BuildZip({r}, e);
       }},
      {"directory outside", "zip.bad_range",
       [](auto r, auto e) { return e.directory_offset = 0xFFFFFF, BuildZip({r}, e); }},
      {"directory elsewhere", "zip.bad_range", [](auto r, auto e) { return e.directory_offset = 0, BuildZip({r}, e); }},
      {"a gap after the directory", "zip.bad_range",
       [](auto r, auto e) { return e.after_directory = "gap", BuildZip({r}, e); }},
      {"bytes left in the directory", "zip.bad_range",
       [](auto r, auto e) { return e.after_directory = "gap", e.directory_bytes = 46 + 3 + 3, BuildZip({r}, e); }},
      {"directory without entries", "zip.bad_signature",
       [](auto r, auto e) {
         return e.after_directory = std::string(49, 'x'), e.directory_bytes = 2 * 49, e.count = 2, BuildZip({r}, e);
       }},
      {"end records disagree", "zip.bad_range",
       [](auto r, auto e) { return e.zip64 = Zip64::kYes, e.count = 7, BuildZip({r}, e); }},
      {"zip64 end record outside", "zip.bad_range",
       [](auto r, auto e) { return e.zip64 = Zip64::kYes, e.zip64_end_offset = ~uint64_t{0} - 3, BuildZip({r}, e); }},
      {"zip64 end record elsewhere", "zip.bad_signature",
       [](auto r, auto e) { return e.zip64 = Zip64::kYes, e.zip64_end_offset = 0, BuildZip({r}, e); }},
  };
  EXPECT_EQ(IdOf(BuildZip({x})), "");
  for (const Case& c : kCases) EXPECT_EQ(IdOf(c.build(x, EndSpec{})), c.id) << c.what;
}

TEST(ZipRead, OnlyTheWholeArchiveIsRead) {
  for (const char* file : {"t113_common.pt", "t214_foo.bar.pt"}) {
    const std::string bytes = Fixture(file);
    for (size_t length = 0; length < bytes.size(); ++length) {
      EXPECT_NE(IdOf(bytes.substr(0, length)), "") << file << " cut to " << length;
    }
    EXPECT_EQ(IdOf(bytes), "");
  }
}

TEST(ZipRead, FlippedBitsGiveARecordInsideOrAnError) {
  const std::string original = Fixture("t214_foo.bar.pt");
  size_t refused = 0;
  for (size_t bit = 0; bit < original.size() * 8; ++bit) {
    std::string bytes = original;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    try {
      for (const Record& record : Read(bytes).records) {
        ASSERT_LE(record.data_offset, bytes.size());
        ASSERT_LE(record.size, bytes.size() - record.data_offset);
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000u);
}

// Counts what is read of a source.
class CountingSource : public bytes::StringSource {
 public:
  using StringSource::StringSource;
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    read_bytes += length;
    StringSource::ReadInto(offset, length, out);
  }
  mutable uint64_t read_bytes = 0;
};

TEST(ZipRead, DataIsNotRead) {
  const std::string bytes = BuildZip({{"a/x", std::string(1'000'000, 'x')}});
  const CountingSource source(bytes);
  ReadArchive(source);
  EXPECT_LT(source.read_bytes, 1000u);
}

}  // namespace
}  // namespace ck::zip
