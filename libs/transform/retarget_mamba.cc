#include "libs/transform/retarget_mamba.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "libs/base/text.h"
#include "libs/transform/compose.h"
#include "libs/transform/retarget_source.h"

namespace ck::transform {
namespace {

constexpr uint64_t kMaxSize = uint64_t{1} << 32;  // of one Mamba dimension: products of three fit 128 bits, of two 64

// As a layer of Megatron-Core starts: dt log-uniform in this range.
constexpr double kDtMin = 1e-3, kDtMax = 1e-1, kDtFloor = 1e-4;
constexpr double kAMin = 1, kAMax = 16;

uint64_t Choose(const std::optional<uint64_t>& flag, const megatron::Args& args, const char* argument, uint64_t fallback) {
  if (flag) return *flag;
  const auto value = args.Int(argument);
  return value && *value > 0 ? static_cast<uint64_t>(*value) : fallback;
}

Fill Constant(double value) { return {.kind = Fill::Kind::kConstant, .low = value}; }

// Kaiming uniform with a = sqrt(5): the bound is 1 / sqrt(fan_in).
Fill Kaiming(uint64_t fan_in, uint64_t seed) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return {.kind = Fill::Kind::kUniform, .low = -bound, .high = bound, .seed = seed};
}

// Replaces the tensors from `first` on, whole fills, by one that has their rows one after the other.
void Pack(size_t first, const std::string& name, View& view) {
  Tensor packed = view.tensors[first];
  packed.name = name;
  for (size_t i = first + 1; i < view.tensors.size(); ++i) {
    Piece piece = view.tensors[i].pieces[0];
    piece.target.offset[0] = packed.shape[0];
    packed.shape[0] += view.tensors[i].shape[0];
    packed.pieces.push_back(std::move(piece));
  }
  packed.chunks = ChunksByRows(packed.shape, packed.dtype);
  view.tensors.resize(first);
  view.tensors.push_back(std::move(packed));
}

}  // namespace

MambaSizes ChooseMambaSizes(const plan::MambaShape& step, const megatron::Args& args, uint64_t hidden, std::vector<plan::Finding>& findings) {
  const auto fault = [&](std::string message) { findings.push_back(ErrorFinding("retarget.mamba_size", std::move(message))); };
  MambaSizes out;
  out.hidden = hidden;
  if (step.d_model && *step.d_model != hidden) fault(Cat("d_model is ", *step.d_model, ", the embedding of the checkpoint has ", hidden, " columns"));
  out.state = Choose(step.d_state, args, "mamba_state_dim", 128);
  out.groups = Choose(step.n_groups, args, "mamba_num_groups", 8);
  out.head_dim = Choose(step.head_dim, args, "mamba_head_dim", 64);
  out.conv = step.d_conv.value_or(4);
  for (const uint64_t size : {out.state, out.groups, out.head_dim, out.conv, step.expand.value_or(2)}) {
    if (size > kMaxSize / std::max<uint64_t>(hidden, 1)) {
      fault(Cat("a Mamba size of ", size, " is too large"));
      return out;
    }
  }
  const auto heads = args.Int("mamba_num_heads");
  if (!step.expand && heads && *heads > 0 && static_cast<uint64_t>(*heads) <= kMaxSize) {
    out.heads = static_cast<uint64_t>(*heads);
    out.inner = out.heads * out.head_dim;
  } else {
    out.inner = hidden * step.expand.value_or(2);
    if (out.inner % out.head_dim != 0) {
      fault(Cat("the inner size ", out.inner, " (", step.expand.value_or(2), " * ", hidden, ") is no multiple of the head size ", out.head_dim, "; --mamba2-head-dim gives another"));
    }
    out.heads = out.inner / out.head_dim;
  }
  if (out.heads == 0 || out.heads % out.groups != 0) {
    fault(Cat(out.heads, " Mamba heads (inner size ", out.inner, ", head size ", out.head_dim, ") cannot be shared by ", out.groups, " groups; --mamba2-n-groups gives another number"));
  }
  return out;
}

void SetMambaSizes(megatron::Args& args, const MambaSizes& sizes) {
  args.SetInt("mamba_state_dim", static_cast<int64_t>(sizes.state));
  args.SetInt("mamba_head_dim", static_cast<int64_t>(sizes.head_dim));
  args.SetInt("mamba_num_groups", static_cast<int64_t>(sizes.groups));
  args.SetInt("mamba_num_heads", static_cast<int64_t>(sizes.heads));
}

void AddFreshMamba(const FreshMamba& fresh, const std::string& prefix, uint64_t layer, View& view) {
  const MambaSizes& s = fresh.sizes;
  const uint64_t bc = s.groups * s.state;
  const auto add = [&](const std::string& name, DType dtype, const Dims& shape, const Fill& fill) {
    const std::string key = Cat("decoder.layers.", layer, ".mixer.", name);
    const auto leaf = static_cast<uint32_t>(view.leaves.size());
    view.leaves.push_back({.name = key, .dtype = dtype, .shape = shape, .arithmetic = Arithmetic::kFill, .terms = {}, .fill = fill});
    view.tensors.push_back({.name = Cat(prefix, key), .dtype = dtype, .shape = shape, .chunks = ChunksByRows(shape, dtype), .pieces = {Piece::Whole(leaf, shape)}});
  };
  const auto add_parts = [&](const std::string& name, const std::vector<std::pair<const char*, uint64_t>>& parts, const Dims& tail, const Fill& fill) {
    const size_t first = view.tensors.size();
    for (const auto& [part, rows] : parts) {
      Dims shape = {rows};
      shape.insert(shape.end(), tail.begin(), tail.end());
      add(Cat(name, ".", part), fresh.dtype, shape, fill);
    }
    if (fresh.packed) Pack(first, Cat(prefix, "decoder.layers.", layer, ".mixer.", name), view);
  };
  add("in_proj.layer_norm_weight", fresh.dtype, {s.hidden}, Constant(fresh.norm_weight));
  if (fresh.norm_bias == NormBias::kYes) add("in_proj.layer_norm_bias", fresh.dtype, {s.hidden}, Constant(0));
  add_parts("in_proj.weight", {{"z", s.inner}, {"x", s.inner}, {"B", bc}, {"C", bc}, {"dt", s.heads}}, {s.hidden}, Kaiming(s.hidden, fresh.seed));
  add_parts("conv1d.weight", {{"x", s.inner}, {"B", bc}, {"C", bc}}, {1, s.conv}, Kaiming(s.conv, fresh.seed));
  add_parts("conv1d.bias", {{"x", s.inner}, {"B", bc}, {"C", bc}}, {}, Kaiming(s.conv, fresh.seed));
  add("A_log", DType::kF32, {s.heads}, {.kind = Fill::Kind::kLogUniform, .low = kAMin, .high = kAMax, .seed = fresh.seed});
  add("D", DType::kF32, {s.heads}, Constant(1));
  add("dt_bias", fresh.dtype, {s.heads}, {.kind = Fill::Kind::kInverseSoftplus, .low = kDtMin, .high = kDtMax, .floor = kDtFloor, .seed = fresh.seed});
  add("norm.weight", fresh.dtype, {s.inner}, Constant(1));
  add("out_proj.weight", fresh.dtype, {s.hidden, s.inner}, Kaiming(s.inner, fresh.seed));
}

uint64_t FillSeed(const std::string& seed) {
  if (const auto number = ParseUint64(seed)) return *number;
  if (const auto number = ParseInt64(seed)) return static_cast<uint64_t>(*number);
  uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (const char c : seed) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

}  // namespace ck::transform
