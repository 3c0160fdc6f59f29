"""Checkpoints that several tests share, and the tools under test."""

import functools
import os
import pathlib
import subprocess

import pytest
import torch

import compare
import megatron_cpu
import sources

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def made(megatron, tmp_path_factory):
    """made(source): the checkpoints of a `sources.Model` or `sources.Plain`, written when first asked for."""
    paths = {}

    def make(source):
        if source not in paths:
            paths[source] = sources.make(source, tmp_path_factory.mktemp("sources") / source.name)
        return paths[source]
    return make


@pytest.fixture(scope="session")
def saved(megatron, tmp_path_factory):
    """saved(model, *iterations): the checkpoints of a model of one rank, written by this process when first asked for."""
    @functools.cache
    def save(model, *iterations):
        root = tmp_path_factory.mktemp("saved")
        sources.save_model(model, root, iterations)
        return [root / f"iter_{iteration:07d}" for iteration in iterations]
    return save


@pytest.fixture(scope="session")
def read():
    """read(path): everything torch reads of a checkpoint, by key; read once."""
    return functools.cache(compare.read)


@pytest.fixture(scope="session")
def megatron():
    """Megatron-Core in this process, started as one rank."""
    megatron_cpu.start()
    return megatron_cpu


@pytest.fixture(scope="session")
def ck():
    """ck(COMMAND LINE): runs a pipeline of the tools in $CK_BIN in a shell, gives its stdout; any failure fails the test."""
    directory = os.environ.get("CK_BIN", "")
    if not directory or not (pathlib.Path(directory) / "ck-merge").exists():
        pytest.fail("CK_BIN does not name a directory with the tools")
    environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}

    def run(line, **variables):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True,
                              env={**environment, **{name: str(value) for name, value in variables.items()}})
        if done.returncode:
            pytest.fail(f"{line}\nexit {done.returncode}\n{done.stderr}")
        return done.stdout
    return run
