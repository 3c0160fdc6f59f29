// The form of torch.save before zip (torch up to 1.5, and later on request): five pickles in a row, then the storages.
// Private to this package. Source: docs/formats/torch_save.md.
#ifndef CK_TORCHSAVE_LEGACY_H_
#define CK_TORCHSAVE_LEGACY_H_

#include <string_view>

#include "libs/bytes/source.h"
#include "libs/torchsave/read.h"

namespace ck::torchsave {

bool IsLegacy(std::string_view first_bytes);

SavedObject ReadLegacy(const bytes::Source& source);

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_LEGACY_H_
