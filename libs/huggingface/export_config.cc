#include "libs/huggingface/export_config.h"

#include <algorithm>
#include <utility>

#include "libs/base/error.h"
#include "libs/base/text.h"
#include "libs/fs/read.h"

namespace ck::huggingface {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;  // the largest known, with a list per layer, is some 100 KiB

using ConfigFrom = plan::SplitStep::ConfigFrom;

// What a class says about itself, for a config without a template.
ModelConfig Blank(const Architecture& architecture) {
  ModelConfig out;
  out.architecture = architecture;
  const FamilyRow& row = out.row();
  out.norm_eps = row.default_norm_eps;
  out.qk_norm = row.qk_norm;
  out.rope = Rope{.theta = row.default_rope_theta, .partial_factor = row.default_partial_rotary, .scaling = {}};
  return out;
}

void SetExperts(const Facts& facts, ModelConfig& out) {
  if (!facts.has_experts) {
    out.experts.reset();
    return;
  }
  if (!out.experts) out.experts.emplace();
  out.experts->count = facts.sizes.Get('E');
  out.experts->width = facts.sizes.Get('m');
  out.experts->shared_width = facts.sizes.Find('s').value_or(0);
  out.experts->shared_gate = facts.sizes.Find('s').has_value();  // of the classes with a table, only Qwen2Moe has a shared expert, and it is gated
}

void SetBiases(const Facts& facts, ModelConfig& out) {
  const auto field = [&](std::string_view name) {
    const auto at = facts.fields.find(name);
    return at != facts.fields.end() && at->second;
  };
  const BiasFields& bias = out.row().bias;
  out.biases.qkv = bias.attention.empty() ? bias.attention_default : field(bias.attention);
  out.biases.attention_out = bias.covers_out && out.biases.qkv;
  out.biases.mlp = bias.mlp.empty() ? bias.mlp_default : field(bias.mlp);
}

// What the tensors determine.
void ApplyTensors(const Facts& facts, const plan::SplitStep& step, ModelConfig& out) {
  out.hidden = facts.sizes.Get('h');
  out.heads = facts.heads.heads;
  out.kv_heads = facts.heads.groups;
  out.head_dim = facts.heads.head_dim;
  if (!step.vocab_size) out.vocab = facts.vocab_size;  // the user's own number corrects the template
  if (facts.architecture.head == Head::kCausalLm) out.tied = facts.tied;
  if (facts.sizes.Find('f')) out.ffn = facts.sizes.Get('f');
  if (facts.architecture.family == Family::kMixtral) out.ffn = facts.sizes.Get('m');
  out.layers.resize(facts.layers, LayerKind::kFullAttention);
  out.expert_layers.assign(facts.layers, facts.has_experts);
  for (const uint64_t layer : facts.dense_layers) out.expert_layers[layer] = false;
  SetExperts(facts, out);
  SetBiases(facts, out);
}

// Megatron knows Llama 3's scaling, with these constants, and linear interpolation.
RopeScaling ScalingOf(const SavedArgs& args) {
  RopeScaling out;
  if (args.Bool("use_rope_scaling").value_or(false)) {
    out.kind = RopeKind::kLlama3;
    out.factor = args.Number("rope_scaling_factor").value_or(8.0);
    out.low_freq_factor = 1.0;
    out.high_freq_factor = 4.0;
    out.original_max_positions = 8192;
  } else if (const auto factor = args.Number("rotary_seq_len_interpolation_factor")) {
    out.kind = RopeKind::kLinear;
    out.factor = *factor;
  }
  return out;
}

// Megatron counts the tokens before the current one, Hugging Face the current one too. A window is the whole model's: CheckArguments refused any other.
void ApplyWindow(const SavedArgs& args, ModelConfig& out) {
  const auto window = args.Ints("window_size");
  const bool slides = window && !window->empty() && (*window)[0] >= 0;
  out.sliding_window = slides ? std::optional(static_cast<uint64_t>((*window)[0]) + 1) : std::nullopt;
  std::fill(out.layers.begin(), out.layers.end(), slides ? LayerKind::kSlidingAttention : LayerKind::kFullAttention);
}

// What no tensor shows and the arguments say.
void ApplyArguments(const SavedArgs& args, ModelConfig& out) {
  if (!args.exist()) return;
  // The name changed with Megatron-Core 0.16.
  for (const char* name : {"norm_epsilon", "layernorm_epsilon"}) out.norm_eps = args.Number(name).value_or(out.norm_eps);
  if (args.Bool("swiglu").value_or(false)) out.activation = Activation::kSilu;
  if (!out.rope) out.rope.emplace();
  out.rope->theta = args.Number("rotary_base").value_or(out.rope->theta);
  out.rope->scaling = ScalingOf(args);
  ApplyWindow(args, out);
  if (!out.experts) return;
  const auto per_token = args.Int("moe_router_topk");
  if (per_token && *per_token > 0) out.experts->per_token = static_cast<uint64_t>(*per_token);
  // A softmax before the choice of experts leaves their weights unnormalised.
  if (const auto before = args.Bool("moe_router_pre_softmax")) out.experts->normalize = !*before;
}

// Of a config without a template: what a template would keep.
void ApplyDefaults(const SavedArgs& args, ModelConfig& out) {
  const auto positive = [&](const char* name) {
    const auto value = args.Int(name);
    return value && *value > 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  };
  out.max_positions = positive("max_position_embeddings");
  if (out.ffn == 0) out.ffn = positive("ffn_hidden_size").value_or(0);  // a model of MoE layers alone
}

struct Difference {
  std::string name, from, to;
};

std::string Text(const json::Value* value) {
  return value == nullptr ? "(absent)" : json::Write(*value, {.indent = 0, .final_newline = false, .extensions = json::Extensions::kPythonNumbers});
}

std::vector<Difference> Compare(const json::Object& from, const json::Object& to) {
  std::vector<Difference> out;
  for (const auto& [name, value] : to.members()) {
    const json::Value* before = from.Find(name);
    const bool same = before != nullptr && (*before == value || (before->AsDouble() && before->AsDouble() == value.AsDouble()));
    if (!same) out.push_back({.name = name, .from = Text(before), .to = Text(&value)});
  }
  for (const auto& [name, value] : from.members()) {
    if (to.Find(name) == nullptr) out.push_back({.name = name, .from = Text(&value), .to = Text(nullptr)});
  }
  return out;
}

std::string Contradictions(const std::vector<Difference>& differences) {
  std::vector<std::string> out;
  for (const Difference& difference : differences) out.push_back(Cat(difference.name, " is ", difference.from, " in the template, ", difference.to, " by the checkpoint's tensors"));
  return Join(out, "; ");
}

void AddNotes(const std::vector<Difference>& differences, std::vector<std::string>& notes) {
  for (const Difference& difference : differences) notes.push_back(Cat("config.json: ", difference.name, " ", difference.from, " -> ", difference.to));
}

// The rope_parameters of transformers 5 that say the same as rope_theta and rope_scaling.
json::Object RopeParameters(const json::Object& config) {
  const json::Value* scaling = config.Find("rope_scaling");
  json::Object out = scaling == nullptr || scaling->AsObject() == nullptr ? json::Object().Set("rope_type", "default") : *scaling->AsObject();
  if (const json::Value* theta = config.Find("rope_theta")) out.Set("rope_theta", *theta);
  return out;
}

// The template with the fields of `written`; a newer spelling beside a field follows it.
json::Object Overlay(const json::Object& root, const json::Object& before, const json::Object& written) {
  json::Object out = root;
  for (const auto& [name, value] : before.members()) {
    if (written.Find(name) == nullptr) out.Erase(name);
  }
  for (const auto& [name, value] : written.members()) out.Set(name, value);
  if (out.Find("rope_parameters") != nullptr && RopeParameters(before) != RopeParameters(written)) out.Set("rope_parameters", RopeParameters(written));
  if (const json::Value* dtype = written.Find("torch_dtype"); dtype != nullptr && out.Find("dtype") != nullptr) out.Set("dtype", *dtype);
  if (const json::Value* experts = written.Find("num_experts"); experts != nullptr && out.Find("num_local_experts") != nullptr) out.Set("num_local_experts", *experts);
  return out;
}

// What is corrected whatever the template says.
void ApplyCorrections(const Facts& facts, DType dtype, ModelConfig& out) {
  out.vocab = facts.vocab_size;
  out.dtype = TorchName(dtype);
  out.mtp_layers = 0;
  out.labels = facts.architecture.head == Head::kCausalLm ? 0 : 1;  // score.weight has one row
}

WrittenConfig Derive(const Facts& facts, const SavedArgs& args, DType dtype, const plan::SplitStep& step) {
  if (!args.exist()) {
    throw InputError("split.no_arguments", "the checkpoint carries no arguments, so config.json cannot be derived: give --config a directory that has one");
  }
  ModelConfig config = Blank(facts.architecture);
  ApplyTensors(facts, step, config);
  ApplyArguments(args, config);
  ApplyDefaults(args, config);
  ApplyCorrections(facts, dtype, config);
  return {.text = ConfigText(WriteConfig(config)), .notes = {"config.json is derived from the checkpoint: token ids have the defaults of the class"}};
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
  if (!config) return Derive(facts, args, dtype, step);
  WrittenConfig out;
  ModelConfig model = ReadConfig(config->root, ClassName(facts.architecture));
  const json::Object stated = WriteConfig(model);
  ApplyTensors(facts, step, model);
  const json::Object by_tensors = WriteConfig(model);
  const std::vector<Difference> contradictions = Compare(stated, by_tensors);
  if (!contradictions.empty() && step.config_from != ConfigFrom::kCheckpoint) {
    throw InputError("split.config_contradiction", Cat(config->path, " does not fit the checkpoint: ", Contradictions(contradictions),
                                                       step.config_from ? ", which cannot follow it" : "; --config-from checkpoint or --config-from template says which wins"));
  }
  AddNotes(contradictions, out.notes);
  ModelConfig by_arguments = model;
  ApplyArguments(args, by_arguments);
  const std::vector<Difference> differences = Compare(by_tensors, WriteConfig(by_arguments));
  if (step.config_from == ConfigFrom::kTemplate) {
    for (const Difference& d : differences) out.notes.push_back(Cat("config.json: ", d.name, " ", d.from, " of the template is kept; the checkpoint's arguments say ", d.to));
  } else {
    AddNotes(differences, out.notes);
    model = by_arguments;
  }
  const json::Object before = WriteConfig(model);
  ApplyCorrections(facts, dtype, model);
  const json::Object written = WriteConfig(model);
  AddNotes(Compare(before, written), out.notes);
  out.text = ConfigText(Overlay(config->root, stated, written));
  return out;
}

}  // namespace ck::huggingface
