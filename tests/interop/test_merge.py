"""ck merges what Megatron-Core and PyTorch wrote, and they load the result: every bit is the one that torch computes."""

import json

import pytest
import safetensors.torch
import torch

import compare
import sources
from test_oracle import RECORDED

WEIGHTS = [0.3, -0.45, 1.15]  # not representable, one negative
DTYPES = {"same": None, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def merge(ck, paths, output, options=""):
    operands = " ".join(f"{path}:{weight!r}" for path, weight in zip(paths, WEIGHTS))
    return json.loads(ck(f"ck-merge {operands} --output {output} {options}"))


def bytes_of(state):
    return {key: value for key, value in state.items() if isinstance(value, bytes)}


def chunks_of(path):
    """Where every tensor is cut: {key: sorted (offsets, sizes)}."""
    from torch.distributed.checkpoint import FileSystemReader
    entries = FileSystemReader(path).read_metadata().state_dict_metadata
    return {key: sorted((tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in entry.chunks)
            for key, entry in entries.items() if hasattr(entry, "chunks")}


def values_of(args):
    """The members of an argument Namespace, with values that Python can compare."""
    return {name: (type(value).__name__, str(value)) for name, value in vars(args).items()}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("model", sources.MODELS, ids=lambda model: model.name)
def test_a_merged_model_is_what_torch_sums(model, dtype, made, read, megatron, ck, tmp_path):
    paths = made(model)
    report = merge(ck, paths, tmp_path / "OUT", f"--output-iteration 200 --dtype {dtype}")
    merged = tmp_path / "OUT" / "iter_0000200"
    inputs = [compare.only_tensors(read(path)) for path in paths]
    want = compare.weighted_sum(inputs, WEIGHTS, DTYPES[dtype])

    got = compare.read(merged)
    assert compare.differences(compare.only_tensors(got), want) == []
    assert chunks_of(merged) == chunks_of(paths[0])
    stored = {key: value for key, value in bytes_of(read(paths[0])).items() if not key.startswith("common_state/")}
    assert bytes_of(got) == stored
    assert (tmp_path / "OUT" / "latest_checkpointed_iteration.txt").read_text() == "200\n"
    assert report["averaged_tensors"] == sum(not compare.is_extra_state(key) for key in want)

    _, gpt, extra = sources.build(model, DTYPES[dtype])
    pieces, common = megatron.load_strictly(merged, gpt, model.per_layer, extra)
    assert pieces.keys() == want.keys()
    assert compare.differences(*compare.cut_alike(pieces, want)) == []
    assert common["iteration"] == 200
    _, of_input = megatron.load_strictly(paths[1], sources.build(model)[1], model.per_layer, sources.build(model)[2])
    assert values_of(common["args"]) == values_of(of_input["args"])


def test_provenance_says_what_was_merged(made, megatron, ck, tmp_path):
    paths = made(sources.MODELS[0])
    merge(ck, paths, tmp_path / "OUT", "--output-iteration 300")
    _, gpt, _ = sources.build(sources.MODELS[0])
    _, common = megatron.load_strictly(tmp_path / "OUT" / "iter_0000300", gpt)
    provenance = common["weighted_merge_provenance"]
    assert provenance["weights"] == WEIGHTS
    assert provenance["input_paths"] == [str(path) for path in paths]
    assert provenance["source_iterations"] == list(sources.ITERATIONS)
    assert (provenance["format_version"], provenance["merge_style"], provenance["output_iteration"]) == (1, "manual", 300)
    assert (provenance["normalize"], provenance["optimizer_merged"], provenance["rng_merged"]) == (False, False, False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cast_all_casts_router_biases_too(dtype, made, read, ck, tmp_path):
    paths = made(sources.MODELS[0])
    merge(ck, paths, tmp_path / "OUT", f"--dtype {dtype} --cast-all")
    merge(ck, paths, tmp_path / "OUT2", f"--merge-save-dtype {dtype}")
    want = compare.weighted_sum([compare.only_tensors(read(path)) for path in paths], WEIGHTS, DTYPES[dtype], cast_all=True)
    assert {tensor.dtype for tensor in want.values()} == {DTYPES[dtype]}
    for output in ("OUT", "OUT2"):
        assert compare.differences(compare.only_tensors(compare.read(tmp_path / output)), want) == []


def test_an_input_of_weight_zero_poisons_nothing(made, read, ck, tmp_path):
    paths = made(next(model for model in sources.MODELS if model.name == "any_bits_bf16"))
    ck(f"ck-merge {paths[0]}:0 {paths[1]}:1 --output {tmp_path}/OUT")
    want = compare.only_tensors(read(paths[1]))
    got = compare.only_tensors(compare.read(tmp_path / "OUT"))
    # Adding to +0.0 turns -0.0 into +0.0, in torch too.
    assert compare.differences(got, compare.weighted_sum([want], [1.0])) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("plain", sources.PLAIN, ids=lambda plain: plain.name)
def test_a_merged_plain_checkpoint_is_what_torch_sums(plain, dtype, made, read, ck, tmp_path):
    paths = made(plain)
    merge(ck, paths, tmp_path / "OUT", f"--dtype {dtype}")
    want = compare.weighted_sum([compare.only_tensors(read(path)) for path in paths], WEIGHTS, DTYPES[dtype])
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "OUT")), want) == []
    assert chunks_of(tmp_path / "OUT") == chunks_of(paths[0])


@pytest.mark.parametrize("plain", sources.PLAIN, ids=lambda plain: plain.name)
def test_a_merged_plain_checkpoint_unfolds_as_its_inputs_do(plain, made, ck, tmp_path):
    """torch can rebuild the nested state from `.metadata` alone: lists stay lists, names with dots stay whole."""
    from torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
    paths = made(plain)
    merge(ck, paths, tmp_path / "OUT")

    def skeleton(node):
        if isinstance(node, dict):
            return {key: skeleton(value) for key, value in node.items()}
        return [skeleton(value) for value in node] if isinstance(node, list) else type(node).__name__
    model = lambda path: skeleton(_load_state_dict_from_keys(checkpoint_id=str(path))["model"])
    assert model(tmp_path / "OUT") == model(paths[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_main_job_gives_the_recorded_result(dtype, megatron, ck, tmp_path):
    run = RECORDED / "run"
    ck('ck-ls "$RUN" --start 1000 --end 5000 --min-interval 1000 | ck-coeffs --style minus-sqrt | ck-validate '
       f'| ck-merge --dtype {dtype} | ck-publish "$OUT"', RUN=run, OUT=tmp_path / "OUT")
    merged = tmp_path / "OUT" / "iter_0005000"
    want = safetensors.torch.load_file(RECORDED / f"expected_minus_sqrt_{dtype}.safetensors")
    assert compare.differences(compare.only_tensors(compare.read(merged)), want) == []

    _, gpt, _ = sources.build(sources.Model("recorded", torch.bfloat16, experts=3), DTYPES[dtype])
    pieces, common = megatron.load_strictly(merged, gpt)
    assert compare.differences(*compare.cut_alike(pieces, want)) == []
    assert common["iteration"] == common["args"].iteration == 5000


def test_the_flags_of_the_program_replaced_give_the_same_files(ck, tmp_path):
    ck('ck-ls "$RUN" --start 1000 --end 5000 --min-interval 1000 | ck-coeffs --style minus-sqrt | ck-merge | ck-publish "$OUT"',
       RUN=RECORDED / "run", OUT=tmp_path / "OUT")
    ck('ck-merge --merge-inputs "$RUN" --start-checkpoint 1000 --end-checkpoint 5000 --merge-style minus-sqrt '
       '--min-iteration-interval 1000 --merge-output "$OUT"', RUN=RECORDED / "run", OUT=tmp_path / "OUT2")
    data = lambda root: {path.name: path.read_bytes() for path in (root / "iter_0005000").glob("*.distcp")}
    assert data(tmp_path / "OUT") == data(tmp_path / "OUT2") != {}
    assert (tmp_path / "OUT2" / "latest_checkpointed_iteration.txt").read_text() == "5000\n"
