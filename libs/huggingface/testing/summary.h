// A ModelConfig on one line, so that a table of expected models can be written and read by a person.
#ifndef CK_HUGGINGFACE_TESTING_SUMMARY_H_
#define CK_HUGGINGFACE_TESTING_SUMMARY_H_

#include <string>

#include "libs/huggingface/config.h"

namespace ck::huggingface {

// "FFF 24 ffn40 4/2x8 61 silu 3e-05 rope7000": layers (F full, S sliding, L linear, M * - E of a hybrid; lower case:
// with experts), hidden, ffn, heads/groups x d, vocab, activation, eps; then only what the model has: tied, bias(...),
// qk(...), rope(...), window, moe(...), mla, mamba, gdn, ...
std::string Summary(const ModelConfig& model);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_TESTING_SUMMARY_H_
