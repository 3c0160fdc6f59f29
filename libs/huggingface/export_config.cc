#include "libs/huggingface/export_config.h"

#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"
#include "libs/huggingface/compare_config.h"
#include "libs/huggingface/megatron_config.h"

namespace ck::huggingface {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;  // the largest known, with a list per layer, is some 100 KiB

using ConfigFrom = plan::SplitStep::ConfigFrom;

// Classes that count their shared experts instead of stating a width.
bool CountsSharedExperts(Family family) { return family == Family::kDeepseekV2 || family == Family::kDeepseekV3 || family == Family::kGlm4Moe; }

bool HasField(const Facts& facts, std::string_view name) {
  const auto at = facts.fields.find(name);
  return at != facts.fields.end() && at->second;
}

void SetExperts(const Facts& facts, ModelConfig& out) {
  if (!facts.has_experts) {
    out.experts.reset();
    return;
  }
  if (!out.experts) out.experts.emplace();
  Experts& experts = *out.experts;
  experts.count = facts.sizes.Get('E');
  experts.width = facts.sizes.Get('m');
  experts.shared_width = facts.sizes.Find('s').value_or(0);
  const Family family = facts.architecture.family;
  experts.shared_gate = family == Family::kQwen2Moe || family == Family::kQwen3Next;
  experts.correction_bias = family == Family::kDeepseekV3 || family == Family::kGlm4Moe || family == Family::kNemotronH;
  experts.latent_width = HasField(facts, "moe_latent_size") ? facts.sizes.Find('j') : std::nullopt;
  if (family == Family::kNemotronH) experts.shared_count = 1;
  if (!CountsSharedExperts(family)) return;
  if (experts.width == 0 || experts.shared_width % experts.width != 0) {
    throw InputError("split.bad_shape", Cat("the shared experts are ", facts.sizes.Origin('s'), " wide, one routed expert is ", facts.sizes.Origin('m'), " wide: ", ClassName(facts.architecture),
                                            " can only say a multiple"));
  }
  experts.shared_count = experts.shared_width / experts.width;
}

void SetBiases(const Facts& facts, ModelConfig& out) {
  const auto field = [&](std::string_view name) { return HasField(facts, name); };
  const BiasFields& bias = out.row().bias;
  out.biases.qkv = bias.attention.empty() ? bias.attention_default : field(bias.attention);
  out.biases.attention_out = bias.covers_out && out.biases.qkv;
  out.biases.mlp = bias.mlp.empty() ? bias.mlp_default : field(bias.mlp);
  out.biases.mamba = facts.mamba && field("use_bias");
  out.biases.conv = facts.mamba && field("use_conv_bias");
}

// The chunk is of the computation only: whoever knew it before keeps it.
void ApplyMamba(const Facts& facts, ModelConfig& out) {
  const uint64_t chunk = out.mamba ? out.mamba->chunk_size : 0;
  out.mamba = facts.mamba;
  if (out.mamba && chunk != 0) out.mamba->chunk_size = chunk;
}

// No tensor shows whether attention has a window.
void ApplyKinds(const Facts& facts, ModelConfig& out) {
  out.layers.resize(facts.layers, LayerKind::kFullAttention);
  for (size_t i = 0; i < facts.layers; ++i) {
    const bool window = out.layers[i] == LayerKind::kSlidingAttention && facts.kinds[i] == LayerKind::kFullAttention;
    if (!window) out.layers[i] = facts.kinds[i];
  }
}

// What the tensors of the result determine, whatever else says.
void ApplyTensors(const Facts& facts, DType dtype, ModelConfig& out) {
  out.architecture = facts.architecture;
  out.hidden = facts.sizes.Get('h');
  if (facts.heads.heads != 0) {  // a model without attention keeps what is said of it
    out.heads = facts.heads.heads;
    out.kv_heads = facts.heads.groups;
    out.head_dim = facts.heads.head_dim;
  }
  out.mla = facts.latent;
  out.vocab = facts.vocab_size;
  out.gdn = facts.gdn;
  ApplyMamba(facts, out);
  const Family family = facts.architecture.family;
  if (facts.architecture.head == Head::kCausalLm) out.tied = facts.tied && family != Family::kNemotronH;
  if (family == Family::kGlm4Moe) out.qk_norm = HasField(facts, "use_qk_norm") ? QkNorm::kHead : QkNorm::kNone;
  if (facts.sizes.Find('f')) out.ffn = facts.sizes.Get('f');
  // One field for both.
  if (family == Family::kMixtral || family == Family::kOlmoe || family == Family::kGptOss) out.ffn = facts.sizes.Get('m');
  ApplyKinds(facts, out);
  out.expert_layers.assign(facts.layers, facts.has_experts);
  for (const uint64_t layer : facts.dense_layers) out.expert_layers[layer] = false;
  SetExperts(facts, out);
  SetBiases(facts, out);
  out.mtp_layers = 0;
  out.labels = facts.architecture.head == Head::kCausalLm ? 0 : 1;  // score.weight has one row
  out.dtype = TorchName(dtype);
}

// What the arguments say, where there are any; else what the template says.
ModelConfig Said(const Facts& facts, const SavedArgs& args, const std::optional<ModelConfig>& stated, const plan::SplitStep& step, WrittenConfig& out) {
  if (!args.exist() && stated) return *stated;
  DerivedConfig derived = ConfigFromArgs(facts.architecture, args, facts.vocab_size);  // throws when there are none
  for (std::string& warning : derived.warnings) {
    out.warnings.push_back({.id = "split.not_the_same", .severity = plan::Severity::kWarning, .message = std::move(warning), .where = {}, .found = {}, .expected = {}, .source = {}});
  }
  if (!stated) return std::move(derived.model);
  if (step.config_from == ConfigFrom::kTemplate) return *stated;
  derived.model.max_positions = stated->max_positions;  // the arguments know the length of the training's sequences
  return std::move(derived.model);
}

std::string Contradictions(const std::vector<ConfigDifference>& differences) {
  std::vector<std::string> out;
  for (const ConfigDifference& d : differences) {
    if (d.kind == ConfigDifference::Kind::kContradiction) out.push_back(Cat(d.field, " is ", d.template_value.empty() ? "absent" : d.template_value, " in it, ", d.written_value, " by the checkpoint"));
  }
  return Join(out, "; ");
}

}  // namespace

std::optional<ConfigTemplate> ReadTemplate(const std::string& path) {
  const auto info = fs::Stat(path);
  if (!info) throw InputError("split.no_config", Cat("--config ", Quote(path, 4096), " does not exist"));
  const std::string file = info->type == fs::FileType::kDirectory ? fs::JoinPath(path, "config.json") : path;
  if (!fs::Stat(file)) return std::nullopt;
  try {
    return ConfigTemplate{.path = file, .root = ParseConfig(fs::ReadSmallFile(file, kMaxConfigBytes))};
  } catch (const Error& error) {
    throw error.At(file);
  }
}

WrittenConfig MakeConfig(const Facts& facts, const SavedArgs& args, const std::optional<ConfigTemplate>& config, DType dtype, const plan::SplitStep& step) {
  WrittenConfig out;
  const auto stated = config ? std::optional(ReadConfig(config->root, ClassName(facts.architecture))) : std::nullopt;
  ModelConfig model = Said(facts, args, stated, step, out);
  ApplyTensors(facts, dtype, model);
  if (!config) {
    out.text = ConfigText(WriteConfig(model));
    out.notes.push_back("config.json is derived from the checkpoint: token ids have the defaults of the class");
    return out;
  }
  CorrectedConfig corrected = CorrectTemplate(config->root, model);
  // The user's own number corrects the template.
  for (ConfigDifference& d : corrected.differences) {
    if (d.field == "vocab_size" && step.vocab_size) d.kind = ConfigDifference::Kind::kCorrected;
  }
  const std::string contradictions = Contradictions(corrected.differences);
  if (!contradictions.empty() && step.config_from != ConfigFrom::kCheckpoint) {
    throw InputError("split.config_contradiction", Cat(config->path, " does not fit the checkpoint: ", contradictions,
                                                       step.config_from ? ", which cannot follow it" : "; --config-from checkpoint or --config-from template says which wins"));
  }
  for (const ConfigDifference& difference : corrected.differences) out.notes.push_back(Cat("config.json: ", DifferenceText(difference)));
  out.text = ConfigText(corrected.config);
  return out;
}

}  // namespace ck::huggingface
