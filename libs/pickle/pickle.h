// Encodes a Graph as a pickle: protocol 2 with GLOBAL opcodes, as torch.save writes and its weights-only loader reads,
// or protocol 4 (without frames) for `.metadata`.
//
// Bytes.   Deterministic. Only nodes that are referred to more than once are memoized, and globals, which are written
// once each.
//          Lists, dicts and sets go out in batches of 1000, as Python writes them.
// Cycles   through lists, dicts, states, items and entries of objects, and through these back to a tuple or call, as in
// Python. Loss.    Protocol 2 has no bytes and no sets: kBytes becomes a call of _codecs.encode on latin-1 text, kSet
// and kFrozenSet become
//          calls of __builtin__.set and __builtin__.frozenset, as Python writes them; decoding gives the calls.
//          Protocol 4 has the Python 3 names of what protocol 2 calls by Python 2 names (__builtin__, copy_reg).
// Errors.  pickle.unwritable (kInput): NEWOBJ_EX or bytes of 2 GiB and more in protocol 2, more than 16 times the same
// tuple or call on
//          the way from the root to a node.
// Source.  docs/formats/pickle.md
#ifndef CK_PICKLE_PICKLE_H_
#define CK_PICKLE_PICKLE_H_

#include <string>

#include "libs/pickle/graph.h"

namespace ck::pickle {

enum class Protocol { k2 = 2, k4 = 4 };

std::string Pickle(const Graph& graph, Ref root, Protocol protocol);

}  // namespace ck::pickle

#endif  // CK_PICKLE_PICKLE_H_
