"""The judges are judged first: comparisons that see one bit, arithmetic as specified, sources that two readers agree on,
models that say the same whichever program runs them."""

import dataclasses
import fractions
import math
import pathlib

import pytest
import safetensors.torch
import torch

import architectures
import by_hand
import compare
import hugging_face
import make_testdata
import retarget_cases
import sources

RECORDED = pathlib.Path(__file__).parents[2] / "testdata" / "checkpoints"


@pytest.mark.parametrize("dtype", compare.DTYPE_NAMES)
def test_a_comparison_sees_a_single_bit(dtype):
    want = {"w": torch.randn(3, 5, generator=torch.Generator().manual_seed(1)).to(dtype)}
    assert compare.differences({"w": want["w"].clone()}, want) == []
    flipped = want["w"].clone()
    flipped.view(torch.int16).view(-1)[4] ^= 1
    assert len(compare.differences({"w": flipped}, want)) == 1


def test_a_comparison_sees_missing_keys_dtypes_shapes_and_signs_of_zero():
    want = {"w": torch.zeros(2)}
    for got in ({}, {"w": torch.zeros(2), "v": torch.zeros(1)}, {"w": torch.zeros(2).half()}, {"w": torch.zeros(1, 2)}, {"w": -torch.zeros(2)}):
        assert len(compare.differences(got, want)) == 1


def test_a_comparison_takes_one_nan_for_another():
    nans = torch.tensor([0x7FC00000, 0x7F800001, -1], dtype=torch.int32).view(torch.float32)
    assert compare.differences({"w": nans}, {"w": torch.full((3,), math.nan)}) == []
    assert compare.differences({"w": nans}, {"w": torch.full((3,), math.nan)}, any_nan=False)
    assert compare.differences({"w": torch.zeros(3)}, {"w": nans})


def _round_to_single(exact):
    """Nearest single to a fraction, ties to even; for the magnitudes of this file (no overflow, no denormals)."""
    if exact == 0:
        return 0.0
    sign, exact = (-1, -exact) if exact < 0 else (1, exact)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact < fractions.Fraction(2) ** exponent:
        exponent -= 1
    step = fractions.Fraction(2) ** (exponent - 23)
    return sign * float(round(exact / step) * step)  # round() of a Fraction is ties to even


def test_the_sum_rounds_once_per_input_in_input_order():
    """What the tools promise: fma(x, (float)weight, total), also in the elements left over by vector registers."""
    generator = torch.Generator().manual_seed(2)
    count = 67
    inputs = [{"w": torch.randn(count, generator=generator)} for _ in range(3)]
    weights = [0.1, -0.7, 1.6]
    want = []
    for i in range(count):
        total = 0.0
        for source, weight in zip(inputs, weights):
            single = torch.tensor(weight, dtype=torch.float32).item()
            total = _round_to_single(fractions.Fraction(source["w"][i].item()) * fractions.Fraction(single) + fractions.Fraction(total))
        want.append(total)
    assert compare.differences(compare.weighted_sum(inputs, weights), {"w": torch.tensor(want)}) == []


def test_the_sum_leaves_weight_zero_out_and_extra_states_alone():
    first = {"decoder.w": torch.tensor([1.0]), "decoder._extra_state": torch.tensor([3], dtype=torch.uint8)}
    second = {"decoder.w": torch.tensor([math.nan]), "decoder._extra_state": torch.tensor([4], dtype=torch.uint8)}
    merged = compare.weighted_sum([first, second], [0.5, 0.0])
    assert compare.differences(merged, {"decoder.w": torch.tensor([0.5]), "decoder._extra_state": torch.tensor([3], dtype=torch.uint8)}) == []


@pytest.mark.parametrize("model", sources.MODELS, ids=lambda model: model.name)
def test_torch_and_megatron_read_the_same_from_a_model(model, made, read, megatron):
    for path in made(model):
        stored = read(path)
        _, gpt, extra = sources.build(model)
        loaded, common = megatron.load_strictly(path, gpt, model.per_layer, extra)
        assert loaded.keys() == {key for key, value in stored.items() if isinstance(value, torch.Tensor)}
        assert compare.differences(*compare.cut_alike(loaded, stored)) == []
        assert common["iteration"] == common["args"].iteration == int(path.name[5:])


def test_how_a_model_is_cut_over_ranks_does_not_show(made, read, megatron):
    """The four ranks wrote what one rank would have: the values come from the keys alone."""
    cut = next(model for model in sources.MODELS if model.tensor_parallel > 1)
    _, gpt, _ = sources.build(cut)
    for path in made(cut):
        megatron.fill(megatron.sharded(gpt), seed=int(path.name[5:]))
        whole = {}
        for shard in megatron.shards(megatron.sharded(gpt)):
            whole.setdefault(shard.key, []).append((shard.global_slice(), shard.data))
        assert compare.differences(*compare.cut_alike(whole, read(path))) == []


@pytest.mark.parametrize("plain", [plain for plain in sources.PLAIN if plain.ranks == 1], ids=lambda plain: plain.name)
def test_torch_reads_what_it_wrote(plain, made, read):
    for path in made(plain):
        wanted = sources.plain_state(int(path.name[5:]))["model"]["decoder"]
        wanted.update({f"blocks.{i}": block for i, block in enumerate(wanted.pop("blocks"))})
        assert compare.differences(read(path), {f"model.decoder.{name}": value for name, value in wanted.items()}) == []


@pytest.mark.parametrize("name", ["same", *compare.DTYPE_NAMES.values()])
def test_recorded_results_are_those_of_this_torch(name, read):
    dtype = {name: dtype for dtype, name in compare.DTYPE_NAMES.items()}.get(name)
    inputs = [compare.only_tensors(read(RECORDED / "run" / f"iter_{i:07d}")) for i in make_testdata.ITERATIONS]
    recorded = safetensors.torch.load_file(RECORDED / f"expected_minus_sqrt_{name}.safetensors")
    assert compare.differences(compare.weighted_sum(inputs, make_testdata.minus_sqrt(len(inputs)), dtype), recorded) == []


@pytest.mark.parametrize("case", retarget_cases.CASES, ids=lambda case: case.model.name)
def test_a_gpt_and_its_hybrid_say_the_same_when_put_together_by_hand(case, saved, read, megatron):
    path, = saved(case.model, 100)
    _, gpt, _ = sources.build(case.model)
    megatron.load_strictly(path, gpt, case.model.per_layer)
    converted = by_hand.hybrid(compare.only_tensors(read(path)), case.pattern)
    _, hybrid, _ = sources.build(case.hybrid)
    assert {shard.key for shard in megatron.shards(megatron.sharded(hybrid))} == converted.keys()
    megatron.put(hybrid, converted)
    batch = megatron.tokens()
    assert compare.differences({"logits": megatron.logits(hybrid, batch)}, {"logits": megatron.logits(gpt, batch)}) == []


def test_another_order_of_the_layers_is_another_function(saved, read, megatron):
    """So that equal logits prove something."""
    case = retarget_cases.BY_NAME["dense_stacked"]
    state = compare.only_tensors(read(saved(case.model, 100)[0]))
    say = lambda pattern: megatron.logits(megatron.put(sources.build(dataclasses.replace(case.model, pattern=pattern))[1], by_hand.hybrid(state, pattern)), megatron.tokens())
    assert (say("**--") - say("*-*-")).abs().max() > 0.1


@pytest.mark.parametrize("architecture", architectures.ARCHITECTURES, ids=lambda architecture: architecture.model.name)
def test_megatron_and_transformers_say_the_same_of_a_model_converted_by_hand(architecture, saved, read, megatron, tmp_path):
    path, = saved(architecture.model, 100)
    _, gpt, _ = sources.build(architecture.model)
    megatron.load_strictly(path, gpt, architecture.model.per_layer)
    config = architecture.config_json()
    tensors = architecture.convert(compare.only_tensors(read(path)))
    converted = hugging_face.load(hugging_face.write(tmp_path / "HF", config, tensors))
    batch = megatron.tokens()
    said = megatron.logits(gpt, batch)[..., :config["vocab_size"]]
    assert said.abs().max() > 0.5
    torch.testing.assert_close(hugging_face.logits(converted, batch), said, atol=1e-5, rtol=0)


@pytest.mark.parametrize("architecture", [each for each in architectures.ARCHITECTURES if not each.model.engine_names], ids=lambda architecture: architecture.model.name)
def test_a_model_built_from_saved_arguments_is_the_model_that_was_saved(architecture, saved, megatron):
    """What `model_of` does, so that it can judge arguments that ck writes."""
    path, = saved(architecture.model, 100)
    _, gpt, _ = sources.build(architecture.model)
    megatron.load_strictly(path, gpt, architecture.model.per_layer)
    again = megatron.model_of(megatron.load_common(path)["args"])
    megatron.load_strictly(path, again, architecture.model.per_layer)
    batch = megatron.tokens()
    assert compare.differences({"logits": megatron.logits(again, batch)}, {"logits": megatron.logits(gpt, batch)}) == []


@pytest.mark.parametrize("folder", sorted(path.name for path in (RECORDED.parent / "fixtures" / "hf").iterdir() if path.is_dir()))
def test_transformers_says_what_was_recorded_of_the_zoo(folder):
    """So that a deviation after a round trip is ours. The reader of directories finds what the list beside it names."""
    directory = RECORDED.parent / "fixtures" / "hf" / folder
    listed = [line.split("\t")[0] for line in (directory / "keys.tsv").read_text().splitlines()]
    assert sorted(hugging_face.read(directory / "model")) == sorted(name for name in listed if name != "name")
    truth = safetensors.torch.load_file(directory / "truth.safetensors")
    said = hugging_face.logits(hugging_face.load(directory / "model"), truth["tokens"])
    torch.testing.assert_close(said, truth["logits"], atol=2e-5, rtol=0)
