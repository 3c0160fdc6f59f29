// Models of the zoo as Megatron checkpoints without data: keys and shapes written by hand, and what the export makes of them.
#ifndef CK_HUGGINGFACE_TESTING_FAMILY_KEYS_H_
#define CK_HUGGINGFACE_TESTING_FAMILY_KEYS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/export.h"
#include "libs/huggingface/facts.h"
#include "libs/transform/view.h"

namespace ck::huggingface {

// Name -> shape, as "24x40".
using Shapes = std::map<std::string, std::string>;

struct ZooModel {
  const char* folder;
  const char* keys;  // of testdata/megatron_keys
};
const std::vector<ZooModel>& ZooModels();

Shapes KeysOf(const std::string& keys);
Shapes WrittenByTransformers(const std::string& folder);
ModelConfig ConfigOf(const std::string& folder);

// A view with these tensors, float32, each a leaf of its own.
transform::View ViewOf(const Shapes& shapes);
ModelSource SourceOf(const transform::View& view, Family family);

struct Exported {
  Facts facts;
  transform::View result;
};
// What the export makes of these keys as the model that `config` describes.
Exported Export(const ModelConfig& config, const Shapes& keys, std::optional<bool> zero_centered_norms = std::nullopt);
Shapes NamesAndShapes(const transform::View& view);

// What is added to each tensor, by its norm's name; 0 is not in it.
std::map<std::string, double> Additions(const transform::View& view);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_TESTING_FAMILY_KEYS_H_
