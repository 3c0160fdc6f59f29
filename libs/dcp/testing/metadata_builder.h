// Builds `.metadata` pickles for tests, in the spellings of all versions, well-formed or not: every call gives the nodes that it made, and the
// graph can be changed before Build.
//
//   MetadataBuilder builder;
//   builder.AddTensor("w", "float32", {2, 3}, {Box::Whole({2, 3})});
//   builder.AddItem("w", Dims{0, 0}, "__0_0.distcp", 0, 1577);
//   DecodeMetadata(builder.Build());
#ifndef CK_DCP_TESTING_METADATA_BUILDER_H_
#define CK_DCP_TESTING_METADATA_BUILDER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/pickle/graph.h"
#include "libs/pickle/pickle.h"
#include "libs/tensor/box.h"

namespace ck::dcp {

// Which versions' modules the classes come from.
enum class Spelling { kTorch23, kTorch20, kTorch112, kMegatron015 };
enum class SizeForm { kTorchSize, kTuple, kList };
enum class EnumForm { kValue, kGetattr, kGetattrPython2 };

class MetadataBuilder {
 public:
  using Ref = pickle::Ref;
  struct Options {
    Spelling spelling = Spelling::kTorch23;
    SizeForm sizes = SizeForm::kTorchSize;
    EnumForm enums = EnumForm::kValue;
  };
  struct ItemNodes {
    Ref index, info;
  };

  MetadataBuilder() : MetadataBuilder(Options()) {}
  explicit MetadataBuilder(const Options& options);

  // Adds an entry to state_dict_metadata and returns it. `dtype` is an attribute of torch, or any name.
  Ref AddTensor(std::string_view name, std::string_view dtype, const Dims& shape, const std::vector<Box>& chunks);
  Ref AddObject(std::string_view name);
  // Adds an entry to storage_data: of a chunk, or of an object (no offset).
  ItemNodes AddItem(std::string_view name, const std::optional<Dims>& offset, std::string_view file, uint64_t item_offset, uint64_t length);

  pickle::Graph& graph() { return graph_; }
  Ref root() const { return root_; }
  // Sets an attribute of the Metadata object, e.g. planner_data, or replaces one.
  void Set(std::string_view attribute, Ref value) { graph_.SetAttribute(root_, attribute, value); }
  // An object of any class, made by NEWOBJ without arguments and with an empty state.
  Ref NewObject(std::string_view module, std::string_view name);
  Ref NewSize(const Dims& dims);

  std::string Build(pickle::Protocol protocol = pickle::Protocol::k4) const { return pickle::Pickle(graph_, root_, protocol); }

 private:
  Ref NewCheckpointObject(std::string_view submodule, std::string_view name);
  Ref NewInts(const Dims& dims);
  Ref NewProperties(std::string_view dtype);
  Ref NewChunk(const Box& box);

  Options options_;
  pickle::Graph graph_;
  Ref root_, names_, items_;
};

}  // namespace ck::dcp

#endif  // CK_DCP_TESTING_METADATA_BUILDER_H_
