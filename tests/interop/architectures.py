"""Architectures that Megatron-Core (on a CPU) and transformers both compute: how each of them is told to build the same model."""

import dataclasses

import torch

import by_hand
from megatron_cpu import POSITIONS, ROTARY_BASE, VOCABULARY, squared_relu
from sources import Model


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A transformers class with its config.json, and the Megatron model that computes the same."""
    name: str
    model: Model
    config: dict = dataclasses.field(hash=False)

    def convert(self, state):
        """The tensors that transformers wants, of a state of the Megatron model."""
        return by_hand.hugging_face(state, self.config_json(), dict(self.model.settings).get("layernorm_zero_centered_gamma", False))

    def config_json(self):
        """In the spelling that transformers 4 and 5 both read."""
        common = dict(architectures=[self.name], hidden_size=16, intermediate_size=10, num_hidden_layers=self.model.layers, num_attention_heads=4,
                      num_key_value_heads=2, hidden_act="silu", rms_norm_eps=1e-6, max_position_embeddings=POSITIONS,
                      vocab_size=VOCABULARY - 1, rope_theta=float(ROTARY_BASE), tie_word_embeddings=self.model.tied, torch_dtype="float32",
                      bos_token_id=1, eos_token_id=2, pad_token_id=0)
        return {name: value for name, value in {**common, **self.config}.items() if value is not None}


def _model(name, settings=(), **more):
    return Model(name, torch.float32, settings=tuple(dict(settings).items()), **more)


SOFTMAX_ROUTER = dict(moe_router_score_function="softmax", moe_router_enable_expert_bias=False)
PLAIN = dict(normalization="LayerNorm", add_bias_linear=True, gated_linear_unit=False, activation_func=torch.nn.functional.gelu)
NEMOTRON = dict(normalization="LayerNorm", gated_linear_unit=False, activation_func=squared_relu)
NEMOTRON_CONFIG = dict(model_type="nemotron", head_dim=6, hidden_act="relu2", norm_eps=1e-6, rms_norm_eps=None, partial_rotary_factor=1.0,
                       attention_bias=False, mlp_bias=False)

ARCHITECTURES = [
    Architecture("LlamaForCausalLM", _model("llama"), dict(model_type="llama", head_dim=6, attention_bias=False, mlp_bias=False)),
    Architecture("LlamaForCausalLM", _model("llama_tied_per_layer", tied=True, per_layer=True, layers=3),
                 dict(model_type="llama", head_dim=6, attention_bias=False, mlp_bias=False)),
    Architecture("MistralForCausalLM", _model("mistral"), dict(model_type="mistral", head_dim=6)),
    Architecture("Qwen2ForCausalLM", _model("qwen2", dict(add_qkv_bias=True)), dict(model_type="qwen2", head_dim=6)),
    Architecture("Qwen2ForCausalLM", _model("qwen2_tied", dict(add_qkv_bias=True, kv_channels=4), tied=True), dict(model_type="qwen2")),
    Architecture("Qwen3ForCausalLM", _model("qwen3", dict(qk_layernorm=True)), dict(model_type="qwen3", head_dim=6, attention_bias=False)),
    Architecture("Qwen2MoeForCausalLM",
                 _model("qwen2_moe", dict(add_qkv_bias=True, moe_router_pre_softmax=True, moe_shared_expert_intermediate_size=14,
                                          moe_shared_expert_gate=True, **SOFTMAX_ROUTER), experts=3),
                 dict(model_type="qwen2_moe", head_dim=6, qkv_bias=True, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=10,
                      shared_expert_intermediate_size=14, norm_topk_prob=False, decoder_sparse_step=1, mlp_only_layers=[])),
    Architecture("Qwen3MoeForCausalLM", _model("qwen3_moe", dict(qk_layernorm=True, **SOFTMAX_ROUTER), experts=3),
                 dict(model_type="qwen3_moe", head_dim=6, attention_bias=False, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=10,
                      norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[])),
    Architecture("Qwen3MoeForCausalLM", _model("qwen3_moe_mixed", dict(qk_layernorm=True, ffn_hidden_size=12, **SOFTMAX_ROUTER), experts=3, layers=3, moe_layers=(1, 0, 1)),
                 dict(model_type="qwen3_moe", head_dim=6, attention_bias=False, intermediate_size=12, num_experts=3, num_experts_per_tok=2,
                      moe_intermediate_size=10, norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[1])),
    Architecture("MixtralForCausalLM", _model("mixtral", SOFTMAX_ROUTER, experts=3),
                 dict(model_type="mixtral", head_dim=6, num_local_experts=3, num_experts_per_tok=2)),
    Architecture("NemotronForCausalLM", _model("nemotron", dict(NEMOTRON, layernorm_zero_centered_gamma=True)), NEMOTRON_CONFIG),
    Architecture("NemotronForCausalLM", _model("nemotron_plain_norms", NEMOTRON), NEMOTRON_CONFIG),
    Architecture("DeepseekV3ForCausalLM",
                 _model("deepseek_v3", dict(multi_latent_attention=True, qk_layernorm=True, q_lora_rank=11, kv_lora_rank=9, qk_head_dim=8,
                                            qk_pos_emb_head_dim=4, v_head_dim=7, ffn_hidden_size=14, moe_shared_expert_intermediate_size=20,
                                            moe_router_topk_scaling_factor=1.5), experts=4, layers=3, moe_layers=(0, 1, 1)),
                 dict(model_type="deepseek_v3", num_key_value_heads=4, intermediate_size=14, q_lora_rank=11, kv_lora_rank=9,
                      qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=7, attention_bias=False, n_routed_experts=4, n_shared_experts=2,
                      num_experts_per_tok=2, moe_intermediate_size=10, first_k_dense_replace=1, n_group=1, topk_group=1,
                      norm_topk_prob=True, routed_scaling_factor=1.5, scoring_func="sigmoid", topk_method="noaux_tc",
                      rope_interleave=True, num_nextn_predict_layers=0)),
    Architecture("Glm4MoeForCausalLM",
                 _model("glm4_moe", dict(qk_layernorm=True, add_qkv_bias=True, ffn_hidden_size=14, moe_shared_expert_intermediate_size=10,
                                         moe_router_topk_scaling_factor=1.5), experts=4, layers=3, moe_layers=(0, 1, 1)),
                 dict(model_type="glm4_moe", head_dim=6, intermediate_size=14, attention_bias=True, use_qk_norm=True, n_routed_experts=4, n_shared_experts=1,
                      num_experts_per_tok=2, moe_intermediate_size=10, first_k_dense_replace=1, n_group=1, topk_group=1, norm_topk_prob=True,
                      routed_scaling_factor=1.5, partial_rotary_factor=1.0, num_nextn_predict_layers=0)),
    Architecture("Phi3ForCausalLM", _model("phi3", dict(kv_channels=4)),
                 dict(model_type="phi3", sliding_window=None, original_max_position_embeddings=POSITIONS, partial_rotary_factor=1.0)),
    Architecture("Starcoder2ForCausalLM", _model("starcoder2", dict(kv_channels=4, **PLAIN), tied=True),
                 dict(model_type="starcoder2", hidden_act="gelu", norm_epsilon=1e-6, rms_norm_eps=None, use_bias=True)),
    Architecture("GPTNeoXForCausalLM", _model("gpt_neox", dict(kv_channels=4, num_query_groups=4, **PLAIN)),
                 dict(model_type="gpt_neox", hidden_act="gelu", layer_norm_eps=1e-6, rms_norm_eps=None, num_key_value_heads=None, rotary_pct=1.0,
                      rotary_emb_base=ROTARY_BASE, use_parallel_residual=False, attention_bias=True)),
]
ARCHITECTURES += [dataclasses.replace(architecture, model=dataclasses.replace(architecture.model, name=f"{architecture.model.name}_engine_names", engine_names=True))
                  for architecture in ARCHITECTURES if architecture.model.name in ("qwen2_moe", "qwen3_moe_mixed", "deepseek_v3")]
BY_NAME = {architecture.model.name: architecture for architecture in ARCHITECTURES}
