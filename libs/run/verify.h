// Re-reads a written checkpoint and compares it with what was planned: the last step before it is published.
#ifndef CK_RUN_VERIFY_H_
#define CK_RUN_VERIFY_H_

#include <string>

#include "libs/run/layout.h"
#include "libs/transform/view.h"

namespace ck::run {

// Opens the checkpoint at `directory` as any reader would, and checks names, dtypes, shapes, chunk boundaries, item positions, each item's header, file
// sizes and the small files against the view and the layout. Throws Error(kEnvironment, "run.verify_failed") at the first difference: what came back is
// not what was written. Reads no tensor data.
void VerifyWritten(const transform::View& view, const Layout& layout, const std::string& directory);

// The same for a directory whose plan ran earlier: opens it, and checks that every tensor is covered exactly, every file long enough and every item's header
// what the metadata says. Throws run.verify_failed.
void VerifyReadable(const std::string& directory);

}  // namespace ck::run

#endif  // CK_RUN_VERIFY_H_
