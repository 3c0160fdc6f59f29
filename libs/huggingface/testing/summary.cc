#include "libs/huggingface/testing/summary.h"

#include "libs/base/text.h"

namespace ck::huggingface {
namespace {

std::string Layers(const ModelConfig& model) {
  std::string out;
  for (uint64_t i = 0; i < model.layer_count(); ++i) {
    const char symbol = "FSLM*-E"[static_cast<size_t>(model.layers[i])];
    const bool expert = model.HasExperts(i) && symbol != 'E';
    out += expert ? static_cast<char>(symbol - 'A' + 'a') : symbol;
  }
  return out;
}

std::string RopeText(const Rope& rope) {
  std::string out = FormatDouble(rope.theta);
  if (rope.partial_factor != 1) out += Cat("*", FormatDouble(rope.partial_factor));
  const RopeScaling& s = rope.scaling;
  if (s.kind == RopeKind::kDefault) return out;
  static constexpr const char* kNames[] = {"default", "linear", "dynamic", "yarn", "llama3", "longrope"};
  out += Cat(",", kNames[static_cast<size_t>(s.kind)]);
  for (const auto& [name, value] : {std::pair{"x", s.factor},
                                    {"lo", s.low_freq_factor},
                                    {"hi", s.high_freq_factor},
                                    {"bf", s.beta_fast},
                                    {"bs", s.beta_slow},
                                    {"m", s.mscale},
                                    {"ma", s.mscale_all_dim},
                                    {"af", s.attention_factor}}) {
    if (value) out += Cat(",", name, FormatDouble(*value));
  }
  if (s.original_max_positions) out += Cat(",o", *s.original_max_positions);
  if (s.truncate) out += *s.truncate ? ",cut" : ",uncut";
  for (const double number : s.short_factor) out += Cat(",", FormatDouble(number));
  for (const double number : s.long_factor) out += Cat("/", FormatDouble(number));
  return out;
}

std::string ExpertsText(const Experts& e) {
  std::string out = Cat(" moe(", e.per_token, "of", e.count, " w", e.width);
  if (e.shared_width != 0) out += Cat(" s", e.shared_width, e.shared_gate ? "g" : "");
  if (e.shared_count != 0) out += Cat(" n", e.shared_count);
  out += Cat(e.sigmoid ? " sigmoid" : " softmax", e.correction_bias ? "+b" : "", e.normalize ? "/sum" : "");
  if (e.groups != 1) out += Cat(" g", e.groups_per_token, "of", e.groups);
  if (e.scaling_factor != 1) out += Cat(" *", FormatDouble(e.scaling_factor));
  if (e.latent_width) out += Cat(" latent", *e.latent_width);
  if (!e.topk_method.empty()) out += Cat(" ", e.topk_method);
  return out + ")";
}

}  // namespace

std::string Summary(const ModelConfig& m) {
  static constexpr const char* kActivations[] = {"silu", "gelu", "tanh", "relu2", "clamped"};
  std::string out = Cat(Layers(m), " ", m.hidden, " ffn", m.ffn, " ", m.heads, "/", m.kv_heads, "x", m.head_dim, " ",
                        m.vocab, " ", kActivations[static_cast<size_t>(m.activation)], " ", FormatDouble(m.norm_eps));
  if (m.tied) out += " tied";
  const Biases& b = m.biases;
  const std::string biases =
      Cat(b.qkv ? "q" : "", b.attention_out ? "o" : "", b.mlp ? "m" : "", b.mamba ? "p" : "", b.conv ? "c" : "");
  if (!biases.empty()) out += Cat(" bias(", biases, ")");
  if (m.qk_norm != QkNorm::kNone) out += m.qk_norm == QkNorm::kHead ? " qk" : " qkfull";
  if (m.rope) out += Cat(" rope(", RopeText(*m.rope), ")");
  if (m.local_rope) out += Cat(" local(", RopeText(*m.local_rope), ")");
  if (m.sliding_window) out += Cat(" win", *m.sliding_window);
  if (m.experts) out += ExpertsText(*m.experts);
  if (m.mla)
    out += Cat(" mla(", m.mla->q_rank ? Cat(*m.mla->q_rank) : "-", " ", m.mla->kv_rank, " ", m.mla->nope_dim, " ",
               m.mla->rope_dim, " ", m.mla->value_dim, ")");
  if (m.mamba)
    out += Cat(" mamba(", m.mamba->heads, "x", m.mamba->head_dim, " ", m.mamba->groups, "x", m.mamba->state, " ",
               m.mamba->conv_taps, " ", m.mamba->chunk_size, ")");
  if (m.gdn)
    out += Cat(" gdn(", m.gdn->key_heads, "x", m.gdn->key_dim, " ", m.gdn->value_heads, "x", m.gdn->value_dim, " ",
               m.gdn->conv_taps, ")");
  if (m.query_pre_attn_scalar) out += Cat(" scalar", FormatDouble(*m.query_pre_attn_scalar));
  if (m.attention_softcap) out += Cat(" cap", FormatDouble(*m.attention_softcap));
  if (m.final_softcap) out += Cat(" fcap", FormatDouble(*m.final_softcap));
  if (m.mtp_layers != 0) out += Cat(" mtp", m.mtp_layers);
  if (m.labels != 0) out += Cat(" labels", m.labels);
  return out + Cat(" ", m.dtype);
}

}  // namespace ck::huggingface
