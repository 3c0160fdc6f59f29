#include <random>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/reader.h"
#include "libs/bytes/source.h"
#include "libs/safetensors/header.h"

namespace ck::safetensors {
namespace {

std::string File(const std::string& json, uint64_t data_bytes) {
  std::string out;
  bytes::PutU64(out, json.size());
  return out + json + std::string(data_bytes, '\1');
}

std::string Length(uint64_t value) {
  std::string out;
  bytes::PutU64(out, value);
  return out;
}

Header Read(const std::string& file) { return ReadHeader(bytes::StringSource(file, "a.safetensors")); }

// The id of the error, "" when there is none. The message must name the file.
std::string Fault(const std::string& file) {
  try {
    Read(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInput);
    EXPECT_EQ(error.message().find("a.safetensors"), 0U) << error.message();
    return error.id();
  }
  return "";
}

// One entry named "w" with these members and that much data.
std::string Entry(const std::string& members, uint64_t data_bytes) { return File("{\"w\":{" + members + "}}", data_bytes); }

TEST(ReadHeader, GivesTensorsByNameAndMetadata) {
  const Header header = Read(File(R"({"__metadata__":{"format":"pt"},)"
                                  R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                  R"("a":{"dtype":"I64","shape":[],"data_offsets":[24,32]}}  )",
                                  32));
  const uint64_t begin = header.data_begin;
  ASSERT_EQ(header.tensors.size(), 2U);
  EXPECT_EQ(header.tensors[0], (Tensor{"a", DType::kI64, {}, begin + 24, begin + 32}));
  EXPECT_EQ(header.tensors[1], (Tensor{"b", DType::kF32, {2, 3}, begin, begin + 24}));
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
}

TEST(ReadHeader, AcceptsWhatTheLibraryAccepts) {
  EXPECT_EQ(Fault(File("{}", 0)), "");
  EXPECT_EQ(Fault(File(" \n{} ", 0)), "") << "blanks before the brace, length not a multiple of 8";
  EXPECT_EQ(Fault(Entry(R"("dtype":"U8","shape":[3],"data_offsets":[0,3],"extra":[1])", 3)), "");
  EXPECT_EQ(Fault(File(R"({"a":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                       R"("c":{"dtype":"F32","shape":[4,0],"data_offsets":[4,4]}})",
                       4)),
            "")
      << "empty tensors share an offset";
}

TEST(ReadHeader, CountsF4InBytes) {
  const Header header = Read(Entry(R"("dtype":"F4","shape":[3,8],"data_offsets":[0,12])", 12));
  EXPECT_EQ(header.tensors.at(0).shape, (Dims{3, 4}));
}

struct Case {
  std::string what, file, id;
};

TEST(ReadHeader, NamesEachFault) {
  const std::string f32 = R"("dtype":"F32",)";
  const std::string nesting = "{\"w\":" + std::string(200'000, '[');
  const Case cases[] = {
      {"empty file", "", "safetensors.too_short"},
      {"seven bytes", std::string(7, '\0'), "safetensors.too_short"},
      {"length 0", Length(0), "safetensors.bad_json"},
      {"length 2^63", Length(uint64_t{1} << 63) + "{}", "safetensors.header_too_long"},
      {"length 2^64-1", Length(~uint64_t{0}) + "{}", "safetensors.header_too_long"},
      {"length over the cap by one", Length(kMaxHeaderBytes + 1) + "{}", "safetensors.header_too_long"},
      {"length of the whole file", Length(10) + "{}", "safetensors.header_past_end"},
      {"not UTF-8", File("{\"\xff\":1}", 0), "safetensors.bad_json"},
      {"an array", File("[]", 0), "safetensors.bad_json"},
      {"a number", File("7", 0), "safetensors.bad_json"},
      {"NUL padding", File(std::string("{}\0", 3), 0), "safetensors.bad_json"},
      {"text after the object", File("{} x", 0), "safetensors.bad_json"},
      {"deep nesting", File(nesting, 0), "safetensors.bad_json"},
      {"entry is an array", File(R"({"w":[]})", 0), "safetensors.bad_json"},
      {"duplicate tensor",
       File(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2),
       "safetensors.duplicate_key"},
      {"duplicate member", Entry(R"("dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1])", 1), "safetensors.duplicate_key"},
      {"duplicate metadata", File(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "safetensors.duplicate_key"},
      {"dtype unknown", Entry(R"("dtype":"ZZ","shape":[1],"data_offsets":[0,4])", 4), "safetensors.unknown_dtype"},
      {"dtype not in the format", Entry(R"("dtype":"C128","shape":[1],"data_offsets":[0,16])", 16), "safetensors.unknown_dtype"},
      {"dtype of 6 bits", Entry(R"("dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3])", 3), "safetensors.unknown_dtype"},
      {"dtype missing", Entry(R"("shape":[1],"data_offsets":[0,4])", 4), "safetensors.unknown_dtype"},
      {"dtype a number", Entry(R"("dtype":4,"shape":[1],"data_offsets":[0,4])", 4), "safetensors.unknown_dtype"},
      {"shape missing", Entry(f32 + R"("data_offsets":[0,4])", 4), "safetensors.bad_shape"},
      {"shape negative", Entry(f32 + R"("shape":[-1],"data_offsets":[0,4])", 4), "safetensors.bad_shape"},
      {"shape float", Entry(f32 + R"("shape":[1.0],"data_offsets":[0,4])", 4), "safetensors.bad_shape"},
      {"shape bool", Entry(f32 + R"("shape":[true],"data_offsets":[0,4])", 4), "safetensors.bad_shape"},
      {"shape 2^64", Entry(f32 + R"("shape":[18446744073709551616],"data_offsets":[0,4])", 4), "safetensors.bad_shape"},
      {"shape overflow", Entry(f32 + R"("shape":[4294967296,4294967296],"data_offsets":[0,0])", 0), "safetensors.bad_shape"},
      {"shape overflow before 0", Entry(f32 + R"("shape":[4294967296,4294967296,0],"data_offsets":[0,0])", 0),
       "safetensors.bad_shape"},
      {"byte overflow", Entry(f32 + R"("shape":[4611686018427387904],"data_offsets":[0,0])", 0), "safetensors.bad_shape"},
      {"half a byte", Entry(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])", 1), "safetensors.bad_shape"},
      {"offsets missing", Entry(f32 + R"("shape":[1])", 4), "safetensors.bad_offsets"},
      {"offsets of one", Entry(f32 + R"("shape":[1],"data_offsets":[0])", 4), "safetensors.bad_offsets"},
      {"offsets of three", Entry(f32 + R"("shape":[1],"data_offsets":[0,4,4])", 4), "safetensors.bad_offsets"},
      {"offsets reversed", Entry(f32 + R"("shape":[1],"data_offsets":[4,0])", 4), "safetensors.bad_offsets"},
      {"offsets negative", Entry(f32 + R"("shape":[1],"data_offsets":[-4,0])", 4), "safetensors.bad_offsets"},
      {"offsets float", Entry(f32 + R"("shape":[1],"data_offsets":[0.0,4])", 4), "safetensors.bad_offsets"},
      {"offsets 2^64", Entry(f32 + R"("shape":[1],"data_offsets":[0,18446744073709551616])", 4), "safetensors.bad_offsets"},
      {"shape larger than the data", Entry(f32 + R"("shape":[1000,1000],"data_offsets":[0,4])", 4), "safetensors.size_mismatch"},
      {"shape smaller than the data", Entry(f32 + R"("shape":[1],"data_offsets":[0,8])", 8), "safetensors.size_mismatch"},
      {"data cut", Entry(f32 + R"("shape":[1],"data_offsets":[0,4])", 3), "safetensors.truncated"},
      {"hole at the start", Entry(f32 + R"("shape":[1],"data_offsets":[4,8])", 8), "safetensors.hole"},
      {"hole between",
       File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", 3),
       "safetensors.hole"},
      {"overlap",
       File(R"({"a":{"dtype":"U8","shape":[100],"data_offsets":[0,100]},"b":{"dtype":"U8","shape":[100],"data_offsets":[50,150]}})",
            150),
       "safetensors.overlap"},
      {"same bytes twice",
       File(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1),
       "safetensors.overlap"},
      {"trailing bytes", Entry(f32 + R"("shape":[1],"data_offsets":[0,4])", 5), "safetensors.trailing_bytes"},
      {"data without tensors", File("{}", 1), "safetensors.trailing_bytes"},
      {"metadata a string", File(R"({"__metadata__":"pt"})", 0), "safetensors.bad_metadata"},
      {"metadata value a number", File(R"({"__metadata__":{"step":1}})", 0), "safetensors.bad_metadata"},
  };
  for (const Case& test : cases) EXPECT_EQ(Fault(test.file), test.id) << test.what;
}

TEST(ReadHeader, NamesTheTensor) {
  try {
    Read(Entry(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])", 4));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a.safetensors: tensor 'w': data_offsets span 4 bytes, expected 8 for F32 [2]");
  }
}

std::string Valid() {
  return File(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
              R"("a":{"dtype":"BF16","shape":[3,5],"data_offsets":[16,46]}})",
              46);
}

TEST(ReadHeader, RefusesEveryPrefix) {
  const std::string whole = Valid();
  EXPECT_EQ(Fault(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(Fault(whole.substr(0, length)), "") << length;
}

TEST(ReadHeader, SurvivesFlippedBits) {
  const std::string whole = Valid();
  const size_t header_end = whole.size() - 46;
  for (size_t bit = 0; bit < header_end * 8; ++bit) {
    std::string broken = whole;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << (bit % 8)));
    Fault(broken);
  }
  std::mt19937 random(7);
  for (size_t round = 0; round < 2000; ++round) {
    std::string broken = whole;
    for (size_t i = 0; i < 1 + round % 8; ++i) broken[random() % header_end] = static_cast<char>(random());
    Fault(broken);
  }
}

}  // namespace
}  // namespace ck::safetensors
