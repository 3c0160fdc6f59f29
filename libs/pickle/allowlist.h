// Which classes ck knows, so that everything else can be named as opaque.
//
// The graph never calls anything, so the list protects no execution: it decides what is interpreted and what is only
// shown, and gives `ck-meta --show-globals` its review list. Source: docs/formats/pickle.md (the lists of formats and
// of Megatron's safe globals).
#ifndef CK_PICKLE_ALLOWLIST_H_
#define CK_PICKLE_ALLOWLIST_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/pickle/graph.h"

namespace ck::pickle {

// True for classes and functions that PyTorch's weights-only loader, DCP metadata or Megatron's registered safe globals
// contain. False for getattr, which is harmless only as the name of an enumeration's member: ListGlobals looks at its
// calls.
bool IsKnownGlobal(std::string_view module, std::string_view name);

struct GlobalUse {
  std::string module;
  std::string name;
  uint64_t count = 0;   // nodes that are this global
  bool called = false;  // it is the callable of an object
  bool known = false;   // IsKnownGlobal; getattr: every call of it names a member of a known enumeration
};

// Every global in the graph, sorted by module and name.
std::vector<GlobalUse> ListGlobals(const Graph& graph);

}  // namespace ck::pickle

#endif  // CK_PICKLE_ALLOWLIST_H_
