#include "libs/checkpoint/megatron_args.h"

#include <algorithm>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/checkpoint/checkpoint.h"
#include "libs/torchsave/read.h"

namespace ck::checkpoint {
namespace {

// args.ckpt_format, "" when it cannot be read: the keys then decide, and validation reports the object itself.
std::string CheckpointFormatArgument(const Checkpoint& checkpoint, const dcp::Object& args) {
  try {
    const std::string item = checkpoint.ReadObject(args);
    const torchsave::SavedObject saved = torchsave::ReadObject(bytes::StringSource(item));
    const pickle::Ref value = saved.graph.Attribute(saved.root, "ckpt_format");
    if (value == pickle::kNoRef || saved.graph.kind(value) != pickle::Kind::kString) return "";
    return std::string(saved.graph.bytes(value));
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

std::string SavedFormat(const Checkpoint& checkpoint) {
  const dcp::Object* args = checkpoint.FindObject("args");
  if (!args) return "";
  const std::string format = CheckpointFormatArgument(checkpoint, *args);
  if (format == "fsdp_dtensor" || format == "torch_dcp") return format;
  const auto& tensors = checkpoint.tensors();
  const bool wrapped = std::any_of(tensors.begin(), tensors.end(),
                                   [](const dcp::Tensor& tensor) { return StartsWith(tensor.name, "model.module."); });
  return wrapped ? "fsdp_dtensor" : "";
}

}  // namespace ck::checkpoint
