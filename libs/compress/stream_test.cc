#include "libs/compress/stream.h"

#include <zstd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/reader.h"

namespace ck::compress {
namespace {

TEST(LibraryVersion, IsTheOneThatIsLinked) { EXPECT_EQ(LibraryVersion(), std::string("zstd ") + ZSTD_versionString()); }

using Descriptors = std::vector<std::string>;

std::string Zstd(const std::string& data) {
  std::string out(ZSTD_compressBound(data.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

// Bytes that differ everywhere and compress badly.
std::string Noise(size_t size) {
  std::string out;
  uint32_t x = 12345;
  while (out.size() < size) bytes::PutU32(out, x = x * 1664525 + 1013904223);
  out.resize(size);
  return out;
}

// The decompressed bytes, or the error's id.
std::string Result(const std::string& compressed, const Descriptors& descriptors = {"stream.zstd/1"}) {
  const bytes::StringSource source(compressed);
  try {
    const auto result = Decompressed(source, descriptors);
    return result->Read(0, result->size(), uint64_t{1} << 30);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    return "error: " + error.id();
  }
}

TEST(Stream, Descriptors) {
  const struct {
    const char* descriptor;
    bool supported;
  } kCases[] = {
      {"stream.zstd", true},
      {"stream.zstd/1", true},
      {"stream.zstd/1.3", true},
      {"stream.zstd@site/1", true},
      {"stream.zstd@site", true},
      {"stream.zstd/2", false},
      {"stream.zstd/11", false},
      {"stream.zstd/", false},
      {"stream.zstd/1.", false},
      {"stream.zstd/1.x", false},
      {"stream.zstd@/1", false},
      {"stream.foo/1", false},
      {"stream.zst/1", false},
      {"", false},
      {"/1", false},
      {"stream.zstd@", false},
      {"stream.zstd2", false},
      {"@stream.zstd", false},
      {"stream.zstd/1/1", false},
      {"zstd", false},
  };
  for (const auto& c : kCases) {
    const std::string text = "data";
    EXPECT_EQ(Result(Zstd(text), {c.descriptor}), c.supported ? text : "error: compress.unknown_transform")
        << c.descriptor;
  }
  EXPECT_EQ(Result("raw", {}), "raw");
  EXPECT_EQ(Result(Zstd(Zstd("twice")), {"stream.zstd/1", "stream.zstd"}), "twice");
  EXPECT_THROW(CheckTransforms({"stream.zstd/1", "stream.other"}), Error);
  CheckTransforms({});
}

TEST(Stream, ItemsOfTorch) {
  // Four items; the first frame's place is known from the metadata, the rest follow.
  std::ifstream file("testdata/fixtures/t214_zstd/__0_0.distcp", std::ios::binary);
  ASSERT_TRUE(file.good());
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string items = bytes.str();
  const size_t first = ZSTD_findFrameCompressedSize(items.data(), items.size());
  ASSERT_FALSE(ZSTD_isError(first));
  ASSERT_EQ(ZSTD_getFrameContentSize(items.data(), items.size()), ZSTD_CONTENTSIZE_UNKNOWN) << "torch writes no size";
  const std::string item = Result(items.substr(0, first));
  EXPECT_EQ(item.substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(item.substr(item.size() - 22, 4), "PK\x05\x06");
}

TEST(Stream, FramesInARowAreOneItem) {
  EXPECT_EQ(Result(Zstd("one") + Zstd("") + Zstd("two")), "onetwo");
  const std::string skippable("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  EXPECT_EQ(Result(skippable + Zstd("one") + skippable), "one");
}

TEST(Stream, DamageHasItsId) {
  const std::string data = Noise(5000), frame = Zstd(data);
  EXPECT_EQ(Result(frame), data);
  for (size_t length = 0; length < frame.size(); ++length)
    EXPECT_EQ(Result(frame.substr(0, length)), "error: compress.truncated") << length;
  EXPECT_EQ(Result(frame + "garbage"), "error: compress.bad_data");
  EXPECT_EQ(Result("this is no zstd frame"), "error: compress.bad_data");
  // A header that asks for a window of 2^28 bytes: magic, flags without size, window descriptor (exponent 18), one raw
  // block.
  const std::string large_window("\x28\xb5\x2f\xfd\x00\x90\x09\x00\x00x", 10);
  EXPECT_EQ(Result(large_window), "error: compress.limit_exceeded");
  const std::string allowed_window("\x28\xb5\x2f\xfd\x00\x88\x09\x00\x00x", 10);
  EXPECT_EQ(Result(allowed_window), "x");
}

TEST(Stream, FlippedBitsNeverCrash) {
  const std::string data = "a line of text, a line of text, and one more line of text" + Noise(100);
  const std::string original = Zstd(data);
  size_t refused = 0;
  for (size_t bit = 0; bit < original.size() * 8; ++bit) {
    std::string frame = original;
    frame[bit / 8] = static_cast<char>(frame[bit / 8] ^ (1 << bit % 8));
    refused += Result(frame).rfind("error: ", 0) == 0;
  }
  EXPECT_GT(refused, 50u);
}

// Counts the compressed bytes that are read.
class CountingSource : public bytes::StringSource {
 public:
  using StringSource::StringSource;
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    read_bytes += length;
    StringSource::ReadInto(offset, length, out);
  }
  mutable std::atomic<uint64_t> read_bytes = 0;
};

TEST(Stream, AShortItemIsDecompressedOnce) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{kCachedItemBytes}}) {
    const std::string data = Noise(size), frame = Zstd(data);
    const CountingSource source(frame);
    const auto result = Decompressed(source, {"stream.zstd/1"});
    EXPECT_EQ(source.read_bytes, 0u) << "nothing is read before it is asked for";
    EXPECT_EQ(result->size(), size);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(result->Read(size / 2, size - size / 2, size), data.substr(size / 2));
    EXPECT_EQ(source.read_bytes, frame.size());
  }
}

TEST(Stream, OfALongItemAscendingReadsCostOnePass) {
  const std::string data = Noise(3'000'001), frame = Zstd(data);
  const CountingSource source(frame);
  const auto result = Decompressed(source, {"stream.zstd/1"});
  EXPECT_EQ(result->size(), data.size());
  EXPECT_EQ(source.read_bytes, frame.size());
  // The ends are known by now.
  EXPECT_EQ(result->Read(0, 4096, 4096), data.substr(0, 4096));
  EXPECT_EQ(result->Read(data.size() - 4096, 4096, 4096), data.substr(data.size() - 4096));
  EXPECT_EQ(source.read_bytes, frame.size());
  for (uint64_t offset = 0; offset + 70'000 < data.size(); offset += 100'000) {
    ASSERT_EQ(result->Read(offset, 70'000, 70'000), data.substr(offset, 70'000)) << offset;
  }
  EXPECT_LE(source.read_bytes, 2 * frame.size());
  // Backwards starts over.
  EXPECT_EQ(result->Read(50'000, 100, 100), data.substr(50'000, 100));
  EXPECT_EQ(result->Read(8191, 2, 2), data.substr(8191, 2));
  EXPECT_EQ(result->Read(0, data.size(), data.size()), data);
  EXPECT_THROW(result->Read(data.size(), 1, 1), Error);
}

TEST(Stream, ThreadsTakeTurns) {
  const std::string data = Noise(2'000'000), frame = Zstd(data);
  const bytes::StringSource source(frame);
  const auto result = Decompressed(source, {"stream.zstd/1"});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 8; ++i) {
        const uint64_t offset = (t * 7 + i * 5) % 19 * 100'000;
        wrong += result->Read(offset, 1000, 1000) != data.substr(offset, 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ck::compress
