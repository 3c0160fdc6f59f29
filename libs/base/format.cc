#include "libs/base/format.h"

#include <iterator>

namespace ck {
namespace {

constexpr std::string_view kNames[] = {"torch_dist", "fsdp_dtensor", "dcp", "safetensors"};

}  // namespace

std::string_view Name(Format format) { return kNames[static_cast<size_t>(format)]; }

std::optional<Format> FormatFromName(std::string_view name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Format>(i);
  }
  return std::nullopt;
}

}  // namespace ck
