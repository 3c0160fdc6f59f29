// The members of the plan's objects, one table each, in the order in which they are written. The decoder and the
// encoder both walk these tables, so they cannot disagree. A visitor V has:
//   v.Required(name, member)           must be there, always written
//   v.Member(name, member, default)    may be missing; written when it differs. optional<T>: missing when empty
//   v.Nullable(name, optional)         null or missing when empty
//   v.Positive(name, integer, default) >= 1
//   v.RequiredPath / v.Path / v.Seed / v.Sha256 / v.Style / v.MegatronFormat(name, member...)   text of that form
//   v.CommonFromMember(name, member)   index or path
//   v.Child(name, object)              an object with a table of its own
#ifndef CK_PLAN_MEMBERS_H_
#define CK_PLAN_MEMBERS_H_

#include "libs/plan/plan.h"

namespace ck::plan::internal {

template <typename V>
void Visit(V& v, Producer& s) {
  v.Required("tool", s.tool);
  v.Required("version", s.version);
}

template <typename V>
void Visit(V& v, Input& s) {
  v.RequiredPath("path", s.path);
  v.Nullable("iteration", s.iteration);
  v.Required("format", s.format);
  v.Member("weight", s.weight, {});
  v.Sha256("metadata_sha256", s.metadata_sha256);
}

template <typename V>
void Visit(V& v, Coefficients& s) {
  const Coefficients d;
  v.Style("style", s.style);
  v.Seed("seed", s.seed, d.seed);
  v.Member("normalized", s.normalized, d.normalized);
}

template <typename V>
void Visit(V& v, MergeStep& s) {
  const MergeStep d;
  v.Member("dtype", s.dtype, d.dtype);
  v.Member("extra_state_from", s.extra_state_from, d.extra_state_from);
  v.CommonFromMember("common_from", s.common_from);
  v.Member("weights_only", s.weights_only, d.weights_only);
  v.Member("cast_all", s.cast_all, d.cast_all);
  v.Member("copy_identical", s.copy_identical, d.copy_identical);
}

template <typename V>
void Visit(V& v, MambaShape& s) {
  v.Positive("d_model", s.d_model, {});
  v.Positive("d_state", s.d_state, {});
  v.Positive("n_groups", s.n_groups, {});
  v.Positive("head_dim", s.head_dim, {});
  v.Positive("d_conv", s.d_conv, {});
  v.Positive("expand", s.expand, {});
}

template <typename V>
void Visit(V& v, RetargetStep& s) {
  const RetargetStep d;
  v.Required("to", s.to);
  v.Member("pattern", s.pattern, {});
  v.MegatronFormat("format", s.format);
  v.Member("per_layer", s.per_layer, d.per_layer);
  v.Member("drop_ssm", s.drop_ssm, d.drop_ssm);
  v.Seed("seed", s.seed, d.seed);
  v.Member("optimizer", s.optimizer, d.optimizer);
  v.Member("extra_state", s.extra_state, d.extra_state);
  v.Member("reset_iterations", s.reset_iterations, d.reset_iterations);
  v.Member("assume_compatible", s.assume_compatible, d.assume_compatible);
  v.Member("allow_reorder", s.allow_reorder, d.allow_reorder);
  v.Member("transformer_impl", s.transformer_impl, {});
  v.Child("mamba", s.mamba);
}

template <typename V>
void Visit(V& v, SplitStep& s) {
  const SplitStep d;
  v.Required("to", s.to);
  v.Member("architecture", s.architecture, {});
  v.Path("config", s.config);
  v.Path("mapping", s.mapping);
  v.Member("dtype", s.dtype, d.dtype);
  v.Member("cast_all", s.cast_all, d.cast_all);
  v.Positive("max_shard_size", s.max_shard_size, d.max_shard_size);
  v.Positive("vocab_size", s.vocab_size, {});
  v.Member("config_from", s.config_from, {});
  v.Member("tied", s.tied, d.tied);
  v.Member("value_model", s.value_model, d.value_model);
  v.Member("per_layer", s.per_layer, d.per_layer);
  v.Positive("vocab_divisible_by", s.vocab_divisible_by, d.vocab_divisible_by);
  v.Positive("tensor_parallel", s.tensor_parallel, d.tensor_parallel);
  v.Member("transformer_impl", s.transformer_impl, d.transformer_impl);
  v.Member("extra_state", s.extra_state, {});
}

}  // namespace ck::plan::internal

#endif  // CK_PLAN_MEMBERS_H_
