// Decodes pickles of protocols 0 to 5 (the opcodes that Python, PyTorch and Megatron write) into a Graph, without
// executing anything.
//
// Trust.   Input is hostile. Work and memory are bounded by Limits; nothing recurses on the input's depth.
// Strict.  What Python's pickler never writes is refused where keeping it would lose something: a second BUILD of one
// object, items or
//          entries after its BUILD, values left on the stack, a list as a dict key.
// Shared.  None, True, False, the empty tuple and the ints -1 to 255 are one node each, as they are one object in
// Python. Errors.  pickle.truncated, pickle.opcode_unknown, pickle.opcode_unsupported, pickle.protocol_unsupported,
// pickle.stack_underflow,
//          pickle.memo_undefined, pickle.limit_exceeded, pickle.bad_value, pickle.no_stop, pickle.persistent_id_refused
//          (all kInput, with the byte offset).
// Source.  docs/formats/pickle.md
#ifndef CK_PICKLE_UNPICKLE_H_
#define CK_PICKLE_UNPICKLE_H_

#include <cstdint>
#include <string_view>

#include "libs/pickle/graph.h"

namespace ck::pickle {

struct Limits {
  uint64_t max_bytes = uint64_t{4} << 30;  // of the pickle itself
  uint64_t max_nodes = 400'000'000;        // a .metadata of 10^6 entries has some 10^7
  uint64_t max_memo = 400'000'000;
  uint64_t max_depth = 1'000'000;  // of the stack and its marks; nothing recurses, so this only bounds memory
};

enum class PersistentIds { kRefuse, kKeep };

struct Unpickled {
  Graph graph;
  Ref root = kNoRef;
  uint64_t bytes_used = 0;  // up to and including STOP; more may follow (a legacy torch file, or trailing bytes)
  int protocol = 0;
};

Unpickled Unpickle(std::string_view data, PersistentIds persistent_ids = PersistentIds::kRefuse,
                   const Limits& limits = {});

}  // namespace ck::pickle

#endif  // CK_PICKLE_UNPICKLE_H_
