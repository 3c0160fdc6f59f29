// Imports of models that transformers wrote, for tests. Testonly.
#ifndef CK_RUN_TESTING_IMPORT_MODEL_H_
#define CK_RUN_TESTING_IMPORT_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/fs/read.h"
#include "libs/fs/test_directory.h"
#include "libs/plan/plan.h"
#include "libs/run/carry_out.h"
#include "libs/run/testing/read_tensor.h"

namespace ck::run {

using State = std::map<std::string, WholeTensor>;
using Shapes = std::map<std::string, Dims>;

inline std::string FolderOf(const std::string& model) { return Cat("testdata/fixtures/hf/", model, "/model"); }

inline plan::Plan ImportOf(const std::string& directory, const std::function<void(plan::SplitStep&)>& change = {}) {
  plan::Plan plan;
  plan.inputs = {{.path = fs::AbsolutePath(directory), .iteration = {}, .format = plan::Format::kSafetensors, .weight = {}, .metadata_sha256 = {}}};
  plan::SplitStep step;
  step.to = plan::SplitStep::To::kMegatron;
  if (change) change(step);
  plan.steps = {step};
  return plan;
}

inline plan::Plan ExportOf(const std::string& directory, const std::string& config) {
  plan::Plan plan;
  plan.inputs = {{.path = directory, .iteration = {}, .format = plan::Format::kTorchDist, .weight = {}, .metadata_sha256 = {}}};
  plan::SplitStep step;
  step.config = config;
  plan.steps = {step};
  return plan;
}

inline Outcome CarryOutTo(const plan::Plan& plan, const std::string& output) {
  CarryOutOptions options;
  options.output = output;
  options.threads = 2;
  options.durability = fs::Durability::kNoSync;
  return CarryOut(plan, options, {});
}

inline std::string FaultOf(const plan::Plan& plan) {
  const fs::TestDirectory scratch;
  try {
    CarryOutTo(plan, scratch / "out");
  } catch (const Error& error) {
    EXPECT_FALSE(fs::Stat(scratch / "out"));
    return Cat(error.id(), ": ", error.message());
  }
  return "";
}

inline State ReadState(const std::string& directory) { return ReadTensors(*checkpoint::Checkpoint::Open(directory)); }

inline Shapes ShapesOf(const State& state) {
  Shapes out;
  for (const auto& [name, tensor] : state) out[name] = tensor.shape;
  return out;
}

inline Shapes ShapesByHand(const std::string& keys) {
  Shapes out;
  for (const std::string& line : Split(fs::ReadSmallFile(Cat("testdata/megatron_keys/", keys, ".tsv"), 1 << 20), '\n')) {
    const std::vector<std::string> columns = Split(line, '\t');
    if (columns.size() != 2) continue;
    Dims& shape = out[columns[0]];
    for (const std::string& number : Split(columns[1], 'x')) shape.push_back(*ParseUint64(number));
  }
  return out;
}

inline void ExpectSame(const State& found, const State& expected) {
  EXPECT_EQ(ShapesOf(found), ShapesOf(expected));
  for (const auto& [name, tensor] : found) {
    const auto at = expected.find(name);
    EXPECT_TRUE(at != expected.end() && at->second == tensor) << name;
  }
}

inline WholeTensor Concatenate(const std::vector<WholeTensor>& parts) {
  WholeTensor out{.dtype = parts[0].dtype, .shape = parts[0].shape, .bytes = ""};
  out.shape[0] = 0;
  for (const WholeTensor& part : parts) {
    out.shape[0] += part.shape[0];
    out.bytes += part.bytes;
  }
  return out;
}

inline WholeTensor Stack(const std::vector<WholeTensor>& parts) {
  WholeTensor out{.dtype = parts[0].dtype, .shape = parts[0].shape, .bytes = ""};
  out.shape.insert(out.shape.begin(), parts.size());
  for (const WholeTensor& part : parts) out.bytes += part.bytes;
  return out;
}

}  // namespace ck::run

#endif  // CK_RUN_TESTING_IMPORT_MODEL_H_
