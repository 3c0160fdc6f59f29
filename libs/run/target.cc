#include "libs/run/target.h"

#include <variant>

#include "libs/base/error.h"

namespace ck::run {

TargetIteration TargetOf(const plan::TargetIteration& target) {
  if (const int64_t* number = std::get_if<int64_t>(&target)) {
    return {.kind = TargetIteration::Kind::kNumber, .number = static_cast<uint64_t>(*number)};
  }
  if (std::holds_alternative<plan::Release>(target)) return {.kind = TargetIteration::Kind::kRelease, .number = 0};
  return {};
}

plan::Format FormatOf(checkpoint::Format format) {
  switch (format) {
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

}  // namespace ck::run
