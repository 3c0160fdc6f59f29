// What is worth a warning about the common state of a result.
#ifndef CK_TRANSFORM_COMMON_WARNINGS_H_
#define CK_TRANSFORM_COMMON_WARNINGS_H_

#include "libs/transform/view.h"

namespace ck::transform {

// Adds common.refused_class when the view's common.pt holds classes that Megatron-Core's restricted load refuses (numpy scalars, say).
void WarnAboutCommonState(View& view);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_COMMON_WARNINGS_H_
