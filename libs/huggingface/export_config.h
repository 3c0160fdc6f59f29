// config.json of an export: a template checked against the checkpoint, or derived from the checkpoint alone.
//
// Policy.  Everything that the checkpoint determines is computed. Where the template says otherwise, what tensors determine stops the split
//          (split.config_contradiction) unless --config-from says which wins; what only arguments determine is corrected. Each difference becomes a note
//          "config.json: NAME TEMPLATE -> WRITTEN". What only training reads is neither compared nor changed.
// Spelling. As libs/huggingface/config.h writes it. A template's own fields stay; its newer spelling of a changed field is changed with it.
// Errors.  split.config_contradiction, split.no_arguments, split.no_config (kInput), and those of config.h.
#ifndef CK_HUGGINGFACE_EXPORT_CONFIG_H_
#define CK_HUGGINGFACE_EXPORT_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "libs/huggingface/config.h"
#include "libs/huggingface/facts.h"
#include "libs/huggingface/saved_args.h"
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
};

// `dtype` is that of most elements of the result. Without a template everything is derived, which needs arguments.
WrittenConfig MakeConfig(const Facts& facts, const SavedArgs& args, const std::optional<ConfigTemplate>& config, DType dtype, const plan::SplitStep& step);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_EXPORT_CONFIG_H_
