#include "libs/huggingface/rope_config.h"

#include <array>
#include <utility>

#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

constexpr std::array<std::pair<std::string_view, RopeKind>, 7> kKinds = {{
    {"default", RopeKind::kDefault},
    {"linear", RopeKind::kLinear},
    {"dynamic", RopeKind::kDynamic},
    {"yarn", RopeKind::kYarn},
    {"llama3", RopeKind::kLlama3},
    {"longrope", RopeKind::kLongrope},
    {"su", RopeKind::kLongrope},  // Phi-3's first files
}};

RopeKind ReadKind(const Fields& fields) {
  const auto name = fields.StringOf({"rope_type", "type"}).value_or("default");
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  throw InputError("huggingface.config_unsupported", Cat(fields.Named("rope_type"), " is ", Quote(name),
                                                         ", a scaling of rotary positions that ck does not know"));
}

// rope_parameters and rope_scaling hold the same members. Those of another kind are not read by transformers, so not
// here.
RopeScaling ReadScaling(const Fields& fields) {
  RopeScaling out;
  out.kind = ReadKind(fields);
  if (out.kind == RopeKind::kDefault) return out;
  out.factor = fields.Double("factor");
  if (out.kind != RopeKind::kLongrope && !out.factor) throw fields.Missing("factor");
  if (out.kind == RopeKind::kLinear || out.kind == RopeKind::kDynamic) return out;
  out.original_max_positions = fields.Uint("original_max_position_embeddings");
  out.attention_factor = fields.Double("attention_factor");
  if (out.kind == RopeKind::kLlama3) {
    out.low_freq_factor = fields.Double("low_freq_factor");
    out.high_freq_factor = fields.Double("high_freq_factor");
    if (!out.low_freq_factor) throw fields.Missing("low_freq_factor");
    if (!out.high_freq_factor) throw fields.Missing("high_freq_factor");
  } else if (out.kind == RopeKind::kYarn) {
    out.beta_fast = fields.Double("beta_fast");
    out.beta_slow = fields.Double("beta_slow");
    out.mscale = fields.Double("mscale");
    out.mscale_all_dim = fields.Double("mscale_all_dim");
    out.truncate = fields.Bool("truncate");
  } else {
    out.short_factor = fields.Doubles("short_factor");
    out.long_factor = fields.Doubles("long_factor");
    if (out.short_factor.empty()) throw fields.Missing("short_factor");
    if (out.long_factor.size() != out.short_factor.size()) throw fields.Conflict("short_factor", "long_factor");
  }
  return out;
}

// `old_names`: what 4.57 calls the same at the top of the document.
template <typename T>
T Agree(const Fields& config, std::string_view old_name, std::optional<T> old_value, std::optional<T> new_value,
        T missing) {
  if (old_value && new_value && !(*old_value == *new_value)) throw config.Conflict(old_name, "rope_parameters");
  return old_value ? *old_value : new_value ? *new_value : missing;
}

struct OldNames {
  std::initializer_list<std::string_view> theta, partial;
};
const OldNames kUsualNames = {{"rope_theta"}, {"partial_rotary_factor"}};
const OldNames kNeoxNames = {{"rope_theta", "rotary_emb_base"}, {"partial_rotary_factor", "rotary_pct"}};
const OldNames kLocalNames = {{"rope_local_base_freq"}, {"partial_rotary_factor"}};

// `parameters`: rope_parameters, or its member for one kind of attention.
Rope ReadRope(const Fields& config, const std::optional<Fields>& parameters, const OldNames& names,
              const FamilyRow& row, double default_theta, bool scaled) {
  Rope out;
  const auto theta = config.DoubleOf(names.theta);
  const auto partial = config.DoubleOf(names.partial);
  out.theta = Agree(config, *names.theta.begin(), theta, parameters ? parameters->Double("rope_theta") : std::nullopt,
                    default_theta);
  out.partial_factor =
      Agree(config, *names.partial.begin(), partial,
            parameters ? parameters->Double("partial_rotary_factor") : std::nullopt, row.default_partial_rotary);
  if (!(out.theta > 0)) throw config.Wrong(*names.theta.begin(), "a positive number");
  if (!(out.partial_factor > 0 && out.partial_factor <= 1))
    throw config.Wrong(*names.partial.begin(), "a number above 0, at most 1");

  std::optional<RopeScaling> old_scaling, new_scaling;
  if (parameters) new_scaling = ReadScaling(*parameters);
  if (scaled && config.Present("rope_scaling")) {
    const auto scaling = config.Object("rope_scaling");
    old_scaling = scaling ? ReadScaling(*scaling) : RopeScaling{};
    // A theta inside rope_scaling is read by 5 alone.
    const auto inner = scaling ? scaling->Double("rope_theta") : std::nullopt;
    if (inner && *inner != out.theta) throw config.Conflict("rope_theta", "rope_scaling");
  }
  // longrope's length stands at the top in 4.57's spelling, in both places in 5's.
  for (auto* scaling : {&old_scaling, &new_scaling}) {
    if (!*scaling || (*scaling)->kind != RopeKind::kLongrope) continue;
    const auto top = config.Uint("original_max_position_embeddings");
    auto& length = (*scaling)->original_max_positions;
    if (top && length && *top != *length)
      throw config.Conflict("original_max_position_embeddings",
                            scaling == &old_scaling ? "rope_scaling" : "rope_parameters");
    if (!length) length = top;
  }
  out.scaling = Agree(config, "rope_scaling", old_scaling, new_scaling, RopeScaling{});
  return out;
}

json::Value ScalingJson(const RopeScaling& scaling) {
  if (scaling.kind == RopeKind::kDefault) return nullptr;
  json::Object out;
  const auto set = [&](std::string_view name, const auto& value) {
    if (value) out.Set(name, *value);
  };
  if (scaling.kind == RopeKind::kLongrope) {
    // 4.57 takes exactly these three.
    const auto list = [](const std::vector<double>& numbers) { return json::Array(numbers.begin(), numbers.end()); };
    out.Set("type", "longrope")
        .Set("short_factor", list(scaling.short_factor))
        .Set("long_factor", list(scaling.long_factor));
    return out;
  }
  out.Set("rope_type", RopeKindName(scaling.kind));
  set("factor", scaling.factor);
  set("low_freq_factor", scaling.low_freq_factor);
  set("high_freq_factor", scaling.high_freq_factor);
  set("original_max_position_embeddings", scaling.original_max_positions);
  set("beta_fast", scaling.beta_fast);
  set("beta_slow", scaling.beta_slow);
  set("mscale", scaling.mscale);
  set("mscale_all_dim", scaling.mscale_all_dim);
  set("attention_factor", scaling.attention_factor);
  set("truncate", scaling.truncate);
  return out;
}

// What only 5's spelling can say.
void CheckOldSpelling(const ModelConfig& model) {
  const auto refuse = [&](std::string_view what) {
    return InputError("huggingface.config_not_expressible",
                      Cat("config.json: ", what, " cannot be written so that transformers 4.57 reads it"));
  };
  if (model.local_rope && model.local_rope->scaling.kind != RopeKind::kDefault)
    throw refuse("a scaling of Gemma3's local rotary positions");
  const RopeScaling& scaling = model.rope->scaling;
  if (scaling.kind == RopeKind::kLongrope && (scaling.factor || scaling.attention_factor))
    throw refuse("a factor or attention_factor of longrope");
}

}  // namespace

std::string_view RopeKindName(RopeKind kind) {
  for (const auto& [name, known] : kKinds) {
    if (known == kind) return name;
  }
  throw InternalError("internal.rope_kind", "a rope kind without a name");
}

Ropes ReadRopes(const Fields& config, const FamilyRow& row) {
  Ropes out;
  if (row.default_rope_theta == 0) return out;
  const auto parameters = config.Object("rope_parameters");
  // Gemma3 has one object per kind of attention.
  const auto full = parameters ? parameters->Object("full_attention") : std::nullopt;
  const auto sliding = parameters ? parameters->Object("sliding_attention") : std::nullopt;
  const bool nested = full || sliding;
  if (nested && row.family != Family::kGemma3)
    throw config.Wrong("rope_parameters", "one object, not one per kind of attention");
  // Without any field 4.57 and 5 scale by class defaults; what a file leaves out is not guessed.
  if (row.family == Family::kGptOss && !parameters && !config.Present("rope_scaling"))
    throw config.Missing("rope_scaling");
  const OldNames& names = row.family == Family::kGptNeox ? kNeoxNames : kUsualNames;
  out.rope = ReadRope(config, nested ? full : parameters, names, row, row.default_rope_theta, true);
  if (row.family == Family::kGemma3) {
    constexpr double kDefaultLocalTheta = 10000;
    out.local = ReadRope(config, sliding, kLocalNames, row, kDefaultLocalTheta, false);
  }
  return out;
}

void WriteRopes(json::Object& out, const ModelConfig& model) {
  if (!model.rope) return;
  CheckOldSpelling(model);
  out.Set("rope_theta", model.rope->theta);
  if (model.local_rope) out.Set("rope_local_base_freq", model.local_rope->theta);
  out.Set("rope_scaling", ScalingJson(model.rope->scaling));
  if (model.rope->scaling.kind == RopeKind::kLongrope && model.rope->scaling.original_max_positions) {
    out.Set("original_max_position_embeddings", *model.rope->scaling.original_max_positions);
  }
  if (model.rope->partial_factor != 1 || model.row().default_partial_rotary != 1)
    out.Set("partial_rotary_factor", model.rope->partial_factor);
  if (model.architecture.family == Family::kGptNeox) {
    out.Set("rotary_emb_base", model.rope->theta);
    out.Set("rotary_pct", model.rope->partial_factor);
  }
}

}  // namespace ck::huggingface
