"""The same for checkpoints of Megatron-FSDP, written by PyTorch's own writer with their arguments as an object of their own."""

import io
import json

import pytest
import torch
import torch.distributed.checkpoint as dcp

import by_hand
import compare
import sources
from retarget_cases import BY_NAME
from test_retarget import retarget

CASES = [BY_NAME[name] for name in ("dense_stacked", "dense_stacked_tied_bf16", "qk_norm_stacked", "all_biases_stacked", "moe_engine_names", "moe_shared_engine_names")]

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.model.name)


def as_fsdp(case, state):
    """{key on disk: tensor}"""
    gated = dict(case.model.settings).get("gated_linear_unit", True)
    return {f"model.{key}": tensor for key, tensor in by_hand.fsdp(state, gated).items()}


@pytest.fixture
def source(saved, read, megatron, tmp_path):
    """source(case): the state of a GPT, and where it is stored as Megatron-FSDP would."""
    def make(case):
        path, = saved(case.model, 100)
        state = compare.only_tensors(read(path))
        tensors = {key.removeprefix("model."): tensor for key, tensor in as_fsdp(case, state).items()}
        common = megatron.load_common(path)
        dcp.save({"model": tensors, "args": common["args"], "iteration": 100, "checkpoint_version": 3.0}, checkpoint_id=tmp_path / "FSDP", no_dist=True)
        return state, tmp_path / "FSDP"
    return make


def args_of(path):
    return torch.load(io.BytesIO(compare.read(path)["args"]), weights_only=False)


@each_case
def test_an_fsdp_gpt_becomes_a_hybrid_and_comes_back(case, source, ck, tmp_path):
    state, path = source(case)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}'")
    got = compare.read(tmp_path / "HYBRID")
    assert compare.differences(compare.only_tensors(got), as_fsdp(case, by_hand.hybrid(state, case.pattern)), any_nan=False) == []
    args = args_of(tmp_path / "HYBRID")
    assert (args.num_layers, args.hybrid_layer_pattern) == (2 * case.model.layers, case.pattern)
    assert json.loads(ck(f"ck-validate {tmp_path}/HYBRID"))["findings"] == []

    retarget(ck, tmp_path / "HYBRID", tmp_path / "BACK", "--to gpt")
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "BACK")), as_fsdp(case, state), any_nan=False) == []
    args = args_of(tmp_path / "BACK")
    assert (args.num_layers, getattr(args, "hybrid_layer_pattern", None)) == (case.model.layers, None)


@each_case
def test_an_fsdp_gpt_becomes_a_hybrid_that_megatron_loads(case, source, megatron, ck, tmp_path):
    state, path = source(case)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}' --format torch_dist")
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "HYBRID")), by_hand.hybrid(state, case.pattern), any_nan=False) == []
    _, hybrid, _ = sources.build(case.hybrid)
    _, common = megatron.load_strictly(tmp_path / "HYBRID", hybrid, extra_states=False)  # Megatron-FSDP stores none
    assert common["args"].hybrid_layer_pattern == case.pattern and common["iteration"] == 100
    _, gpt, _ = sources.build(case.model)
    megatron.put(gpt, state)
    batch = megatron.tokens()
    assert compare.differences({"logits": megatron.logits(hybrid, batch)}, {"logits": megatron.logits(gpt, batch)}) == []


@each_case
def test_a_gpt_becomes_an_fsdp_hybrid(case, saved, read, ck, tmp_path):
    path, = saved(case.model, 100)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}' --format fsdp_dtensor")
    want = as_fsdp(case, by_hand.hybrid(compare.only_tensors(read(path)), case.pattern))
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "HYBRID")), want, any_nan=False) == []
