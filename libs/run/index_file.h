// The index of a sharded safetensors model, made from the files that were written.
#ifndef CK_RUN_INDEX_FILE_H_
#define CK_RUN_INDEX_FILE_H_

#include <string>

#include "libs/run/layout.h"

namespace ck::run {

// Reads the headers of the layout's files in `directory` and lists what they hold. An index that came from the plan instead could name tensors that no file
// has. Throws Error(kEnvironment, "run.verify_failed") for a file that cannot be read back. Precondition: the layout has an index.
SmallFile IndexOfWritten(const Layout& layout, const std::string& directory);

}  // namespace ck::run

#endif  // CK_RUN_INDEX_FILE_H_
