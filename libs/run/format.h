// A checkpoint's format in the plan's words.
#ifndef CK_RUN_FORMAT_H_
#define CK_RUN_FORMAT_H_

#include "libs/checkpoint/checkpoint.h"
#include "libs/plan/plan.h"

namespace ck::run {

plan::Format FormatOf(checkpoint::Format format);

}  // namespace ck::run

#endif  // CK_RUN_FORMAT_H_
