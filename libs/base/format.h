// The layouts of a checkpoint that ck reads. One word for all libraries: the plan states it, the read model detects it.
#ifndef CK_BASE_FORMAT_H_
#define CK_BASE_FORMAT_H_

#include <optional>
#include <string_view>

namespace ck {

enum class Format { kTorchDist, kFsdpDtensor, kDcp, kSafetensors };

std::string_view Name(Format format);  // "torch_dist", "fsdp_dtensor", "dcp", "safetensors"
std::optional<Format> FormatFromName(std::string_view name);

}  // namespace ck

#endif  // CK_BASE_FORMAT_H_
