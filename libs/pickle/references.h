// How often each node is referred to below a root: what a writer must memoize. Private to the writer and tests.
#ifndef CK_PICKLE_REFERENCES_H_
#define CK_PICKLE_REFERENCES_H_

#include <cstdint>
#include <vector>

#include "libs/pickle/graph.h"

namespace ck::pickle {

// Appends the nodes that a node refers to, in the order in which they are written.
void AppendChildren(const Graph& graph, Ref ref, std::vector<Ref>& out);

struct References {
  std::vector<uint8_t> counts;  // by ref: 0, 1, or 2 for more than one
  // Something that is made after its parts (tuple, set, object, persistent id) is met again inside of them.
  bool immutable_cycle = false;
};

References CountReferences(const Graph& graph, Ref root);

}  // namespace ck::pickle

#endif  // CK_PICKLE_REFERENCES_H_
