// The plan: the one document that the tools pass on. A recipe of a few kilobytes: which checkpoints, which weights,
// which steps.
//
// Model.   Decode and Encode are inverse to each other; the structs hold the defaults, and a member is written only
//          when it differs from its default. Encode gives the same bytes for the same plan.
// Trust.   A plan is input: unknown members outside `annotations`, wrong types, paths that are not absolute and steps
//          in a wrong order are refused, with the JSON path of the place (steps[1].pattern). Nothing is looked up in
//          the file system.
// Errors.  json.* (libs/json), and kInput: plan.empty, plan.schema, plan.version, plan.missing_member,
//          plan.unknown_member, plan.bad_type, plan.bad_value, plan.bad_path, plan.step_order, plan.too_long; from
//          CheckRunnable: plan.no_inputs, plan.needs_merge, plan.missing_weight, plan.bad_index.
// Source.  docs/schemas/ck.plan.schema.json, docs/manual/plan.md.
#ifndef CK_PLAN_PLAN_H_
#define CK_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libs/base/format.h"
#include "libs/json/value.h"

namespace ck::plan {

inline constexpr uint64_t kMaxPlanBytes = uint64_t{64} << 20;  // a plan of 10^5 inputs is some 20 MiB

using ck::Format;
enum class SaveDtype { kSame, kFloat32, kFloat16, kBfloat16 };
enum class TransformerImpl { kTransformerEngine, kLocal };

struct Producer {
  std::string tool;
  std::string version;
  friend bool operator==(const Producer&, const Producer&) = default;
};

struct Input {
  std::string path;                  // absolute, lexically cleaned, links kept
  std::optional<int64_t> iteration;  // from the directory's name
  Format format = Format::kTorchDist;
  std::optional<double> weight;                // nullopt until known
  std::optional<std::string> metadata_sha256;  // 64 lower-case hex digits; checked when the plan is carried out
  friend bool operator==(const Input&, const Input&) = default;
};

// Where the weights came from. They themselves stand in the inputs.
struct Coefficients {
  std::optional<std::string> style;  // one of libs/coefficients' six, or "manual"
  std::string seed = "0";            // an integer of any size
  bool normalized = false;
  friend bool operator==(const Coefficients&, const Coefficients&) = default;
};

// monostate: the input whose iteration is the target's, else input 0. An index into inputs, or the path of another
// checkpoint, which then supplies the extra states too.
using CommonFrom = std::variant<std::monostate, uint64_t, std::string>;

struct MergeStep {
  SaveDtype dtype = SaveDtype::kSame;
  uint64_t extra_state_from = 0;  // index into inputs
  CommonFrom common_from;
  bool weights_only = false;
  bool cast_all = false;
  bool copy_identical = false;
  friend bool operator==(const MergeStep&, const MergeStep&) = default;
};

struct MambaShape {
  std::optional<uint64_t> d_model, d_state, n_groups, head_dim, d_conv, expand;
  friend bool operator==(const MambaShape&, const MambaShape&) = default;
};

struct RetargetStep {
  enum class To { kHybrid, kGpt };
  enum class Optimizer { kDrop, kCarry };
  enum class ExtraState { kMap, kDrop };

  To to = To::kHybrid;
  std::optional<std::string> pattern;
  std::optional<Format> format;  // kTorchDist or kFsdpDtensor; nullopt: the source's
  bool per_layer = false;
  bool drop_ssm = false;
  std::string seed = "0";
  Optimizer optimizer = Optimizer::kDrop;
  ExtraState extra_state = ExtraState::kMap;
  bool reset_iterations = false;
  bool assume_compatible = false;
  bool allow_reorder = false;
  std::optional<TransformerImpl> transformer_impl;
  MambaShape mamba;
  friend bool operator==(const RetargetStep&, const RetargetStep&) = default;
};

struct SplitStep {
  enum class To { kHf, kMegatron };
  enum class ConfigFrom { kTemplate, kCheckpoint };
  enum class Tied { kAuto, kYes, kNo };
  enum class ExtraState { kPlaceholders, kDrop };

  To to = To::kHf;
  std::optional<std::string> architecture;  // nullopt: from config.json
  std::optional<std::string> config;        // path
  std::optional<std::string> mapping;       // path
  SaveDtype dtype = SaveDtype::kSame;
  bool cast_all = false;
  uint64_t max_shard_size = 5000000000;  // bytes
  std::optional<uint64_t> vocab_size;
  std::optional<ConfigFrom> config_from;
  Tied tied = Tied::kAuto;
  bool value_model = false;
  bool per_layer = false;
  uint64_t vocab_divisible_by = 128;
  uint64_t tensor_parallel = 1;
  TransformerImpl transformer_impl = TransformerImpl::kTransformerEngine;
  std::optional<ExtraState> extra_state;
  friend bool operator==(const SplitStep&, const SplitStep&) = default;
};

using Step = std::variant<MergeStep, RetargetStep, SplitStep>;

struct Release {
  friend bool operator==(const Release&, const Release&) = default;
};
// Where the result goes: monostate: the output directory itself and no marker; a number: iter_%07d and the marker;
// Release: release.
using TargetIteration = std::variant<std::monostate, int64_t, Release>;

struct Plan {
  std::optional<Producer> producer;  // the tool that wrote the plan last
  std::vector<Input> inputs;
  Coefficients coefficients;
  std::vector<Step> steps;  // merge?, retarget?, split?
  TargetIteration target;
  json::Object annotations;  // of the user; carried along, never read
  friend bool operator==(const Plan&, const Plan&) = default;
};

Plan Decode(std::string_view text);

// Indented JSON and a final newline. Text that is not UTF-8 is plan.bad_value; what Decode would refuse is refused in
// the same way.
std::string Encode(const Plan& plan);
json::Value ToJson(const Plan& plan);

// Nullptr when there is no such step.
template <typename T>
const T* FindStep(const Plan& plan) {
  for (const Step& step : plan.steps) {
    if (const T* found = std::get_if<T>(&step)) return found;
  }
  return nullptr;
}

// "merge", "retarget", "split".
std::string_view OpName(const Step& step);

// Throws unless the plan says everything that carrying it out needs: inputs, a merge step when there are several of
// them, weights for a merge of several, indices that exist. Does not look at the checkpoints.
void CheckRunnable(const Plan& plan);

// The weight of each input as a merge uses it: a single input without a weight has 1. Precondition: CheckRunnable.
std::vector<double> Weights(const Plan& plan);

}  // namespace ck::plan

#endif  // CK_PLAN_PLAN_H_
