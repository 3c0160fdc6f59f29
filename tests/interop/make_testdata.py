"""Writes testdata/checkpoints: a small training run saved by Megatron-Core, and torch's own weighted sum of it.

usage: python tests/interop/make_testdata.py DIRECTORY      (in the environment of tests/interop/requirements.txt)
DIRECTORY must not exist. See testdata/checkpoints/ORIGIN.md for what was made with which versions.
"""

import math
import os
import sys

import safetensors.torch
import torch

import compare
import megatron_cpu

ITERATIONS = range(1000, 6000, 1000)


def write_run(root):
    """Five checkpoints of one mixture-of-experts model, bf16 with fp32 router biases, as a live run leaves them."""
    megatron_cpu.start()
    settings = megatron_cpu.config(torch.bfloat16, experts=3)
    gpt = megatron_cpu.model(settings)
    for iteration in ITERATIONS:
        megatron_cpu.fill(megatron_cpu.sharded(gpt), seed=iteration)
        state = megatron_cpu.label_extra_states(megatron_cpu.sharded(gpt), seed=iteration)
        megatron_cpu.save(f"{root}/iter_{iteration:07d}", state, iteration,
                          megatron_cpu.arguments(settings, iteration), integrity=True,
                          num_floating_point_operations_so_far=float(iteration) * 1e15)
    with open(f"{root}/latest_checkpointed_iteration.txt", "w") as marker:
        marker.write(f"{ITERATIONS[-1]}")


def minus_sqrt(count):
    """Weights of the minus-sqrt schedule: differences of 1 - sqrt(x); the first one is what is missing to 1."""
    decay = [1 - math.sqrt(i / count) for i in range(count)]
    rest = [decay[i] - decay[i + 1] for i in range(1, count - 1)] + [decay[count - 1]]
    total = 0.0
    for weight in rest:  # not sum(): newer Pythons compensate it
        total += weight
    return [1 - total] + rest


def main(directory):
    os.makedirs(directory)
    os.chdir(directory)  # the checkpoints record the path they were saved under
    write_run("run")
    weights = minus_sqrt(len(ITERATIONS))
    sources = [compare.only_tensors(compare.read(f"run/iter_{iteration:07d}")) for iteration in ITERATIONS]
    for dtype in [None, torch.float32, torch.float16, torch.bfloat16]:
        name = "same" if dtype is None else compare.DTYPE_NAMES[dtype]
        merged = compare.weighted_sum(sources, weights, dtype)
        safetensors.torch.save_file(merged, f"expected_minus_sqrt_{name}.safetensors",
                                    metadata={"weights": " ".join(weight.hex() for weight in weights)})


if __name__ == "__main__":
    main(sys.argv[1])
