// What a checkpoint holds, or what the result of a plan would hold, before anything is shown.
#ifndef CK_TOOLS_CK_META_CONTENTS_H_
#define CK_TOOLS_CK_META_CONTENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/plan/documents.h"

namespace ck::meta {

// An object that torch.save wrote, as data.
struct State {
  pickle::Graph graph;
  pickle::Ref root = pickle::kNoRef;
};

struct File {
  enum class Kind { kData, kMetadata, kCommonState, kSidecar };

  std::string name;  // a directory ends in '/'
  std::optional<uint64_t> size_bytes;  // nullopt: the metadata refers to it, and it is missing; 0 for a directory
  Kind kind = Kind::kSidecar;
};

struct Contents {
  plan::Meta meta;           // but for the rendered common state, the files and the totals, which Finish adds
  std::vector<File> files;   // sorted by name
  std::optional<State> common;               // root is a dict; empty when there is none, or it cannot be read
  std::vector<std::string> unknown_globals;  // "module.name" of classes in .metadata that ck does not know
  // The bytes of an object of meta.objects, by its name.
  std::function<std::string(const std::string& name)> read_object;
  // Before a filter.
  uint64_t all_tensors = 0;
  uint64_t all_objects = 0;
};

enum class ChunkLists { kNo, kYes };

// What the names of tensors and objects must match to be listed.
struct NameFilter {
  std::vector<std::string> include;  // globs; empty: every name
  std::vector<std::string> exclude;

  bool Matches(const std::string& name) const;
  bool empty() const { return include.empty() && exclude.empty(); }
};

// Leaves out what the filter does not match.
void Filter(const NameFilter& filter, Contents& contents);

// Sums over what is listed. Sums beyond 64 bits, which no real checkpoint has, stay at the largest number.
plan::Totals TotalsOf(const plan::Meta& meta);

// Reads a byte object of the contents.
State ReadState(const Contents& contents, const std::string& object_name);

// The value of the common state's `iteration` when it is an integer and not negative.
std::optional<int64_t> IterationOf(const std::optional<State>& common);

// A sentence about the prefix that wraps the names of the model ("model.module."), found by agreement over all names
// that Megatron models have in common, or about their disagreement; "" when there is no prefix.
std::string DescribeWrapper(const plan::Meta& meta);

}  // namespace ck::meta

#endif  // CK_TOOLS_CK_META_CONTENTS_H_
