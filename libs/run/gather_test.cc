#include "libs/run/gather.h"

#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"

namespace ck::run {
namespace {

// Counts what is read of a buffer.
class CountingSource : public bytes::Source {
 public:
  explicit CountingSource(std::string data) : data_(std::move(data)) {}
  uint64_t size() const override { return data_.size(); }
  void ReadInto(uint64_t offset, uint64_t length, char* out) const override {
    CheckRange(offset, length);
    std::memcpy(out, data_.data() + offset, length);
    ++reads;
    bytes_read += length;
  }
  std::string name() const override { return "test"; }
  mutable uint64_t reads = 0;
  mutable uint64_t bytes_read = 0;

 private:
  std::string data_;
};

std::string Numbers(uint64_t bytes) {
  std::string out(bytes, '\0');
  std::mt19937 random(7);
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

// The definition of the copy, element by element.
std::string Expected(const std::string& data, const StridedCopy& copy, uint64_t target_bytes) {
  std::string out(target_bytes, '\x55');
  std::vector<uint64_t> index(copy.extents.size(), 0);
  const uint64_t count = std::accumulate(copy.extents.begin(), copy.extents.end(), uint64_t{1}, std::multiplies<>());
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t rest = n, source = 0, target = 0;
    for (size_t d = copy.extents.size(); d-- > 0;) {
      const uint64_t i = rest % copy.extents[d];
      rest /= copy.extents[d];
      source += i * copy.source_strides[d];
      target += i * copy.target_strides[d];
    }
    std::memcpy(&out[target * copy.element_size], &data[copy.source_offset + source * copy.element_size], copy.element_size);
  }
  return out;
}

void ExpectGathers(const StridedCopy& copy, uint64_t source_bytes, uint64_t target_bytes) {
  const std::string data = Numbers(source_bytes);
  std::string out(target_bytes, '\x55');
  GatherScratch scratch;
  Gather(CountingSource(data), copy, out.data(), scratch);
  EXPECT_EQ(out, Expected(data, copy, target_bytes));
}

TEST(Gather, EveryShapeOfCopy) {
  const struct {
    const char* what;
    StridedCopy copy;
  } kCases[] = {
      {"a scalar", {4, 8, {}, {}, {}}},
      {"one run", {2, 6, {100}, {1}, {1}}},
      {"rows of a wider source", {2, 4, {7, 5}, {11, 1}, {5, 1}}},
      {"rows into a wider target", {2, 0, {7, 5}, {5, 1}, {9, 1}}},
      {"a transpose", {4, 4, {6, 5}, {1, 6}, {5, 1}}},
      {"every second column", {2, 2, {4, 3}, {8, 2}, {3, 1}}},
      {"every third row and second column", {8, 16, {3, 4}, {36, 2}, {4, 1}}},
      {"three dimensions permuted", {2, 0, {3, 4, 5}, {1, 15, 3}, {20, 5, 1}}},
      {"extents of one", {4, 4, {1, 6, 1}, {99, 1, 99}, {6, 1, 77}}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    ExpectGathers(c.copy, 2000, 800);
  }
}

TEST(Gather, EmptyCopiesReadNothing) {
  const CountingSource source("x");
  GatherScratch scratch;
  Gather(source, {4, 100, {3, 0}, {1, 1}, {1, 1}}, nullptr, scratch);
  EXPECT_EQ(source.reads, 0u);
}

TEST(Gather, RunsLongerThanTheWindow) {
  ExpectGathers({2, 2, {3, kWindowBytes}, {kWindowBytes + 5, 1}, {kWindowBytes, 1}}, 7 * kWindowBytes, 6 * kWindowBytes);
  ExpectGathers({1, 3, {kWindowBytes}, {3}, {1}}, 3 * kWindowBytes + 3, kWindowBytes);
  ExpectGathers({4, 0, {3, 5}, {kWindowBytes, 1}, {5, 1}}, 4 * (2 * kWindowBytes + 5), 60);
}

TEST(Gather, RandomCopies) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const size_t rank = 1 + random() % 4;
    StridedCopy copy{.element_size = uint64_t{1} << random() % 4, .source_offset = random() % 32, .extents = {}, .source_strides = {}, .target_strides = {}};
    uint64_t source_reach = 0, target_stride = 1;
    for (size_t d = 0; d < rank; ++d) copy.extents.push_back(1 + random() % 5);
    copy.target_strides.resize(rank);
    for (size_t d = rank; d-- > 0;) {
      copy.target_strides[d] = target_stride;
      target_stride *= copy.extents[d];
    }
    for (size_t d = 0; d < rank; ++d) {
      copy.source_strides.push_back(random() % 40);
      source_reach += (copy.extents[d] - 1) * copy.source_strides[d];
    }
    ExpectGathers(copy, copy.source_offset + (source_reach + 1) * copy.element_size, target_stride * copy.element_size);
  }
}

TEST(Gather, ReadsLittleMoreThanItNeeds) {
  GatherScratch scratch;
  std::string out(1 << 20, '\0');
  {
    const CountingSource source(Numbers(1 << 20));  // narrow columns with wide gaps: no read-ahead
    Gather(source, {1, 0, {16, 100}, {65536, 1}, {100, 1}}, out.data(), scratch);
    EXPECT_EQ(source.bytes_read, 1600u);
  }
  {
    const CountingSource source(Numbers(1 << 20));  // short gaps: few reads
    Gather(source, {1, 0, {1000, 100}, {1000, 1}, {100, 1}}, out.data(), scratch);
    EXPECT_LE(source.reads, 8u);
    EXPECT_LE(source.bytes_read, uint64_t{1} << 20);
  }
  {
    const CountingSource source(Numbers(1 << 20));  // contiguous: one read
    Gather(source, {2, 0, {512, 1024}, {1024, 1}, {1024, 1}}, out.data(), scratch);
    EXPECT_EQ(source.reads, 1u);
    EXPECT_EQ(source.bytes_read, uint64_t{1} << 20);
  }
}

TEST(Gather, AReadOutsideTheSourceIsAnError) {
  const CountingSource source(std::string(100, 'x'));
  GatherScratch scratch;
  std::string out(100, '\0');
  try {
    Gather(source, {1, 50, {51}, {1}, {1}}, out.data(), scratch);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), "bytes.out_of_range");
  }
}

}  // namespace
}  // namespace ck::run
