#include "libs/pipeline/named_input.h"

#include "libs/base/error.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/detect.h"
#include "libs/fs/read.h"

namespace ck::pipeline {
namespace {

Format FormatOf(const std::string& path) {
  switch (checkpoint::Detect(path, fs::ListDirectory(path)).kind) {
    case checkpoint::Kind::kTorchDist:
      return Format::kTorchDist;
    case checkpoint::Kind::kFsdpDtensor:
      return Format::kFsdpDtensor;
    default:
      break;
  }
  return checkpoint::Checkpoint::Open(path)->format();
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
