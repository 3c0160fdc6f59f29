// The checks of one checkpoint, each on its own. Internal to libs/validate. Ids stand in docs/manual/ck-validate.md.
#ifndef CK_VALIDATE_CHECKS_H_
#define CK_VALIDATE_CHECKS_H_

#include <cstdint>
#include <string>

#include "libs/checkpoint/checkpoint.h"
#include "libs/checkpoint/common_state.h"
#include "libs/pickle/graph.h"
#include "libs/validate/findings.h"

namespace ck::validate {

using checkpoint::Checkpoint;

// True when the item lies inside its file as the directory shows it. An item that does not is CheckDataFiles' to report, nobody else's.
bool IsThere(const Checkpoint& checkpoint, const dcp::Item& item);
// A chunk of volume 0 without an item.
bool HasNoItem(const dcp::Chunk& chunk);

// What reading the metadata had to pass over: trailing bytes, unknown attributes and classes.
void CheckMetadataNotes(const Checkpoint& checkpoint, Findings& findings);

// Data files that are missing or short, with what is lost.
void CheckDataFiles(const Checkpoint& checkpoint, Findings& findings);
// Items that overlap in a file; bytes of a file that belong to no item.
void CheckItemPlacement(const Checkpoint& checkpoint, Findings& findings);
// Holes and overlaps of chunks, chunks outside their tensor.
void CheckCoverage(const Checkpoint& checkpoint, Findings& findings);

// The header of each tensor item against the metadata. Returns how many items were not looked at because they are stored compressed.
uint64_t CheckItemHeaders(const Checkpoint& checkpoint, unsigned threads, Findings& findings);
// Each byte object: the structure of its zip archive and, up to kMaxParsedObjectBytes, its pickle. Returns how many were not
// looked at because they are stored compressed.
uint64_t CheckObjects(const Checkpoint& checkpoint, Findings& findings);
inline constexpr uint64_t kMaxParsedObjectBytes = uint64_t{16} << 20;  // extra states, rng, arguments; only optimizer objects are larger

// Leftovers of writes, stale data files, metadata.json, integrity.json.
void CheckSurroundings(const Checkpoint& checkpoint, Findings& findings);

// Can the common state be read, in which form is it, does it fit the directory; and the arguments saved in it.
void CheckCommonState(const Checkpoint& checkpoint, Findings& findings);
// Classes that ck does not know, one finding each. `where` names the file or object that the graph was read from.
void CheckGlobals(const pickle::Graph& graph, const std::string& where, Findings& findings);
// The equations between saved arguments and the shapes of the tensors. `args` is an argparse.Namespace of `graph`.
void CheckArguments(const Checkpoint& checkpoint, const pickle::Graph& graph, pickle::Ref args, Findings& findings);
// Keys that Megatron-Core could not load.
void CheckKeys(const Checkpoint& checkpoint, Findings& findings);

// Every header of a safetensors directory and the index, reporting all that is wrong; needs no open checkpoint, as opening stops at the first fault.
void CheckSafetensorsDirectory(const std::string& directory, Findings& findings);

}  // namespace ck::validate

#endif  // CK_VALIDATE_CHECKS_H_
