#include <cmath>

#include "libs/base/text.h"
#include "libs/huggingface/config.h"
#include "libs/huggingface/fields.h"
#include "libs/huggingface/read_parts.h"
#include "libs/huggingface/rope_config.h"

namespace ck::huggingface {
namespace {

Architecture ReadArchitecture(const Fields& config, std::optional<std::string_view> given) {
  std::vector<std::string> names = config.Strings("architectures");
  if (!given && names.empty()) {
    throw InputError("huggingface.config_missing",
                     Cat(config.Named("architectures"), " is missing; name the class with --architecture"));
  }
  const Architecture out = ParseArchitecture(given ? *given : std::string_view(names.front()));
  const auto type = config.String("model_type");
  if (type && *type != RowOf(out.family).model_type) {
    throw InputError("huggingface.config_conflict",
                     Cat(config.Named("model_type"), " is ", Quote(*type), ", ", Quote(ClassName(out)), " has ",
                         Quote(RowOf(out.family).model_type)));
  }
  return out;
}

void ReadAttention(const Fields& config, ModelConfig& model) {
  const Family family = model.architecture.family;
  const FamilyRow& row = model.row();
  if (family == Family::kMamba2) return;
  model.heads = config.Size("num_attention_heads");
  const auto kv = [&](std::string_view name) -> uint64_t {
    if (config.Find(name) != nullptr) return config.Size(name);
    // null, or a file from before grouped queries, means one group a head; where the class's own default is another
    // number, absence is not guessed.
    const bool old = family == Family::kLlama || family == Family::kPhi3 || family == Family::kNemotron ||
                     family == Family::kOlmo2 || family == Family::kOlmoe;
    if (!config.Present(name) && !old) throw config.Missing(name);
    return model.heads;
  };
  switch (family) {
    case Family::kDeepseekV2:
    case Family::kDeepseekV3:
    case Family::kGptNeox:
      model.kv_heads = model.heads;
      break;
    case Family::kFalcon:
      model.new_decoder_architecture = config.Bool("new_decoder_architecture").value_or(false);
      if (model.new_decoder_architecture) {
        model.kv_heads = config.Uint("num_kv_heads").value_or(model.heads);
      } else {
        model.kv_heads = config.Bool("multi_query").value_or(true) ? 1 : model.heads;
      }
      break;
    default:
      model.kv_heads = kv("num_key_value_heads");
  }
  if (model.kv_heads == 0 || model.heads % model.kv_heads != 0) {
    throw InputError("huggingface.config_range", Cat(config.Named("num_attention_heads"), " is ", model.heads,
                                                     ", no multiple of the ", model.kv_heads, " key-value heads"));
  }
  if (family == Family::kDeepseekV2 || family == Family::kDeepseekV3) {
    model.head_dim = config.Size("qk_rope_head_dim");
    return;
  }
  auto given = config.Uint("head_dim");
  if (!given && family == Family::kNemotronH) given = config.Uint("attention_head_dim");
  if (!given && row.default_head_dim != 0 && !config.Present("head_dim")) given = row.default_head_dim;
  const uint64_t quotient = model.hidden % model.heads == 0 ? model.hidden / model.heads : 0;
  if (row.head_dim == HeadDimField::kNone && given && *given != quotient)
    throw config.Wrong("head_dim", "hidden_size / num_attention_heads, as the class takes it");
  model.head_dim = given.value_or(quotient);
  if (model.head_dim == 0) throw config.Missing("head_dim");
}

void ReadBiases(const Fields& config, ModelConfig& model) {
  const BiasFields& fields = model.row().bias;
  const auto read = [&](std::string_view name, bool missing) {
    return name.empty() ? missing : config.Bool(name).value_or(missing);
  };
  model.biases.qkv = read(fields.attention, fields.attention_default);
  model.biases.attention_out = fields.covers_out && model.biases.qkv;
  model.biases.mlp = read(fields.mlp, fields.mlp_default);
  if (!model.mamba) return;
  model.biases.mamba = config.Bool("use_bias").value_or(false);
  model.biases.conv = config.Bool("use_conv_bias").value_or(true);
}

Activation ReadActivation(const Fields& config, const ModelConfig& model) {
  const Family family = model.architecture.family;
  if (family == Family::kGptOss) return Activation::kClampedSwiglu;
  std::string name = config.String(model.row().activation).value_or(std::string(model.row().default_activation));
  // Gemma's first files say gelu in hidden_act and mean the approximation.
  if (family == Family::kGemma && config.Find("hidden_activation") == nullptr &&
      config.String("hidden_act").value_or("gelu") != "gelu") {
    name = *config.String("hidden_act");
  }
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new") return Activation::kGeluTanh;
  if (name == "relu2") return Activation::kRelu2;
  throw InputError("huggingface.config_unsupported", Cat(config.Named(model.row().activation), " is ", Quote(name),
                                                         ", expected silu, gelu, gelu_pytorch_tanh or relu2"));
}

uint64_t ReadFfn(const Fields& config, const ModelConfig& model) {
  switch (model.architecture.family) {
    case Family::kMamba2:
      return 0;
    case Family::kFalcon:
      return config.Uint("ffn_hidden_size").value_or(4 * model.hidden);
    default:
      return config.Size("intermediate_size");
  }
}

void ReadTokens(const Fields& config, ModelConfig& model) {
  model.bos_token = config.Int("bos_token_id");
  model.pad_token = config.Int("pad_token_id");
  const json::Value* eos = config.Find("eos_token_id");
  if (eos == nullptr) return;
  if (eos->AsArray() == nullptr) {
    model.eos_tokens = {*config.Int("eos_token_id")};
    return;
  }
  for (const json::Value& item : *eos->AsArray()) {
    if (!item.AsInt()) throw config.Wrong("eos_token_id", "an integer or a list of integers");
    model.eos_tokens.push_back(*item.AsInt());
  }
}

uint64_t ReadLabels(const Fields& config, Head head) {
  if (head == Head::kCausalLm) return 0;
  constexpr uint64_t kDefaultLabels = 2, kMaxLabels = 1024;  // value and reward models have one
  const auto names = config.Object("id2label");
  const auto count = config.Uint("num_labels");
  if (names && count && names->object().size() != *count) throw config.Conflict("num_labels", "id2label");
  const uint64_t labels = names ? names->object().size() : count.value_or(kDefaultLabels);
  if (labels == 0 || labels > kMaxLabels)
    throw config.Wrong(names ? "id2label" : "num_labels", Cat("1 to ", kMaxLabels, " labels"));
  return labels;
}

std::string ReadDtype(const Fields& config) {
  const std::string name = config.StringOf({"dtype", "torch_dtype"}).value_or("");
  constexpr std::string_view kPrefix = "torch.";
  return StartsWith(name, kPrefix) ? name.substr(kPrefix.size()) : name;
}

void ReadGemma(const Fields& config, ModelConfig& model) {
  const Family family = model.architecture.family;
  if (family != Family::kGemma2 && family != Family::kGemma3) return;
  constexpr double kDefaultScalar = 256, kDefaultAttentionCap = 50, kDefaultFinalCap = 30;
  model.query_pre_attn_scalar = config.Double("query_pre_attn_scalar").value_or(kDefaultScalar);
  model.attention_softcap = config.Double("attn_logit_softcapping");
  model.final_softcap = config.Double("final_logit_softcapping");
  if (family != Family::kGemma2) return;
  if (!config.Present("attn_logit_softcapping")) model.attention_softcap = kDefaultAttentionCap;
  if (!config.Present("final_logit_softcapping")) model.final_softcap = kDefaultFinalCap;
}

}  // namespace

json::Object ParseConfig(std::string_view text) {
  json::Value value = json::Parse(text, json::Extensions::kPythonNumbers);
  if (value.AsObject() == nullptr)
    throw InputError("huggingface.config_type",
                     Cat("config.json is ", json::TypeName(value.type()), ", expected an object"));
  return std::move(*value.AsObject());
}

ModelConfig ReadConfig(const json::Object& object, std::optional<std::string_view> architecture) {
  const Fields config(object);
  ModelConfig model;
  model.architecture = ReadArchitecture(config, architecture);
  const Family family = model.architecture.family;
  const FamilyRow& row = model.row();
  RefuseUnsupported(config, family);
  model.hidden = config.Size("hidden_size");
  model.vocab = config.Size("vocab_size");
  model.ffn = ReadFfn(config, model);
  model.max_positions = config.Uint("max_position_embeddings");
  model.tied = config.Bool("tie_word_embeddings").value_or(row.tied_by_default);
  // NemotronH never ties, whatever the field says; a score head is not tied either.
  if (family == Family::kNemotronH || model.architecture.head != Head::kCausalLm) model.tied = false;
  ReadAttention(config, model);
  ReadLayers(config, model);
  ReadExperts(config, model);
  ReadMixers(config, model);
  ReadBiases(config, model);
  model.norm_eps = config.Double(row.norm_eps).value_or(row.default_norm_eps);
  if (!(model.norm_eps > 0)) throw config.Wrong(row.norm_eps, "a positive number");
  model.activation = ReadActivation(config, model);
  model.qk_norm =
      family == Family::kGlm4Moe && !config.Bool("use_qk_norm").value_or(false) ? QkNorm::kNone : row.qk_norm;
  const Ropes ropes = ReadRopes(config, row);
  model.rope = ropes.rope;
  model.local_rope = ropes.local;
  ReadGemma(config, model);
  if (family == Family::kGptNeox) model.parallel_residual = config.Bool("use_parallel_residual").value_or(true);
  if (family == Family::kFalcon) model.parallel_residual = config.Bool("parallel_attn").value_or(true);
  const bool has_mtp = family == Family::kDeepseekV3 || family == Family::kGlm4Moe || family == Family::kNemotronH;
  if (has_mtp) model.mtp_layers = config.Uint("num_nextn_predict_layers").value_or(0);
  model.labels = ReadLabels(config, model.architecture.head);
  model.dtype = ReadDtype(config);
  ReadTokens(config, model);
  return model;
}

}  // namespace ck::huggingface
