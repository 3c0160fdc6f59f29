#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/bytes/source.h"
#include "libs/safetensors/header.h"

namespace ck::safetensors {
namespace {

template <typename Function>
std::string Fault(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.id();
  }
  return "";
}

std::string Write(const std::vector<Tensor>& tensors, std::vector<Tensor>& placed) {
  return WriteHeader(tensors, {{"format", "pt"}}, placed);
}

TEST(WriteHeader, OrdersByDTypeThenName) {
  std::vector<Tensor> placed;
  const std::string bytes = Write({{"a", DType::kF32, {3}}, {"z", DType::kU8, {2, 5}}, {"c", DType::kI64, {}}, {"B", DType::kF32, {0, 2}}}, placed);
  EXPECT_EQ(bytes.substr(8),
            R"({"__metadata__":{"format":"pt"},"c":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
            R"("B":{"dtype":"F32","shape":[0,2],"data_offsets":[8,8]},"a":{"dtype":"F32","shape":[3],"data_offsets":[8,20]},)"
            R"("z":{"dtype":"U8","shape":[2,5],"data_offsets":[20,30]}}       )");
  EXPECT_EQ(bytes.size() % 8, 0U);
  ASSERT_EQ(placed.size(), 4U);
  EXPECT_EQ(placed[0], (Tensor{"c", DType::kI64, {}, bytes.size(), bytes.size() + 8}));
  EXPECT_EQ(placed[3], (Tensor{"z", DType::kU8, {2, 5}, bytes.size() + 20, bytes.size() + 30}));
}

TEST(WriteHeader, LeavesOutEmptyMetadata) {
  std::vector<Tensor> placed;
  EXPECT_EQ(WriteHeader({}, {}, placed), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(WriteHeader, ReadsBackForEveryDType) {
  std::vector<Tensor> tensors;
  uint64_t size = 1;
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kU32, DType::kI32, DType::kU64,
                            DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kF8E4M3, DType::kF8E5M2,
                            DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ, DType::kF8E8M0, DType::kF4, DType::kC64}) {
    tensors.push_back({std::string(Name(dtype)) + " \"\\\n\x01\xC3\xA9", dtype, {2, ++size}});
  }
  std::vector<Tensor> placed;
  std::string file = Write(tensors, placed);
  file.resize(placed.back().end);
  const Header header = ReadHeader(bytes::StringSource(file));
  std::sort(placed.begin(), placed.end(), [](const Tensor& a, const Tensor& b) { return a.name < b.name; });
  EXPECT_EQ(header.tensors, placed);
}

TEST(WriteHeader, RefusesWhatTheFormatCannotHold) {
  std::vector<Tensor> placed;
  EXPECT_EQ(Fault([&] { Write({{"a", DType::kC128, {1}}}, placed); }), "safetensors.unknown_dtype");
  EXPECT_EQ(Fault([&] { Write({{"a", DType::kF4, {}}}, placed); }), "safetensors.bad_shape");
  EXPECT_EQ(Fault([&] { Write({{"a", DType::kF32, {uint64_t{1} << 62}}}, placed); }), "safetensors.bad_shape");
  EXPECT_EQ(Fault([&] { Write({{"a", DType::kU8, {~uint64_t{0}}}, {"b", DType::kU8, {1}}}, placed); }), "safetensors.bad_offsets");
  EXPECT_EQ(Fault([&] { Write({{"a", DType::kU8, {~uint64_t{0}}}}, placed); }), "safetensors.bad_offsets");
  EXPECT_EQ(Fault([&] { Write({{"a", DType::kU8, {1}}, {"a", DType::kF32, {1}}}, placed); }), "safetensors.duplicate_key");
  EXPECT_EQ(Fault([&] { Write({{"__metadata__", DType::kU8, {1}}}, placed); }), "safetensors.duplicate_key");
}

TEST(Index, ReadsAndWritesTheSameBytes) {
  const std::string text = "{\n  \"metadata\": {\n    \"total_parameters\": 3,\n    \"total_size\": 6\n  },\n  \"weight_map\": {\n"
                           "    \"a\": \"model-00001-of-00002.safetensors\",\n    \"b\": \"model-00002-of-00002.safetensors\"\n  }\n}\n";
  const Index index = ReadIndex(text);
  EXPECT_EQ(index.total_size, 6U);
  EXPECT_EQ(index.weight_map.at("b"), "model-00002-of-00002.safetensors");
  EXPECT_EQ(WriteIndex(index), text);
}

TEST(Index, MetadataIsOptional) {
  EXPECT_EQ(ReadIndex(R"({"weight_map":{"a":"x.safetensors"}})").total_size, 0U);
  EXPECT_EQ(ReadIndex(R"({"metadata":{"total_size":7.0,"by":"x"},"weight_map":{}})").total_size, 7U);
}

TEST(Index, NamesEachFault) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "safetensors.bad_index"},
      {"[]", "safetensors.bad_index"},
      {"{}", "safetensors.bad_index"},
      {R"({"weight_map":[]})", "safetensors.bad_index"},
      {R"({"weight_map":{"a":1}})", "safetensors.bad_index"},
      {R"({"weight_map":{},"metadata":[]})", "safetensors.bad_index"},
      {R"({"weight_map":{},"metadata":{"total_size":-1}})", "safetensors.bad_index"},
      {R"({"weight_map":{},"metadata":{"total_size":1.5}})", "safetensors.bad_index"},
      {R"({"weight_map":{},"metadata":{"total_size":1e30}})", "safetensors.bad_index"},
      {R"({"weight_map":{},"metadata":{"total_size":"7"}})", "safetensors.bad_index"},
      {R"({"weight_map":{"a":"x","a":"y"}})", "safetensors.duplicate_key"},
      {R"({"weight_map":{"a":""}})", "safetensors.unsafe_path"},
      {R"({"weight_map":{"a":"."}})", "safetensors.unsafe_path"},
      {R"({"weight_map":{"a":"../a.safetensors"}})", "safetensors.unsafe_path"},
      {R"({"weight_map":{"a":"/etc/passwd"}})", "safetensors.unsafe_path"},
      {R"({"weight_map":{"a":"a/../../b"}})", "safetensors.unsafe_path"},
      {R"({"weight_map":{"a":"x\u0000.safetensors"}})", "safetensors.unsafe_path"},
      {R"({"weight_map":{"a":"x\n.safetensors"}})", "safetensors.unsafe_path"},
  };
  for (const auto& test : cases) EXPECT_EQ(Fault([&] { ReadIndex(test.first); }), test.second) << test.first;
}

}  // namespace
}  // namespace ck::safetensors
