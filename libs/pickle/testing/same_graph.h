// Structural equality of two graphs, for tests.
#ifndef CK_PICKLE_TESTING_SAME_GRAPH_H_
#define CK_PICKLE_TESTING_SAME_GRAPH_H_

#include <string>

#include "libs/pickle/graph.h"

namespace ck::pickle {

// "" when what `a_root` reaches in `a` is what `b_root` reaches in `b`: same kinds, values, order and forms, and the
// same places share a node. Sharing of None, bools, numbers, empty tuples and globals does not count (Python has one
// object of each anyway). Else one line that says what differs. Floats are compared by their bits.
std::string Difference(const Graph& a, Ref a_root, const Graph& b, Ref b_root);

}  // namespace ck::pickle

#endif  // CK_PICKLE_TESTING_SAME_GRAPH_H_
