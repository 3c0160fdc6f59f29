// Rules that several families share, for the tables. Names of Llama's layout: model.layers.{i}.self_attn, mlp.
#ifndef CK_HUGGINGFACE_RULE_PARTS_H_
#define CK_HUGGINGFACE_RULE_PARTS_H_

#include <initializer_list>
#include <string_view>
#include <vector>

#include "libs/huggingface/tables.h"

namespace ck::huggingface {

using Rules = std::vector<Rule>;

Rules Join(std::initializer_list<Rules> parts);

Rules Ends();       // embedding and final norm
Rule InputNorm();
Rules Projections();  // q, k, v and o, without biases
Rules Attention();    // both
Rule QkvBias(When when, std::string_view field);
Rules AttentionBias();  // of classes whose attention_bias means the output projection too
Rules QueryKeyNorm();   // of one head
Rule MlpNorm(std::string_view hf, When when = When::kAlways);  // the norm in front of the MLP
Rules GateUpDown(When when = When::kAlways);
Rules Mlp(When when);  // both: gated, with the norm in front
Rules MlpBias();
Rule MoeNorm();
Rules Experts();  // layout of the published Qwen and DeepSeek files: one tensor per expert; with the norm in front
Rules GatedSharedExpert();
Rules SharedExperts();
Rule CorrectionBias();  // of the router's choice
Rules NormBiases();     // of the norms in front of attention and MLP and at the end

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_RULE_PARTS_H_
