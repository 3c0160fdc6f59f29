// Contents as a document and as tables.
#ifndef CK_TOOLS_CK_META_SHOW_H_
#define CK_TOOLS_CK_META_SHOW_H_

#include <cstddef>
#include <string>

#include "libs/cli/diagnostics.h"
#include "tools/ck-meta/contents.h"
#include "tools/ck-meta/options.h"

namespace ck::meta {

inline constexpr size_t kMaxCellBytes = 100;  // of a value in a table
inline constexpr size_t kMaxShownValues = 200;              // objects whose value a table shows
inline constexpr uint64_t kMaxShownObjectBytes = 64 << 10;  // larger objects are shown without their value

// `ck.meta`, indented.
std::string ContentsDocument(Contents contents, cli::Diagnostics& diagnostics);
std::string ContentsTable(const Contents& contents, const Options& options);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_SHOW_H_
