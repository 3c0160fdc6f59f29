// Encodes a Graph as a pickle: protocol 2 with GLOBAL opcodes, as torch.save writes and its weights-only loader reads, or
// protocol 4 for `.metadata`. Deterministic. Never recurses on the graph's depth. Shared nodes are written once (memo).
//
// Protocol 2 has no bytes: kBytes becomes a call of _codecs.encode on latin-1 text, as Python writes it; kFrozenSet becomes a call of
// builtins.frozenset. A cycle through an immutable node (tuple, call arguments) is Error(kInternal, "pickle.unwritable").
#ifndef CK_PICKLE_PICKLE_H_
#define CK_PICKLE_PICKLE_H_

#include <string>

#include "libs/pickle/graph.h"

namespace ck::pickle {

enum class Protocol { k2 = 2, k4 = 4 };

std::string Pickle(const Graph& graph, Ref root, Protocol protocol);

}  // namespace ck::pickle

#endif  // CK_PICKLE_PICKLE_H_
