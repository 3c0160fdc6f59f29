"""Makes checkpoints to merge, with the writers of Megatron-Core and PyTorch themselves; those of several ranks in processes of their own.

Models differ in what a merge must carry over (`MODELS`), plain DCP checkpoints in how they lie on disk (`PLAIN`).
Each is made at several iterations with values that depend on key, place and iteration.
"""

import sys
import os
import dataclasses
import multiprocessing
import pathlib
import tempfile

import torch

import compare

ITERATIONS = (100, 200, 300)


@dataclasses.dataclass(frozen=True)
class Model:
    """A Megatron-Core GPT, or a hybrid when it has a `pattern`. `settings`: pairs of a field of Megatron's config and its value.

    `engine_names`: stored under the names of Transformer Engine. `any_bits`: weights are random bit patterns (NaNs, infinities, denormals), not random numbers.
    """
    name: str
    dtype: torch.dtype
    experts: int | None = None
    moe_layers: object = 1
    per_layer: bool = False
    tied: bool = False
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    tensor_extra_state: bool = False
    any_bits: bool = False
    layers: int = 2
    settings: tuple = ()
    pattern: str | None = None
    engine_names: bool = False


MAMBA = (("mamba_state_dim", 10), ("mamba_head_dim", 8), ("mamba_num_groups", 2))  # inner size twice the hidden size, 4 heads

MODELS = [
    Model("moe_stacked_bf16", torch.bfloat16, experts=3),
    Model("moe_mixed_per_layer_bf16", torch.bfloat16, experts=3, moe_layers=(0, 1)),
    Model("dense_per_layer_fp32", torch.float32, per_layer=True, tied=True),
    Model("dense_tp2_pp2_fp16", torch.float16, tensor_parallel=2, pipeline_parallel=2),
    Model("dense_tensor_extra_state_bf16", torch.bfloat16, tensor_extra_state=True),
    Model("hybrid_mamba_bf16", torch.bfloat16, pattern="M*-M*-", settings=MAMBA),
    Model("hybrid_moe_mamba_fp32", torch.float32, experts=3, pattern="*EM", settings=MAMBA),
    Model("any_bits_bf16", torch.bfloat16, any_bits=True),
    Model("any_bits_fp16", torch.float16, any_bits=True),
    Model("any_bits_fp32", torch.float32, any_bits=True),
]


@dataclasses.dataclass(frozen=True)
class Plain:
    """A plain DCP checkpoint; with `ranks` > 1 its tensors are DTensors, cut unevenly, under the keys of fsdp_dtensor."""
    name: str
    threads: int = 1
    file_per_tensor: bool = False
    zstd: bool = False
    ranks: int = 1


PLAIN = [
    Plain("plain"),
    Plain("plain_4_threads", threads=4),
    Plain("plain_file_per_tensor", file_per_tensor=True),
    Plain("plain_zstd", zstd=True),
    Plain("fsdp_dtensor_2_ranks", ranks=2),
]


def build(model, dtype=None):
    """This rank's part of the model, and the extra entries that its checkpoints have beside it. Megatron must be started."""
    import megatron_cpu
    from megatron.core.dist_checkpointing import ShardedTensor
    settings = megatron_cpu.config(dtype or model.dtype, model.layers, model.experts, model.moe_layers, **dict(model.settings))
    if model.pattern:
        import hybrid_cpu
        gpt = hybrid_cpu.model(settings, model.pattern, model.tied)
        for name, parameter in gpt.named_parameters():
            if name.split(".")[-1] in compare.KEPT_IN_FP32:  # a merge to `dtype` leaves them as they are
                parameter.data = parameter.data.to(model.dtype)
    else:
        gpt = megatron_cpu.model(settings, model.tied, model.engine_names)
    extra = {}
    if model.tensor_extra_state:
        extra["extra"] = ShardedTensor.from_rank_offsets("decoder.layers.0.self_attention.core_attention._extra_state",
                                                         torch.zeros(7, dtype=torch.uint8))
    return settings, gpt, extra


def _randomise_bits(gpt, seed):
    generator = torch.Generator().manual_seed(seed)
    for parameter in gpt.parameters():
        pattern = torch.randint(0, 256, (parameter.numel() * parameter.element_size(),), generator=generator, dtype=torch.uint8)
        parameter.data = pattern.view(parameter.dtype).reshape(parameter.shape)


def save_model(model, root, iterations=ITERATIONS):
    """Writes a model at several iterations; every rank calls it, Megatron is started."""
    import megatron_cpu
    settings, gpt, extra = build(model)
    for iteration in iterations:
        megatron_cpu.fill(megatron_cpu.sharded(gpt, model.per_layer), seed=iteration)
        if model.any_bits:
            _randomise_bits(gpt, seed=iteration)
        for entry in extra.values():
            entry.data.fill_(iteration // 100)
        state = megatron_cpu.label_extra_states(megatron_cpu.sharded(gpt, model.per_layer), seed=iteration)
        more = dict(hybrid_layer_pattern=model.pattern) if model.pattern else {}
        megatron_cpu.save(f"{root}/iter_{iteration:07d}", {**state, **extra}, iteration,
                          megatron_cpu.arguments(settings, iteration, model.tied, **more))


def _save_model(rank, model, root, store):
    import megatron_cpu
    megatron_cpu.start(rank, model.tensor_parallel * model.pipeline_parallel, store, model.tensor_parallel, model.pipeline_parallel)
    save_model(model, root)


def plain_state(iteration):
    """Nested state with tensors of every kind a writer treats in its own way, and objects beside them."""
    def values(*shape, dtype=torch.bfloat16):
        return torch.randn(shape, generator=torch.Generator().manual_seed(iteration * 1000 + sum(shape))).to(dtype)
    return {"model": {"decoder": {"weight": values(13, 24), "transposed": values(11, 18).t(), "slice": values(9, 40)[2:7, ::3],
                                  "half": values(6, 7, dtype=torch.float16), "single": values(5, 17, dtype=torch.float32),
                                  "scalar": values(dtype=torch.float32), "empty": values(0, 3),
                                  "blocks": [values(4, 10), values(3, 14)]}}}


def dtensor_state(iteration):
    """What Megatron-FSDP saves: names with dots in one path element, rows cut unevenly, common state as objects."""
    import argparse
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2,))
    shapes = {"module.embedding.word_embeddings.weight": (31, 16), "module.decoder.layers.0.mlp.linear_fc1.weight_w": (5, 16),
              "module.decoder.layers.0.mlp.linear_fc1.weight_v": (5, 16), "module.decoder.final_layernorm.weight": (1,)}
    tensors = {}
    for number, (name, shape) in enumerate(shapes.items()):
        whole = torch.randn(shape, generator=torch.Generator().manual_seed(iteration * 10 + number))
        tensors[name] = distribute_tensor(whole, mesh, [Shard(0)])
    return {"model": tensors, "args": argparse.Namespace(iteration=iteration, num_layers=1), "checkpoint_version": 3.0,
            "iteration": iteration}


def _save_plain(rank, plain, root, store):
    import warnings
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint._extension import ZStandard
    warnings.simplefilter("ignore")
    if plain.ranks > 1:
        dist.init_process_group("gloo", store=dist.FileStore(store, plain.ranks), rank=rank, world_size=plain.ranks)
    for iteration in ITERATIONS:
        writer = dcp.FileSystemWriter(f"{root}/iter_{iteration:07d}", single_file_per_rank=not plain.file_per_tensor,
                                      thread_count=plain.threads, _extensions=[ZStandard()] if plain.zstd else None)
        dcp.save(dtensor_state(iteration) if plain.ranks > 1 else plain_state(iteration), storage_writer=writer, no_dist=plain.ranks == 1)


def run_rank(save, *arguments):
    """A process of one rank. It leaves without taking gloo down, whose threads otherwise abort a process that ends now and then."""
    import traceback
    import torch.distributed as dist
    code = 1
    try:
        save(*arguments)
        dist.barrier()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def make(source, root):
    """Writes `source` under `root`, one directory for each iteration, and gives their paths. Megatron is started here as one rank."""
    root = pathlib.Path(root)
    root.mkdir(parents=True)
    if isinstance(source, Model):
        ranks, save = source.tensor_parallel * source.pipeline_parallel, _save_model
    else:
        ranks, save = source.ranks, _save_plain
    paths = [root / f"iter_{iteration:07d}" for iteration in ITERATIONS]
    if ranks == 1:
        save_model(source, root) if isinstance(source, Model) else _save_plain(0, source, root, None)
        return paths
    with tempfile.TemporaryDirectory() as meeting:
        spawn = multiprocessing.get_context("spawn")
        workers = [spawn.Process(target=run_rank, args=(save, rank, source, str(root), f"{meeting}/store")) for rank in range(ranks)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError(f"{source.name} could not be made: exit codes {[worker.exitcode for worker in workers]}")
    return paths
