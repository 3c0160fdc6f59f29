// A template config.json held against what a checkpoint says, and corrected.
//
// The result keeps every member of the template in its order. What the checkpoint says otherwise is replaced, in every
// spelling that the template has; the fields that transformers 4.57 reads are added beside those of 5. Token ids and
// what only training reads are neither compared nor changed. Errors.  Those of ReadConfig and WriteConfig. Source.
// docs/formats/hf_config.md
#ifndef CK_HUGGINGFACE_COMPARE_CONFIG_H_
#define CK_HUGGINGFACE_COMPARE_CONFIG_H_

#include <string>
#include <vector>

#include "libs/huggingface/config.h"

namespace ck::huggingface {

struct ConfigDifference {
  enum class Kind {
    kAdded,      // the template does not say it in any spelling
    kCorrected,  // no tensor decides it: MTP layers that are not there, labels, dtype, what only saved arguments say
    kContradiction,  // a tensor's shape or presence, a tie or the vocabulary says otherwise
  };
  std::string field;
  std::string template_value;  // JSON on one line; "" when absent
  std::string written_value;
  Kind kind = Kind::kCorrected;
  friend bool operator==(const ConfigDifference&, const ConfigDifference&) = default;
};

struct CorrectedConfig {
  json::Object config;
  std::vector<ConfigDifference> differences;  // in the order of WriteConfig
};

// Reading the result gives `written`, with the template's token ids. `written` is a model of the class that the result
// names.
CorrectedConfig CorrectTemplate(const json::Object& template_config, const ModelConfig& written);

// "hidden_size 32 -> 24"
std::string DifferenceText(const ConfigDifference& difference);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_COMPARE_CONFIG_H_
