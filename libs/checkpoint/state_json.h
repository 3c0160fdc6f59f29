// Python objects of a checkpoint's state (args, iteration, schedulers) as JSON, for people and scripts.
//
// Plain    None, bool, int, float, str, list, tuple and set keep their values: null, true, numbers, strings, arrays. An
//          int beyond 64 bits and a float that is not finite become strings ("inf", "-inf", "nan"). Text that is not
//          UTF-8 has its bad bytes as \xNN.
// Dicts    become objects when every key is a str, else arrays of [key, value]. So do OrderedDict, defaultdict and
//          Counter; an argparse.Namespace is an object of its fields.
// Classes  torch.Size is an array; a path its text; a number of numpy a number, a short array of one dimension an
//          array. Everything else is text as libs/pickle/describe.h has it: "torch.bfloat16", "AttnBackend(5)",
//          "tensor(BF16, [2, 3])", "<module.Class ...>".
// Trust    Never recurses, never throws on odd shapes. What is shallow is rendered before what is deep, so a value that
//          passes a limit is cut ("...") without losing the others.
#ifndef CK_CHECKPOINT_STATE_JSON_H_
#define CK_CHECKPOINT_STATE_JSON_H_

#include <cstddef>
#include <cstdint>

#include "libs/json/value.h"
#include "libs/pickle/graph.h"

namespace ck::checkpoint {

struct StateLimits {
  // Containers in containers. The document around the state takes some of the levels that JSON may have.
  size_t levels = json::kMaxDepth - 8;
  // Values in all: shared parts count at each place. The common state of a large model has some 100,000.
  uint64_t values = 500'000;
  // Bytes of text in all.
  uint64_t text_bytes = uint64_t{256} << 20;
  // Of the text of one bytes or object; a str is whole or not there.
  size_t object_text_bytes = 4000;
};

inline constexpr uint64_t kMaxShownElements = 64;  // of an array of numpy; longer ones are a line of text

struct StateJson {
  json::Value value;
  bool cut = false;  // a limit was passed somewhere
};

StateJson StateToJson(const pickle::Graph& graph, pickle::Ref ref, const StateLimits& limits = {});

}  // namespace ck::checkpoint

#endif  // CK_CHECKPOINT_STATE_JSON_H_
