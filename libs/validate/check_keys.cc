// Keys of torch_dist that Megatron-Core could not load. Source: docs/formats/megatron.md.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "libs/base/checked.h"
#include "libs/base/text.h"
#include "libs/megatron/keys.h"
#include "libs/validate/checks.h"

namespace ck::validate {
namespace {

// "5.2" -> {5, 2}; nullopt for anything else.
std::optional<Dims> ParseDims(std::string_view text) {
  Dims out;
  for (const std::string& part : Split(text, '.')) {
    const auto number = ParseUint64(part);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

// "KEY/shard_5.2_24.8": object (5, 2) of a grid of 24 by 8 that together are KEY.
struct ShardedObject {
  std::string key;
  Dims offset, shape;
};

std::optional<ShardedObject> ParseShardedObject(std::string_view name) {
  constexpr std::string_view kShard = "/shard_";
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos || slash != name.rfind('/') || name.substr(slash, kShard.size()) != kShard) return std::nullopt;
  const std::vector<std::string> parts = Split(name.substr(slash + kShard.size()), '_');
  if (parts.size() != 2) return std::nullopt;
  const auto offset = ParseDims(parts[0]), shape = ParseDims(parts[1]);
  if (!offset || !shape || offset->size() != shape->size()) return std::nullopt;
  for (size_t d = 0; d < offset->size(); ++d) {
    if ((*offset)[d] >= (*shape)[d]) return std::nullopt;
  }
  return ShardedObject{std::string(name.substr(0, slash)), *offset, *shape};
}

void CheckObjectNames(const Checkpoint& checkpoint, Findings& findings) {
  std::map<std::pair<std::string, Dims>, uint64_t> grids;  // names are unique, so counting is enough
  for (const dcp::Object& object : checkpoint.objects()) {
    if (const auto parsed = ParseShardedObject(object.name)) {
      ++grids[{parsed->key, parsed->shape}];
    } else {
      findings.AddWarning("keys.not_a_sharded_object",
                          Cat("the object ", Quote(object.name), " is not named KEY/shard_OFFSETS_SHAPE; Megatron-Core fails on it in its strict modes"),
                          {.where = object.name, .expected = "KEY/shard_OFFSETS_SHAPE", .source = "Megatron-Core's ShardedObject"});
    }
  }
  for (const auto& [grid, count] : grids) {
    const std::optional<uint64_t> wanted = Volume(grid.second);
    if (wanted == count) continue;
    findings.AddWarning("keys.objects_missing",
                        Cat(Quote(grid.first), " has ", count, " of its ", wanted ? Cat(*wanted) : std::string("more than 2^64"), " objects, shape ",
                            FormatDims(grid.second)),
                        {.where = grid.first, .found = Cat(count), .expected = wanted ? std::optional(Cat(*wanted)) : std::nullopt, .source = "the objects' names"});
  }
}

// Core stores these tensors of a Mamba mixer in parts: in_proj.weight.z, .x, .B, .C, .dt, conv1d.weight.x, .B, .C, conv1d.bias.x, .B, .C.
void CheckMambaParts(const Checkpoint& checkpoint, Findings& findings) {
  for (const dcp::Tensor& tensor : checkpoint.tensors()) {
    if (megatron::Classify(tensor.name) != megatron::KeyClass::kModel) continue;
    for (const char* ending : {".mixer.in_proj.weight", ".mixer.conv1d.weight", ".mixer.conv1d.bias"}) {
      if (!EndsWith(tensor.name, ending)) continue;
      findings.AddError("keys.mamba_not_split",
                        Cat(Quote(tensor.name), " is stored whole, which current Megatron-Core cannot load: it wants the parts ",
                            EndsWith(tensor.name, ".in_proj.weight") ? ".z, .x, .B, .C and .dt" : ".x, .B and .C"),
                        {.where = tensor.name, .source = "Megatron-Core's mamba_mixer"});
    }
  }
}

}  // namespace

void CheckKeys(const Checkpoint& checkpoint, Findings& findings) {
  if (checkpoint.format() != checkpoint::Format::kTorchDist) return;
  CheckObjectNames(checkpoint, findings);
  CheckMambaParts(checkpoint, findings);
}

}  // namespace ck::validate
