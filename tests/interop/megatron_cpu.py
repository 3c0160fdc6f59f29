"""Megatron-Core without a GPU: builds small GPT models, saves them as Megatron does, loads checkpoints back strictly.

Nothing of Megatron is replaced but the calls that only a GPU answers. A program that imports this must guard its
entry with `if __name__ == "__main__":`, for saving may start worker processes that import it again.
"""

import contextlib
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
from megatron.core.dist_checkpointing.dict_utils import nested_values
from megatron.core.dist_checkpointing.mapping import ShardedObject, ShardedTensor, apply_factories
from megatron.core.dist_checkpointing.validation import StrictHandling
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec, get_gpt_layer_local_spec
from megatron.core.tensor_parallel import random as tensor_parallel_random
from megatron.core.transformer import TransformerConfig

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


def config(dtype, layers=2, experts=None, moe_layers=1, **more):
    """Llama-like: RMSNorm, gated SiLU, grouped queries, no biases; with experts a sigmoid router that has an fp32 bias."""
    moe = {}
    if experts:
        moe = dict(num_moe_experts=experts, moe_router_topk=2, moe_ffn_hidden_size=10, moe_layer_freq=list(moe_layers) if isinstance(moe_layers, tuple) else moe_layers,
                   moe_token_dispatcher_type="allgather", moe_router_score_function="sigmoid",
                   moe_router_enable_expert_bias=True, moe_router_dtype="fp32")
    return TransformerConfig(**{**dict(
        num_layers=layers, hidden_size=16, num_attention_heads=4, num_query_groups=2, kv_channels=6, ffn_hidden_size=10,
        normalization="RMSNorm", layernorm_epsilon=1e-6, gated_linear_unit=True,
        activation_func=torch.nn.functional.silu, add_bias_linear=False, hidden_dropout=0.0, attention_dropout=0.0,
        use_cpu_initialization=True, params_dtype=dtype, pipeline_dtype=dtype, bf16=dtype == torch.bfloat16,
        fp16=dtype == torch.float16, gradient_accumulation_fusion=False, bias_activation_fusion=False,
        masked_softmax_fusion=False, apply_rope_fusion=False, bias_dropout_fusion=False,
        tensor_model_parallel_size=parallel_state.get_tensor_model_parallel_world_size(),
        pipeline_model_parallel_size=parallel_state.get_pipeline_model_parallel_world_size()), **moe, **more})


def model(settings, tied=False):
    """This rank's part of a GPT, in the dtype of `settings` except router biases, which Megatron keeps in fp32."""
    if isinstance(settings.moe_layer_freq, list):
        spec = get_gpt_decoder_block_spec(settings, use_transformer_engine=False, normalization=settings.normalization)
    else:
        spec = get_gpt_layer_local_spec(num_experts=settings.num_moe_experts, moe_grouped_gemm=False,
                                        normalization=settings.normalization)
    gpt = GPTModel(settings, spec, VOCABULARY, max_sequence_length=64, position_embedding_type="rope",
                   share_embeddings_and_output_weights=tied, pre_process=parallel_state.is_pipeline_first_stage(),
                   post_process=parallel_state.is_pipeline_last_stage()).eval().to(settings.params_dtype)
    for name, buffer in gpt.named_buffers():
        if name.endswith("expert_bias"):
            buffer.data = buffer.data.float()
    return gpt


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


def arguments(settings, iteration):
    """An argument Namespace as training code stores it: plain values, enums, dtypes, a Size, a signal, a numpy array.

    Only what Megatron takes back from a `common.pt`: it refuses numpy scalars there, though not in embedded common state.
    """
    import argparse
    import signal
    import types
    import numpy
    from megatron.core.enums import ModelType
    from megatron.core.transformer.enums import AttnBackend
    return argparse.Namespace(
        num_layers=settings.num_layers, hidden_size=settings.hidden_size, ffn_hidden_size=settings.ffn_hidden_size,
        num_attention_heads=settings.num_attention_heads, group_query_attention=True,
        num_query_groups=settings.num_query_groups, kv_channels=settings.kv_channels, normalization="RMSNorm",
        norm_epsilon=settings.layernorm_epsilon, swiglu=True, add_bias_linear=False, position_embedding_type="rope",
        rotary_base=10000, rotary_percent=1.0, vocab_size=VOCABULARY - 1, padded_vocab_size=VOCABULARY,
        untie_embeddings_and_output_weights=True, num_experts=settings.num_moe_experts,
        moe_layer_freq=settings.moe_layer_freq, moe_router_topk=settings.moe_router_topk,
        moe_router_score_function=settings.moe_router_score_function,
        moe_router_enable_expert_bias=settings.moe_router_enable_expert_bias, multi_latent_attention=False,
        tensor_model_parallel_size=parallel_state.get_tensor_model_parallel_world_size(),
        pipeline_model_parallel_size=parallel_state.get_pipeline_model_parallel_world_size(),
        model_type=ModelType.encoder_or_decoder, attention_backend=AttnBackend.auto, params_dtype=settings.params_dtype,
        bf16=settings.bf16, fp16=settings.fp16, iteration=iteration, consumed_train_samples=iteration * 8,
        train_iters=5000, train_samples=None, lr=3e-4, data_path=["corpus.bin", 0.75], ckpt_format="torch_dist",
        sample_shape=torch.Size([2, 7]), exit_signal=signal.SIGTERM, tokenizer=types.SimpleNamespace(kind="none", size=25),
        shuffle_seed=numpy.array([31], dtype=numpy.uint32))


def save(path, state, iteration, args, integrity=False, **common):
    """`dist_checkpointing.save` of a sharded model state with the common state of a training run beside it."""
    if dist.get_rank() == 0:
        os.makedirs(path)
    dist.barrier()
    dist_checkpointing.save({"model": state, "iteration": iteration, "args": args, "checkpoint_version": 3.0, **common},
                            path, verify_integrity=integrity)


def load_strictly(path, gpt, per_layer=False, extra=None):
    """Loads with Megatron's loader into `gpt` and the sharded entries `extra`; raises when a key is missing or not asked for.

    Gives the pieces that this rank now holds, {key: [(place in the whole, tensor)]}, and the common state.
    """
    extra = extra or {}
    loaded = dist_checkpointing.load({"model": {**sharded(gpt, per_layer), **extra}}, path, strict=StrictHandling.RAISE_ALL)
    weights = dict(loaded["model"])
    pieces = {}
    for name, entry in extra.items():
        pieces[entry.key] = [(entry.global_slice(), weights.pop(name))]
    gpt.load_state_dict(weights, strict=True)
    for shard in shards(sharded(gpt, per_layer)):
        pieces.setdefault(shard.key, []).append((shard.global_slice(), shard.data))
    return pieces, {name: value for name, value in loaded.items() if name != "model"}
