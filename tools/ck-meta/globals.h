// The review list: which Python classes and functions the pickles of a checkpoint name. ck runs none of them; a loader
// might.
#ifndef CK_TOOLS_CK_META_GLOBALS_H_
#define CK_TOOLS_CK_META_GLOBALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/cli/diagnostics.h"
#include "tools/ck-meta/contents.h"

namespace ck::meta {

struct Global {
  std::string name;                // "module.name"
  bool known = false;              // ck has it in its list; else it is only shown as text
  bool called = false;             // loading would call it
  uint64_t count = 0;              // references to it
  uint64_t places = 0;             // pickles that name it
  std::vector<std::string> where;  // the first kMaxPlaces of them: "common state", ".metadata", names of objects
};

inline constexpr size_t kMaxPlaces = 8;
inline constexpr uint64_t kMaxUnreadWarnings = 5;

// Of the common state, of every byte object that is listed, and the unknown ones of the metadata; unknown ones first,
// then by name. An object that cannot be read is a warning.
std::vector<Global> FindGlobals(const Contents& contents, cli::Diagnostics& diagnostics);

std::string GlobalsDocument(const Contents& contents, const std::vector<Global>& globals);
std::string GlobalsTable(const std::vector<Global>& globals);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_GLOBALS_H_
