// A Megatron model as retarget sees it: its layers, whether they are rows of stacked tensors or have keys of their own.
#ifndef CK_TRANSFORM_RETARGET_SOURCE_H_
#define CK_TRANSFORM_RETARGET_SOURCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/plan/documents.h"
#include "libs/transform/view.h"

namespace ck::transform {

// One tensor of one layer.
struct LayerTensor {
  uint32_t tensor = 0;          // index into the view's tensors
  std::optional<uint64_t> row;  // of its axis 0, in the stacked form
  DType dtype = DType::kF32;
  Dims shape;  // without the layer axis
};

// One byte object of one layer. `expert` is its place in a module that has one object per expert.
struct LayerObject {
  uint32_t object = 0;  // index into the view's objects
  std::optional<std::pair<uint64_t, uint64_t>> expert;  // index, number of experts
};

struct ModelLayer {
  std::map<std::string, LayerTensor> tensors;                          // by the key after the layer
  std::map<std::pair<std::string, uint64_t>, LayerObject> objects;     // by that key without the shard, and the expert
  bool Has(std::string_view module) const;                             // a tensor that is `module` or begins with "module."
};

// A tensor or object outside the layers: its index and its key without the prefix.
using ModelEntry = std::pair<uint32_t, std::string>;

struct SourceModel {
  std::string prefix;  // of every key: "", "model.", "model.module.", ...
  bool stacked = false;
  std::vector<ModelLayer> layers;
  std::vector<ModelEntry> tensors, objects;          // embedding, output layer, final norm, MTP
  std::vector<uint32_t> state_tensors, state_objects;  // optimizer, rng and rerun state
  std::vector<uint32_t> common_objects;                // args, iteration, ... of fsdp_dtensor
};

// What stands against reading the keys as a model goes to `findings`; the result is complete when nothing does.
SourceModel ReadSourceModel(const View& view, std::vector<plan::Finding>& findings);

// The same of the tensors whose names begin with `plane` ("optimizer.state.exp_avg."): a copy of the model's keys behind it. The result's prefix has it too.
// Layers that are keyed one by one are those of a model of `layers` layers; some may have no tensor.
SourceModel ReadPlane(const View& view, const std::string& plane, uint64_t layers, std::vector<plan::Finding>& findings);

// The symbol of the hybrid layer that these tensors make: * - E M G D +; 'A' for attention and MLP in one (a GPT layer), '?' for anything else.
char SymbolOfLayer(const ModelLayer& layer);

// The elements of a model's tensors. Whatever moves them must not make them fewer or more.
uint64_t CountElements(const View& view, const SourceModel& model);
uint64_t CountElements(const std::vector<Tensor>& tensors);

// "2 Mamba layers (34 tensors, 1.2 MiB, 9.5% of the parameters)".
std::string DescribeMamba(const View& view, const SourceModel& model, const std::vector<uint64_t>& layers);

// "1 layer", "2 layers".
std::string Count(uint64_t count, std::string_view what);

// "'a', 'b' and 3 more".
std::string SomeNames(const std::vector<std::string>& names);

plan::Finding ErrorFinding(std::string id, std::string message);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_SOURCE_H_
