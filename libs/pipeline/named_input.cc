#include "libs/pipeline/named_input.h"

#include "libs/base/error.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/detect.h"
#include "libs/fs/read.h"

namespace ck::pipeline {
namespace {

plan::Format FormatOf(const std::string& path) {
  switch (checkpoint::Detect(path, fs::ListDirectory(path)).kind) {
    case checkpoint::Kind::kTorchDist:
      return plan::Format::kTorchDist;
    case checkpoint::Kind::kFsdpDtensor:
      return plan::Format::kFsdpDtensor;
    default:
      break;
  }
  switch (checkpoint::Checkpoint::Open(path)->format()) {
    case checkpoint::Format::kTorchDist:
      return plan::Format::kTorchDist;
    case checkpoint::Format::kFsdpDtensor:
      return plan::Format::kFsdpDtensor;
    case checkpoint::Format::kDcp:
      return plan::Format::kDcp;
    case checkpoint::Format::kSafetensors:
      return plan::Format::kSafetensors;
  }
  throw InternalError("internal.check_failed", "a format is one of four");
}

}  // namespace

plan::Input InputFor(const std::string& path, const checkpoint::Iteration& iteration) {
  plan::Input input;
  input.path = fs::AbsolutePath(path);
  if (iteration.number) input.iteration = static_cast<int64_t>(*iteration.number);
  input.format = FormatOf(input.path);
  return input;
}

NamedInput ResolveInput(const std::string& path) {
  const checkpoint::Resolved resolved = checkpoint::Resolve(path);
  return {.input = InputFor(resolved.path, resolved.iteration), .through_root = resolved.through_root, .note = resolved.note};
}

}  // namespace ck::pipeline
