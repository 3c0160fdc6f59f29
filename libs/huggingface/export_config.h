// config.json of an export: a template checked against the checkpoint, or derived from the checkpoint alone.
//
// Policy.  Everything that the checkpoint determines is computed. Where the template says otherwise, what tensors determine stops the split
//          (split.config_contradiction) unless --config-from says which wins; what only arguments determine is corrected. Each difference becomes a note
//          "config.json: NAME TEMPLATE -> WRITTEN". What only training reads is neither compared nor changed.
// Errors.  split.config_contradiction, split.no_config, split.unsupported_argument (kInput), and those of config.h and megatron_config.h.
#ifndef CK_HUGGINGFACE_EXPORT_CONFIG_H_
#define CK_HUGGINGFACE_EXPORT_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/facts.h"
#include "libs/huggingface/saved_args.h"
#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/tensor/dtype.h"

namespace ck::huggingface {

struct ConfigTemplate {
  std::string path;  // of the file
  json::Object root;
};

// `path` is a directory that may hold config.json, or the file. nullopt for a directory without one. Throws split.no_config when there is no such path.
std::optional<ConfigTemplate> ReadTemplate(const std::string& path);

struct WrittenConfig {
  std::string text;
  std::vector<std::string> notes;
  std::vector<plan::Finding> warnings;
};

// `dtype` is that of most elements of the result. Without a template everything is derived, which needs arguments.
WrittenConfig MakeConfig(const Facts& facts, const SavedArgs& args, const std::optional<ConfigTemplate>& config, DType dtype, const plan::SplitStep& step);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_EXPORT_CONFIG_H_
