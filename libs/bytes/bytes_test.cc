#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/reader.h"
#include "libs/bytes/source.h"

namespace ck::bytes {
namespace {

std::string IdOf(void (*f)()) {
  try {
    f();
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

TEST(Reader, ReadsLittleEndianAndStopsAtTheEnd) {
  std::string data;
  PutU16(data, 0x1234);
  PutU32(data, 0x89ABCDEF);
  PutU64(data, 0x0123456789ABCDEF);
  data += "key\ntail";
  Reader reader(data, "t.short", "test");
  EXPECT_EQ(reader.U16(), 0x1234);
  EXPECT_EQ(reader.U32(), 0x89ABCDEFu);
  EXPECT_EQ(reader.U64(), 0x0123456789ABCDEFu);
  EXPECT_EQ(reader.TakeUntil('\n'), "key");
  EXPECT_EQ(reader.Take(4), "tail");
  EXPECT_TRUE(reader.AtEnd());
}

TEST(Reader, ShortReadsAreErrorsWhateverTheLength) {
  EXPECT_EQ(IdOf([] { Reader("abc", "t.short", "t").U32(); }), "t.short");
  EXPECT_EQ(IdOf([] { Reader("abc", "t.short", "t").Take(~uint64_t{0}); }), "t.short");
  EXPECT_EQ(IdOf([] { Reader("abc", "t.short", "t").TakeUntil('x'); }), "t.short");
  EXPECT_EQ(IdOf([] { Reader("abc", "t.short", "t").Seek(4); }), "t.short");
}

TEST(Source, RangesAreCheckedWithoutOverflow) {
  EXPECT_EQ(IdOf([] { StringSource("abc").Read(1, ~uint64_t{0}, 10); }), "bytes.out_of_range");
  EXPECT_EQ(IdOf([] { StringSource("abc").Read(0, 3, 2); }), "bytes.too_long");
  EXPECT_EQ(IdOf([] { StringSource s("abc"); SliceSource(s, 2, 2); }), "bytes.out_of_range");
  StringSource whole("abcdef");
  SliceSource slice(whole, 2, 3);
  EXPECT_EQ(slice.Read(1, 2, 10), "de");
}

}  // namespace
}  // namespace ck::bytes
