// Fresh Mamba-2 layers: the tensors that Megatron stores for one, with the values that a new one starts from.
#ifndef CK_TRANSFORM_RETARGET_MAMBA_H_
#define CK_TRANSFORM_RETARGET_MAMBA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/megatron/model_args.h"
#include "libs/plan/documents.h"
#include "libs/plan/plan.h"
#include "libs/transform/view.h"

namespace ck::transform {

struct MambaSizes {
  uint64_t hidden = 0;
  uint64_t inner = 0;     // heads * head_dim
  uint64_t heads = 0;
  uint64_t head_dim = 0;
  uint64_t groups = 0;
  uint64_t state = 0;     // per group
  uint64_t conv = 4;      // taps
};

// The sizes: what the step says, else the arguments, else Megatron's defaults (state 128, head 64, groups 8, conv 4, expand 2). Sizes that do not divide
// each other, or a d_model that is not `hidden`, are findings (retarget.mamba_size).
MambaSizes ChooseMambaSizes(const plan::MambaShape& step, const megatron::Args& args, uint64_t hidden, std::vector<plan::Finding>& findings);

// Writes the sizes into args, where a trainer that builds the model from them finds them.
void SetMambaSizes(megatron::Args& args, const MambaSizes& sizes);

enum class NormBias { kNo, kYes };

struct FreshMamba {
  MambaSizes sizes;
  DType dtype = DType::kBF16;      // of the model; A_log and D are F32
  double norm_weight = 1;          // of the input norm: 0 when norms are stored zero-centred
  NormBias norm_bias = NormBias::kNo;
  uint64_t seed = 0;
  bool packed = false;  // in_proj.weight and conv1d.* whole, as fsdp_dtensor has them; else in their parts z, x, B, C, dt
};

// Adds the tensors of layer `layer` to view.tensors (unsorted) and their fills to view.leaves. The random stream of a tensor is its key without `prefix`,
// so it depends on the seed, the layer's number and the tensor alone.
void AddFreshMamba(const FreshMamba& fresh, const std::string& prefix, uint64_t layer, View& view);

// The random generator's seed: the number when it fits 64 bits, else a hash of its digits.
uint64_t FillSeed(const std::string& seed);

}  // namespace ck::transform

#endif  // CK_TRANSFORM_RETARGET_MAMBA_H_
