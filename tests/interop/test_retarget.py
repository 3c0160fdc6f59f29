"""GPT models saved by Megatron-Core become hybrids that Megatron-Core loads strictly and that say the same, and come back."""

import dataclasses
import json
import multiprocessing

import pytest
import torch

import by_hand
import compare
import sources
from retarget_cases import BY_NAME, CASES
from sources import MAMBA
from test_merge import bytes_of, chunks_of

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.model.name)


def retarget(ck, path, output, options):
    return json.loads(ck(f"ck-retarget --input {path} --output {output} {options}"))


def objects_of(path):
    """Byte objects of the model: not the common state, which must change."""
    return {key: value for key, value in bytes_of(compare.read(path)).items() if not key.startswith("common_state/")}


def objects_as_hybrid(objects, pattern):
    """Where the byte objects of a GPT must go, with the two placeholders that a hybrid has beside them left out."""
    symbols = pattern.replace("|", "")
    attentions = [place for place, symbol in enumerate(symbols) if symbol == "*"]
    mlps = [place for place, symbol in enumerate(symbols) if symbol in "-E"]
    moved = {}
    for key, value in objects.items():
        name, place = key.rsplit("/shard_", 1)
        if not name.startswith("decoder.layers."):
            moved[key.replace("decoder.final_layernorm.", "decoder.final_norm.")] = value
            continue
        name = name.removeprefix("decoder.layers.")
        if name.split(".")[0].isdigit():
            layer, _, name = name.partition(".")
        else:
            at, of = (numbers.split(".") for numbers in place.split("_"))
            layer, place = at[0], "_".join((".".join(at[1:]) or "0", ".".join(of[1:]) or "1"))
        to = (attentions if name.startswith("self_attention.") else mlps)[int(layer)]
        moved[f"decoder.layers.{to}.{name}/shard_{place}"] = value
    return moved


@each_case
def test_a_gpt_becomes_a_hybrid_that_says_the_same(case, saved, read, megatron, ck, tmp_path):
    path, = saved(case.model, 100)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}'")

    state = read(path)
    want = by_hand.hybrid(compare.only_tensors(state), case.pattern)
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "HYBRID")), want, any_nan=False) == []

    _, hybrid, _ = sources.build(case.hybrid)
    _, common = megatron.load_strictly(tmp_path / "HYBRID", hybrid)
    _, gpt, _ = sources.build(case.model)
    _, of_gpt = megatron.load_strictly(path, gpt, case.model.per_layer)
    batch = megatron.tokens()
    assert compare.differences({"logits": megatron.logits(hybrid, batch)}, {"logits": megatron.logits(gpt, batch)}) == []

    changed = {name for name, value in vars(common["args"]).items() if str(value) != str(vars(of_gpt["args"]).get(name))}
    assert common["args"].hybrid_layer_pattern == case.pattern
    assert common["args"].num_layers == 2 * case.model.layers
    assert {"num_layers", "hybrid_layer_pattern"} <= changed <= {"num_layers", "hybrid_layer_pattern", "hybrid_override_pattern", "is_hybrid_model", "spec"}
    assert common["iteration"] == 100


@each_case
def test_extra_states_follow_their_layers(case, saved, ck, tmp_path):
    path, = saved(case.model, 100)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}'")
    got = objects_of(tmp_path / "HYBRID")
    assert "output_layer._extra_state/shard_0_1" in got or case.model.tied
    got.pop("output_layer._extra_state/shard_0_1", None)
    assert got == objects_as_hybrid(objects_of(path), case.pattern)


@each_case
def test_a_hybrid_is_cut_as_megatron_cuts_it(case, saved, ck, tmp_path):
    path, = saved(case.model, 100)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}'")
    assert chunks_of(tmp_path / "HYBRID") == chunks_of(saved(case.hybrid, 100)[0])


@each_case
def test_there_and_back_changes_no_bit(case, saved, read, megatron, ck, tmp_path):
    path, = saved(case.model, 100)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{case.pattern}'")
    retarget(ck, tmp_path / "HYBRID", tmp_path / "BACK", case.back)
    back, want = compare.read(tmp_path / "BACK"), read(path)
    assert compare.differences(compare.only_tensors(back), compare.only_tensors(want), any_nan=False) == []
    assert objects_of(tmp_path / "BACK") == objects_of(path)
    assert chunks_of(tmp_path / "BACK") == chunks_of(path)

    pieces, common = megatron.load_strictly(tmp_path / "BACK", sources.build(case.model)[1], case.model.per_layer)
    assert compare.differences(*compare.cut_alike(pieces, want)) == []
    assert common["args"].num_layers == case.model.layers
    assert getattr(common["args"], "hybrid_layer_pattern", None) is None


@each_case
def test_a_hybrid_by_megatron_becomes_a_gpt(case, saved, read, megatron, ck, tmp_path):
    path, = saved(case.hybrid, 100)
    retarget(ck, path, tmp_path / "GPT", case.back)
    hybrid, gpt = sources.build(case.hybrid)[1], sources.build(case.model)[1]
    megatron.load_strictly(path, hybrid)
    megatron.load_strictly(tmp_path / "GPT", gpt, case.model.per_layer)
    batch = megatron.tokens()
    assert compare.differences({"logits": megatron.logits(gpt, batch)}, {"logits": megatron.logits(hybrid, batch)}) == []


@pytest.mark.parametrize("name", ["dense_stacked", "moe_stacked", "qk_norm_stacked"])
def test_stacked_and_per_layer_become_each_other(name, saved, read, megatron, ck, tmp_path):
    model = BY_NAME[name].model
    path, = saved(model, 100)
    retarget(ck, path, tmp_path / "PER_LAYER", "--to gpt --per-layer --transformer-impl local")
    megatron.load_strictly(tmp_path / "PER_LAYER", sources.build(model)[1], per_layer=True)
    retarget(ck, tmp_path / "PER_LAYER", tmp_path / "STACKED", "--to gpt --transformer-impl local")
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "STACKED")), compare.only_tensors(read(path)), any_nan=False) == []
    assert objects_of(tmp_path / "STACKED") == objects_of(path)
    megatron.load_strictly(tmp_path / "STACKED", sources.build(model)[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name, pattern", [("dense_stacked", "M*-M*-"), ("moe_stacked", "*EM|M*E"), ("all_biases_stacked", "MM*-*-")])
def test_fresh_mamba_layers_load_strictly(name, pattern, dtype, saved, read, megatron, ck, tmp_path):
    model = dataclasses.replace(BY_NAME[name].model, dtype=dtype)
    path, = saved(model, 100)
    retarget(ck, path, tmp_path / "HYBRID", f"--to hybrid --pattern '{pattern}' --mamba-d-state 10 --mamba2-n-groups 2 --mamba2-head-dim 8 --seed 5")
    hybrid = dataclasses.replace(model, pattern=pattern, settings=(*model.settings, *MAMBA))
    _, built, _ = sources.build(hybrid)
    pieces, common = megatron.load_strictly(tmp_path / "HYBRID", built)

    state = compare.only_tensors(compare.read(tmp_path / "HYBRID"))
    fresh = {key: state.pop(key) for key in list(state) if ".mixer." in key}
    assert compare.differences(state, by_hand.hybrid(compare.only_tensors(read(path)), pattern), any_nan=False) == []
    assert pieces.keys() == fresh.keys() | state.keys()
    args = common["args"]
    assert (args.mamba_state_dim, args.mamba_num_groups, args.mamba_head_dim) == (10, 2, 8)
    for key, tensor in fresh.items():
        name = key.split(".mixer.")[1]
        values = tensor.float()
        assert tensor.dtype == (torch.float32 if name in ("A_log", "D") else dtype), key
        if name in ("D", "norm.weight", "in_proj.layer_norm_weight"):
            assert (values == 1).all(), key
        elif name == "A_log":
            assert ((values >= 0) & (values <= torch.tensor(16.0).log())).all(), key
        elif name == "dt_bias":
            step = torch.nn.functional.softplus(values)
            assert ((step >= 0.99e-3) & (step <= 0.101)).all(), key
        elif name == "in_proj.layer_norm_bias":
            assert (values == 0).all(), key
        else:
            fan_in = 4 if name.startswith("conv1d.") else tensor.shape[1]
            assert values.abs().max() <= fan_in ** -0.5 and values.unique().numel() > 0.7 * values.numel() ** 0.9, key
    layers = [place for place, symbol in enumerate(pattern.replace("|", "")) if symbol == "M"]
    assert not torch.equal(*(fresh[f"decoder.layers.{layer}.mixer.in_proj.weight.x"] for layer in layers[:2]))


def test_mamba_layers_of_megatron_are_dropped_when_asked(saved, read, megatron, ck, tmp_path):
    model = BY_NAME["dense_stacked"].model
    path, = saved(dataclasses.replace(model, pattern="M*-M*-", settings=MAMBA), 100)
    retarget(ck, path, tmp_path / "GPT", "--to gpt --drop-ssm --transformer-impl local")
    megatron.load_strictly(tmp_path / "GPT", sources.build(model)[1])
    kept = {key: tensor for key, tensor in compare.only_tensors(read(path)).items() if ".mixer." not in key}
    got = by_hand.hybrid(compare.only_tensors(compare.read(tmp_path / "GPT")), "M*-M*-")
    assert compare.differences(got, kept, any_nan=False) == []


@pytest.mark.parametrize("name", ["dense_stacked", "moe_stacked_bf16", "qkv_bias_per_layer_tied"])
def test_merged_and_converted_in_one_pass_is_merged_then_converted(name, saved, ck, tmp_path):
    case = BY_NAME[name]
    paths = saved(case.model, *sources.ITERATIONS)
    run = paths[0].parent
    plan = f'ck-ls {run} --start 100 --end 300 | ck-coeffs --style minus-sqrt'
    step = f"ck-retarget --to hybrid --pattern '{case.pattern}'"
    ck(f'{plan} | ck-merge | {step} | ck-publish {tmp_path}/ONE')
    ck(f'{plan} | ck-merge --output {tmp_path}/MERGED')
    ck(f'{step} --input {tmp_path}/MERGED --output {tmp_path}/TWO')
    files = lambda root: {path.name: path.read_bytes() for path in (root / "iter_0000300").iterdir() if path.suffix == ".distcp" or path.name == ".metadata"}
    one, two = files(tmp_path / "ONE"), files(tmp_path / "TWO")
    assert one.keys() == two.keys() and len(one) >= 2
    assert [name for name in one if one[name] != two[name]] == []


def test_one_pass_reads_every_source_byte_once(saved, read, ck, tmp_path):
    """Tensors so large that what is read beside them (metadata, heads of items) is a twentieth at most."""
    wide = dataclasses.replace(BY_NAME["dense_stacked"].model, name="wide", settings=(("hidden_size", 64), ("ffn_hidden_size", 4000)))
    paths = saved(wide, *sources.ITERATIONS)
    done = json.loads(ck(f"ck-ls {paths[0].parent} --start 100 --end 300 | ck-coeffs --style minus-sqrt | ck-merge "
                         f"| ck-retarget --to hybrid --pattern '*-*-' | ck-publish {tmp_path}/OUT"))
    tensor_bytes = sum(tensor.nbytes for path in paths for tensor in compare.only_tensors(read(path)).values())
    assert tensor_bytes <= done["bytes_read"] <= 1.05 * tensor_bytes


def _load_part(rank, model, path, store, results):
    import megatron_cpu
    megatron_cpu.start(rank, 4, store, 2, 2)
    _, built, _ = sources.build(model)
    pieces, common = megatron_cpu.load_strictly(path, built)
    want = compare.only_tensors(compare.read(path))
    results.put((sorted(pieces), compare.differences(*compare.cut_alike(pieces, want)), common["iteration"]))
    results.close()
    results.join_thread()  # run_rank leaves without waiting for threads


def test_a_model_of_four_ranks_becomes_a_hybrid_of_four_ranks(made, ck, tmp_path):
    """Two pipeline stages, as the pattern cuts them, of two tensor-parallel ranks each."""
    model = next(model for model in sources.MODELS if model.tensor_parallel > 1)
    path = made(model)[0]
    retarget(ck, path, tmp_path / "HYBRID", "--to hybrid --pattern '*-|*-'")
    want = by_hand.hybrid(compare.only_tensors(compare.read(path)), "*-*-")
    assert compare.differences(compare.only_tensors(compare.read(tmp_path / "HYBRID")), want, any_nan=False) == []
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    hybrid = dataclasses.replace(model, pattern="*-|*-")
    workers = [spawn.Process(target=sources.run_rank, args=(_load_part, rank, hybrid, tmp_path / "HYBRID", f"{tmp_path}/store", results)) for rank in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    parts = [results.get() for _ in workers]
    assert {key for keys, _, _ in parts for key in keys} == want.keys()
    assert [lines for _, lines, _ in parts if lines] == [] and {iteration for _, _, iteration in parts} == {100}
