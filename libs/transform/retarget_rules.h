// What must hold of a model's layers before retarget moves them. Each function adds its findings; none means that it holds.
#ifndef CK_TRANSFORM_RETARGET_RULES_H_
#define CK_TRANSFORM_RETARGET_RULES_H_

#include <optional>
#include <string>
#include <vector>

#include "libs/megatron/model_args.h"
#include "libs/megatron/pattern.h"
#include "libs/plan/documents.h"
#include "libs/transform/retarget_source.h"

namespace ck::transform {

using Findings = std::vector<plan::Finding>;

// Whether the model is a Hybrid model, by its keys; args must agree (retarget.model_kind).
bool IsHybrid(const SourceModel& model, const megatron::Args& args, Findings& findings);

// For a change between GPT and Hybrid: args exist or need not, say a plain model, and there is no MTP.
enum class MissingArgs { kRefuse, kAccept };
void CheckCrossing(const SourceModel& model, const megatron::Args& args, MissingArgs missing_args, Findings& findings);

// args.num_layers, where there is one.
void CheckNumLayers(const megatron::Args& args, uint64_t layers, Findings& findings);

// Every layer is attention and a dense MLP, or attention and MoE; all of its entries are known (retarget.unmapped, .latent_attention, .mlp_kind, .missing_key).
void CheckGptLayers(const SourceModel& model, megatron::Family mlp, Findings& findings);

// The pattern that the keys make; what args and `given` say must be the same layers. nullopt with findings.
std::optional<megatron::Pattern> SourcePattern(const SourceModel& model, const megatron::Args& args, const std::optional<std::string>& given, Findings& findings);

// Every entry of a layer belongs to a layer of its kind (retarget.unmapped).
void CheckHybridLayers(const SourceModel& model, const megatron::Pattern& pattern, Findings& findings);

// All layers have the same tensors (retarget.layers_differ).
void CheckStackable(const std::vector<ModelLayer>& layers, Findings& findings);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_RULES_H_
