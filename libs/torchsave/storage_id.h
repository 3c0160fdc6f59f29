// The persistent ids of torch pickles: ('storage', class, key, location, numel[, view]). Private to this package.
#ifndef CK_TORCHSAVE_STORAGE_ID_H_
#define CK_TORCHSAVE_STORAGE_ID_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/tensor/dtype.h"

namespace ck::torchsave {

struct StorageId {
  std::string key;
  std::optional<DType> dtype;  // absent for untyped and quantized storages
  uint64_t element_bytes = 1;  // of what numel counts
  uint64_t size_bytes = 0;
};

// Reads the id of a kPersistent node. Throws torchsave.bad_tensor when it names no storage, and
// torchsave.limit_exceeded for a size beyond 2^64.
StorageId ParseStorageId(const pickle::Graph& graph, pickle::Ref persistent);

// The kPersistent nodes below `root`, each once, in the order in which a pickler meets them.
std::vector<pickle::Ref> PersistentNodes(const pickle::Graph& graph, pickle::Ref root);

// The storages below `root`, each key once, by first use. Throws torchsave.storage_size when two ids give one key
// different sizes.
std::vector<StorageId> StorageIds(const pickle::Graph& graph, pickle::Ref root);

}  // namespace ck::torchsave

#endif  // CK_TORCHSAVE_STORAGE_ID_H_
