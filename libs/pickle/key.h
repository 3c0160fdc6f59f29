// Equality and hash of dict keys as graph.h defines them. Never recurses; the work for one key is bounded.
#ifndef CK_PICKLE_KEY_H_
#define CK_PICKLE_KEY_H_

#include <cstdint>
#include <string_view>

#include "libs/pickle/graph.h"

namespace ck::pickle {

bool KeysEqual(const Graph& graph, Ref a, Ref b);

// Equal keys have equal hashes. Differs from process to process, so that no file can be made to collide.
uint64_t HashKey(const Graph& graph, Ref key);
// The hash of a kString with these bytes.
uint64_t HashStringKey(std::string_view text);

}  // namespace ck::pickle

#endif  // CK_PICKLE_KEY_H_
