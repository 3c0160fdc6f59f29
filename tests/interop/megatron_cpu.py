"""Megatron-Core without a GPU: builds small GPT models, saves them as Megatron does, loads checkpoints back strictly.

Nothing of Megatron is replaced but the calls that only a GPU answers. A program that imports this must guard its
entry with `if __name__ == "__main__":`, for saving may start worker processes that import it again.
"""

import contextlib
import dataclasses
import functools
import os
import warnings
import zlib

os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # Megatron compiles small functions on import; a CPU gains nothing
warnings.filterwarnings("ignore", message=".*(Apex|absl|Transformer Engine).*")

import torch
import torch.distributed as dist

# Megatron asks for the current device while it builds a model, and synchronises around saving.
torch.cuda.current_device = lambda: torch.device("cpu")
torch.cuda.synchronize = lambda *args, **kwargs: None

from megatron.core import dist_checkpointing, parallel_state
from megatron.core.activations import squared_relu
from megatron.core.dist_checkpointing.dict_utils import nested_values
from megatron.core.dist_checkpointing.mapping import ShardedObject, ShardedTensor, apply_factories
from megatron.core.dist_checkpointing.validation import StrictHandling
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec, get_gpt_layer_local_spec
from megatron.core.tensor_parallel import random as tensor_parallel_random
from megatron.core.transformer import MLATransformerConfig, TransformerConfig
from megatron.core.transformer.moe.moe_layer import MoELayer

tensor_parallel_random.CudaRNGStatesTracker.fork = lambda self, name="": contextlib.nullcontext()


def start(rank=0, world=1, store=None, tensor_parallel=1, pipeline_parallel=1):
    """Joins `world` gloo processes that share the file `store` (one process needs none) and lays out the model over them."""
    if not dist.is_initialized():
        meeting = dist.FileStore(store, world) if store else dist.HashStore()
        dist.init_process_group("gloo", store=meeting, rank=rank, world_size=world)
    parallel_state.destroy_model_parallel()
    parallel_state.initialize_model_parallel(tensor_parallel, pipeline_parallel)


# Every dimension differs from every other one, so that no permutation can hide:
# hidden 16, q rows 24 (4 heads of 6), qkv rows 48 (2 groups), ffn 10 (fc1 20), vocabulary 26, expert count 3.
VOCABULARY = 26
POSITIONS = 64
ROTARY_BASE = 10000


def config(dtype, layers=2, experts=None, moe_layers=1, **more):
    """Llama-like: RMSNorm, gated SiLU, grouped queries, no biases; with experts a sigmoid router that has an fp32 bias.

    `more` are fields of Megatron's config that differ from that; `multi_latent_attention` gives the config class of its own.
    """
    moe = {}
    if experts:
        moe = dict(num_moe_experts=experts, moe_router_topk=2, moe_ffn_hidden_size=10, moe_layer_freq=list(moe_layers) if isinstance(moe_layers, tuple) else moe_layers,
                   moe_token_dispatcher_type="allgather", moe_router_score_function="sigmoid",
                   moe_router_enable_expert_bias=True, moe_router_dtype="fp32")
    kind = MLATransformerConfig if more.get("multi_latent_attention") else TransformerConfig
    if kind is MLATransformerConfig:
        more = {**dict(num_query_groups=None, kv_channels=None, rope_type="rope", rotary_base=ROTARY_BASE), **more}
    return kind(**{**dict(
        num_layers=layers, hidden_size=16, num_attention_heads=4, num_query_groups=2, kv_channels=6, ffn_hidden_size=10,
        normalization="RMSNorm", layernorm_epsilon=1e-6, gated_linear_unit=True,
        activation_func=torch.nn.functional.silu, add_bias_linear=False, hidden_dropout=0.0, attention_dropout=0.0,
        use_cpu_initialization=True, params_dtype=dtype, pipeline_dtype=dtype, bf16=dtype == torch.bfloat16,
        fp16=dtype == torch.float16, gradient_accumulation_fusion=False, bias_activation_fusion=False,
        masked_softmax_fusion=False, apply_rope_fusion=False, bias_dropout_fusion=False,
        tensor_model_parallel_size=parallel_state.get_tensor_model_parallel_world_size(),
        pipeline_model_parallel_size=parallel_state.get_pipeline_model_parallel_world_size()), **moe, **more})


class LatentAttention(torch.nn.Module):
    """Causal attention whose values are not as wide as its keys, which Megatron leaves to Transformer Engine."""

    def __init__(self, config, layer_number, attn_mask_type=None, attention_type=None, softmax_scale=None, k_channels=None, **others):
        super().__init__()
        self.scale = softmax_scale or (k_channels or 1) ** -0.5  # Megatron builds one without widths first and drops it

    def forward(self, query, key, value, attention_mask, **others):
        query, key, value = (tensor.permute(1, 2, 0, 3) for tensor in (query, key, value))  # batch, head, place, channel
        scores = (query @ key.transpose(-1, -2) * self.scale).masked_fill(causal_mask(query.shape[2]), float("-inf"))
        return (scores.softmax(-1) @ value).permute(2, 0, 1, 3).flatten(2)


def causal_mask(places):
    """What must not be seen, as Megatron wants it: [1, 1, places, places]."""
    return torch.triu(torch.ones(1, 1, places, places, dtype=torch.bool), diagonal=1)


def layer_spec(settings, experts):
    """One layer of Megatron's own modules (no Transformer Engine)."""
    spec = get_gpt_layer_local_spec(num_experts=experts, moe_grouped_gemm=False, qk_layernorm=settings.qk_layernorm,
                                    multi_latent_attention=settings.multi_latent_attention, normalization=settings.normalization)
    if settings.multi_latent_attention:
        spec.submodules.self_attention.submodules.core_attention = LatentAttention
    return spec


def model(settings, tied=False, engine_names=False, vocabulary=VOCABULARY, rotary_base=ROTARY_BASE, **more):
    """This rank's part of a GPT, in the dtype of `settings` except router biases, which Megatron keeps in fp32.

    `engine_names`: it is stored under the names of Transformer Engine. `more` is handed to GPTModel.
    """
    zero_centred = settings.layernorm_zero_centered_gamma
    settings.layernorm_zero_centered_gamma = False  # no norm of Megatron's own has it
    if isinstance(settings.moe_layer_freq, list):
        spec = get_gpt_decoder_block_spec(settings, use_transformer_engine=False, normalization=settings.normalization)
        if settings.multi_latent_attention:
            for layer in spec.layer_specs:
                layer.submodules.self_attention.submodules.core_attention = LatentAttention
    else:
        spec = layer_spec(settings, settings.num_moe_experts)
    gpt = GPTModel(settings, spec, vocabulary, max_sequence_length=POSITIONS, position_embedding_type="rope",
                   rotary_base=rotary_base, share_embeddings_and_output_weights=tied,
                   pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(), **more)
    settings.layernorm_zero_centered_gamma = zero_centred
    if zero_centred:
        for norm in [module for module in gpt.modules() if isinstance(module, (torch.nn.LayerNorm, torch.nn.RMSNorm))]:
            _zero_centre(norm)
    if engine_names:
        for layer in gpt.decoder.layers:
            layer.submodules_config = dataclasses.replace(layer.submodules_config, sharded_state_dict_keys_map=_engine_names(layer))
    return finish(gpt)


def _zero_centre(norm):
    """Makes a norm multiply by 1 + weight, as Transformer Engine's can."""
    def forward(x):
        if isinstance(norm, torch.nn.RMSNorm):
            return torch.nn.functional.rms_norm(x, norm.normalized_shape, 1 + norm.weight, norm.eps)
        return torch.nn.functional.layer_norm(x, norm.normalized_shape, 1 + norm.weight, norm.bias, norm.eps)
    norm.forward = forward


def _engine_names(layer):
    """Transformer Engine fuses a norm with the linear after it and names it so; the norm of experts has no such linear."""
    if layer.config.multi_latent_attention:
        names = {f"self_attention.{part}_layernorm.": f"self_attention.linear_{part}_up_proj.layer_norm_" for part in ("q", "kv")}
    else:
        names = {"input_layernorm.": "self_attention.linear_qkv.layer_norm_"}
    return names if isinstance(layer.mlp, MoELayer) else {**names, "pre_mlp_layernorm.": "mlp.linear_fc1.layer_norm_"}


def model_of(args, dtype=torch.float32):
    """The GPT that training builds when it has nothing but a checkpoint's arguments."""
    latent = args.multi_latent_attention
    machine = ("params_dtype", "pipeline_dtype", "bf16", "fp16", "moe_token_dispatcher_type", "moe_grouped_gemm", "num_layers")
    names = [field.name for field in dataclasses.fields(MLATransformerConfig if latent else TransformerConfig)]
    same = {name: getattr(args, name) for name in names
            if getattr(args, name, None) is not None and name not in machine and not name.endswith("parallel_size")}
    groups = args.num_query_groups if args.group_query_attention else args.num_attention_heads
    gelu = functools.partial(torch.nn.functional.gelu, approximate="tanh") if getattr(args, "openai_gelu", False) else torch.nn.functional.gelu
    activation = torch.nn.functional.silu if args.swiglu else squared_relu if args.squared_relu else gelu
    settings = config(dtype, args.num_layers, **{
        **same, "num_moe_experts": args.num_experts, "gated_linear_unit": args.swiglu, "activation_func": activation,
        "layernorm_epsilon": args.layernorm_epsilon if hasattr(args, "layernorm_epsilon") else args.norm_epsilon,
        "moe_token_dispatcher_type": "allgather", **({} if latent else {"num_query_groups": groups})})
    return model(settings, not args.untie_embeddings_and_output_weights, vocabulary=args.padded_vocab_size,
                 rotary_base=args.rotary_base, rotary_percent=args.rotary_percent, rope_scaling=getattr(args, "use_rope_scaling", False),
                 rope_scaling_factor=getattr(args, "rope_scaling_factor", 8.0))


def finish(built):
    """Brings a model into the dtype of its config as training does: everything but router biases."""
    built.eval().to(built.config.params_dtype)
    for name, buffer in built.named_buffers():
        if name.endswith("expert_bias"):
            buffer.data = buffer.data.float()
    return built


def tokens(batch=2, places=7):
    """A batch that is always the same, without padded words."""
    return torch.randint(0, VOCABULARY - 1, (batch, places), generator=torch.Generator().manual_seed(7))


def logits(built, batch):
    """What the model says, in fp32: [batch, place, padded vocabulary]."""
    places = batch.shape[1]
    with torch.no_grad():
        return built(batch, torch.arange(places).expand_as(batch), causal_mask(places)).float()


def sharded(gpt, per_layer=False):
    """What Megatron would save of this rank's part: keys, global shapes, offsets and the tensors themselves."""
    return gpt.sharded_state_dict(metadata={"non_homogeneous_layers": True} if per_layer else {})


def label_extra_states(state, seed):
    """Gives every `_extra_state` object other content, a uint8 tensor as Transformer Engine has, so that its source shows."""
    for value in nested_values(state):
        if isinstance(value, ShardedObject) and "_extra_state" in value.key:
            value.data = torch.tensor(list(f"{value.unique_key} of {seed}".encode()), dtype=torch.uint8)
    return state


def shards(state):
    """Every sharded tensor in a sharded state dict, with the factories (gated fc1) taken apart."""
    apply_factories(state)
    return [value for value in nested_values(state) if isinstance(value, ShardedTensor)]


def fill(state, seed):
    """Gives every stored element a random value that depends on its key, its place and `seed`, never on the cut over ranks."""
    for shard in shards(state):
        everything = torch.Generator().manual_seed(zlib.crc32(shard.key.encode()) + seed)
        values = 0.5 * torch.randn(shard.global_shape, generator=everything)
        if "norm" in shard.key:
            values = 1 + 0.1 * values
        with torch.no_grad():
            shard.data.copy_(values[shard.global_slice()].reshape(shard.data.shape))


def put(built, state, per_layer=False):
    """Gives a model the values of a whole state, {key: tensor}; every stored element of the model must be in it."""
    for shard in shards(sharded(built, per_layer)):
        with torch.no_grad():
            shard.data.copy_(state[shard.key][shard.global_slice()].reshape(shard.data.shape))
    return built


def arguments(settings, iteration, tied=False, **more):
    """An argument Namespace as training code stores it: plain values, enums, dtypes, a Size, a signal, a numpy array.

    Only what Megatron takes back from a `common.pt`: it refuses numpy scalars there, though not in embedded common state.
    Most arguments have the name of the config's field; those of the model that have another name are listed here.
    """
    import argparse
    import signal
    import types
    import numpy
    from megatron.core.enums import ModelType
    from megatron.core.transformer.enums import AttnBackend
    of_model = ("moe_", "mamba_", "num_", "q_lora", "kv_lora", "qk_", "v_head", "rope_", "rotary_", "mscale", "beta_",
                "original_max", "window_", "softmax_type", "attention_output_gate", "layernorm_zero")
    same_name = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings) if field.name.startswith(of_model)}
    plain = {name: value for name, value in same_name.items() if isinstance(value, (int, float, bool, str, list, tuple, type(None)))}
    return argparse.Namespace(**{**plain, **dict(
        num_layers=settings.num_layers, hidden_size=settings.hidden_size, ffn_hidden_size=settings.ffn_hidden_size,
        num_attention_heads=settings.num_attention_heads, group_query_attention=settings.num_query_groups != settings.num_attention_heads,
        num_query_groups=settings.num_query_groups, kv_channels=settings.kv_channels, normalization=settings.normalization,
        norm_epsilon=settings.layernorm_epsilon, swiglu=settings.gated_linear_unit,
        squared_relu=settings.activation_func is squared_relu, add_bias_linear=settings.add_bias_linear,
        add_qkv_bias=settings.add_qkv_bias, qk_layernorm=settings.qk_layernorm, position_embedding_type="rope",
        rotary_base=ROTARY_BASE, rotary_percent=1.0, max_position_embeddings=POSITIONS, seq_length=POSITIONS,
        vocab_size=VOCABULARY - 1, padded_vocab_size=VOCABULARY, make_vocab_size_divisible_by=2,
        untie_embeddings_and_output_weights=not tied, num_experts=settings.num_moe_experts,
        moe_layer_freq=settings.moe_layer_freq, multi_latent_attention=settings.multi_latent_attention, mtp_num_layers=None,
        heterogeneous_layers_config_path=None, experimental_attention_variant=None, linear_attention_freq=None,
        tensor_model_parallel_size=parallel_state.get_tensor_model_parallel_world_size(),
        pipeline_model_parallel_size=parallel_state.get_pipeline_model_parallel_world_size(), expert_model_parallel_size=1,
        model_type=ModelType.encoder_or_decoder, attention_backend=AttnBackend.auto, params_dtype=settings.params_dtype,
        bf16=settings.bf16, fp16=settings.fp16, iteration=iteration, consumed_train_samples=iteration * 8,
        train_iters=5000, train_samples=None, lr=3e-4, data_path=["corpus.bin", 0.75], ckpt_format="torch_dist",
        sample_shape=torch.Size([2, 7]), exit_signal=signal.SIGTERM, tokenizer=types.SimpleNamespace(kind="none", size=25),
        shuffle_seed=numpy.array([31], dtype=numpy.uint32)), **more})


def save(path, state, iteration, args, integrity=False, **common):
    """`dist_checkpointing.save` of a sharded model state with the common state of a training run beside it."""
    if dist.get_rank() == 0:
        os.makedirs(path)
    dist.barrier()
    dist_checkpointing.save({"model": state, "iteration": iteration, "args": args, "checkpoint_version": 3.0, **common},
                            path, verify_integrity=integrity)


def load_common(path):
    """What is stored beside the tensors: args, iteration, ..."""
    return dist_checkpointing.load_common_state_dict(path)


def load_strictly(path, gpt, per_layer=False, extra=None, extra_states=True):
    """Loads with Megatron's loader into `gpt` (or a hybrid) and the sharded entries `extra`; raises when a key is missing or not asked for.

    Without `extra_states`, those may be missing or too many, and nothing else.
    Gives the pieces that this rank now holds, {key: [(place in the whole, tensor)]}, and the common state.
    """
    extra = extra or {}
    wanted = {"model": {**sharded(gpt, per_layer), **extra}}
    if extra_states:
        loaded = dist_checkpointing.load(wanted, path, strict=StrictHandling.RAISE_ALL)
    else:
        loaded, *mismatched = dist_checkpointing.load(wanted, path, strict=StrictHandling.RETURN_ALL)
        wrong = [key for keys in mismatched for key in keys if "_extra_state" not in key and not key.startswith("common_state")]
        if wrong:
            raise RuntimeError(f"missing or not asked for: {wrong}")
    weights = dict(loaded["model"])
    pieces = {}
    for name, entry in extra.items():
        pieces[entry.key] = [(entry.global_slice(), weights.pop(name))]
    lacking = gpt.load_state_dict(weights, strict=extra_states)
    if any(not name.endswith("_extra_state") for names in lacking for name in names):
        raise RuntimeError(f"{lacking}")
    for shard in shards(sharded(gpt, per_layer)):
        pieces.setdefault(shard.key, []).append((shard.global_slice(), shard.data))
    return pieces, {name: value for name, value in loaded.items() if name != "model"}
