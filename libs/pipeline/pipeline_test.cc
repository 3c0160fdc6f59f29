#include "libs/pipeline/pipeline.h"

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/checkpoint/metadata_hash.h"
#include "libs/checkpoint/testing/dcp_builder.h"
#include "libs/checksum/sha256.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"

namespace ck::pipeline {
namespace {

plan::Input SavedInput(const std::string& path) {
  checkpoint::DcpBuilder builder;
  builder.AddTensor("w", DType::kF32, {2}, std::string(8, 'x'), "__0_0.distcp");
  builder.Save(path);
  plan::Input input;
  input.path = path;
  input.format = plan::Format::kDcp;
  return input;
}

std::string IdOf(const plan::Input& input) {
  try {
    OpenInput(input);
    return "none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kPrecondition);
    return error.id();
  }
}

TEST(OpenInput, RefusesAnotherFormat) {
  const fs::TestDirectory directory;
  plan::Input input = SavedInput(directory / "a");
  EXPECT_EQ(IdOf(input), "none");
  input.format = plan::Format::kTorchDist;
  EXPECT_EQ(IdOf(input), "pipeline.input_changed");
}

TEST(OpenInput, ComparesTheHashOfTheMetadata) {
  const fs::TestDirectory directory;
  plan::Input input = SavedInput(directory / "a");
  input.metadata_sha256 = Sha256Of(fs::ReadSmallFile(directory / "a/.metadata", 1 << 20));
  EXPECT_EQ(IdOf(input), "none");
  input.metadata_sha256 = std::string(64, '0');
  EXPECT_EQ(IdOf(input), "pipeline.input_changed");
}

TEST(MetadataSha256, OfSafetensorsIsOfTheHeaderOrTheIndex) {
  const fs::TestDirectory directory;
  const std::string header = R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  std::string prefix(8, '\0');
  prefix[0] = static_cast<char>(header.size());
  directory.Write("m/model.safetensors", prefix + header + "x");
  EXPECT_EQ(checkpoint::MetadataSha256(*checkpoint::Checkpoint::Open(directory / "m")), Sha256Of(prefix + header));
  const std::string index = R"({"weight_map":{"w":"model.safetensors"}})";
  directory.Write("m/model.safetensors.index.json", index);
  EXPECT_EQ(checkpoint::MetadataSha256(*checkpoint::Checkpoint::Open(directory / "m")), Sha256Of(index));
}

}  // namespace
}  // namespace ck::pipeline
