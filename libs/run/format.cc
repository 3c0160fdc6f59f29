#include "libs/run/format.h"

#include "libs/base/error.h"

namespace ck::run {

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
