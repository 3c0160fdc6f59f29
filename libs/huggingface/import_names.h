// Names of an import: the other forms in which files hold a tensor, what is no weight of the model, and which Megatron key a tensor gets.
#ifndef CK_HUGGINGFACE_IMPORT_NAMES_H_
#define CK_HUGGINGFACE_IMPORT_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libs/huggingface/megatron_config.h"
#include "libs/huggingface/tables.h"
#include "libs/tensor/dtype.h"

namespace ck::huggingface {

inline constexpr uint64_t kMaxImportedExperts = 100'000;  // per layer; the widest models have some hundred

// Names under which one tensor may hold all experts of a rule, as transformers 5 has them in memory: mlp.experts.gate_up_proj ([E, 2m, h]), mlp.experts.down_proj
// ([E, h, m]). Empty for a rule without experts.
std::vector<std::string> WholeNames(const Rule& rule, std::optional<uint64_t> layer);

// The same tensor under the name that transformers 5 has for it in memory; "" when there is none. Mixtral's block_sparse_moe.gate is mlp.gate there.
std::string OtherName(const std::string& name);

// rotary_emb.inv_freq: computed, not learned; old files hold it and no loader reads it.
bool IsRotaryBuffer(std::string_view name);

// Throws split.adapter, or split.quantized for the parts of a quantised weight, by their names and dtypes.
void RefuseAdapterOrQuantized(const std::string& name, DType dtype);

// The spelling that this implementation stores the tensor under. Transformer Engine's is the first of a rule. Local layers keep the norm in front of an MLP or of
// experts under linear_fc1; with latent attention every norm stands alone. Layers of a Hybrid model have the first spelling in both.
enum class LocalNorms { kFused, kAlone, kAsTheEngine };
std::string KeyFor(const Rule& rule, std::optional<uint64_t> layer, TransformerImpl impl, LocalNorms local_norms);

// "'a', 'b' and 3 more".
std::string SomeNames(const std::vector<std::string>& names);

}  // namespace ck::huggingface

#endif  // CK_HUGGINGFACE_IMPORT_NAMES_H_
