"""Checkpoints of Megatron-Core become directories that transformers loads whole and in which it says what Megatron said."""

import dataclasses
import json
import pathlib

import pytest
import safetensors.torch
import torch
import torch.distributed.checkpoint as dcp
from megatron.core.dist_checkpointing import ShardedTensor

import by_hand
import compare
import hugging_face
import sources
from architectures import ARCHITECTURES, BY_NAME

FIXTURES = pathlib.Path(__file__).parents[2] / "testdata" / "fixtures" / "megatron"

each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda architecture: architecture.model.name)


def export(ck, path, output, options):
    return json.loads(ck(f"ck-split --to hf --input {path} --output {output} {options}"))


def template(architecture, directory):
    """A directory with a config.json and nothing else."""
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(architecture.config_json(), indent=2))
    return directory


def files_of(directory):
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.name.endswith((".safetensors", ".index.json")) or file.name == "config.json"}


def said_by_megatron(megatron, path, architecture, batch):
    _, gpt, _ = sources.build(architecture.model)
    megatron.load_strictly(path, gpt, architecture.model.per_layer)
    return megatron.logits(gpt, batch)[..., :architecture.config_json()["vocab_size"]]


@each_architecture
@pytest.mark.parametrize("config", ["template", "derived"])
def test_transformers_says_what_megatron_said(config, architecture, saved, read, megatron, ck, tmp_path):
    path, = saved(architecture.model, 100)
    export(ck, path, tmp_path / "HF", f"--config {template(architecture, tmp_path / 'TEMPLATE')}" if config == "template" else f"--architecture {architecture.name}")
    want = architecture.convert(compare.only_tensors(read(path)))
    assert compare.differences(hugging_face.read(tmp_path / "HF"), want) == []
    batch = megatron.tokens()
    said = hugging_face.logits(hugging_face.load(tmp_path / "HF"), batch)
    torch.testing.assert_close(said, said_by_megatron(megatron, path, architecture, batch), atol=1e-4, rtol=0)


@each_architecture
def test_many_files_hold_what_one_holds(architecture, saved, ck, tmp_path):
    path, = saved(architecture.model, 100)
    export(ck, path, tmp_path / "ONE", f"--architecture {architecture.name}")
    export(ck, path, tmp_path / "MANY", f"--architecture {architecture.name} --max-shard-size 3000")
    assert len(list((tmp_path / "MANY").glob("model-*.safetensors"))) > 3
    assert compare.differences(hugging_face.read(tmp_path / "MANY"), hugging_face.read(tmp_path / "ONE"), any_nan=False) == []
    hugging_face.load(tmp_path / "MANY")
    assert json.loads(ck(f"ck-validate {tmp_path}/MANY"))["findings"] == []


@pytest.mark.parametrize("name", ["llama", "qwen2_tied", "qwen3_moe_mixed", "mixtral", "deepseek_v3", "nemotron", "starcoder2", "phi3"])
def test_a_bf16_checkpoint_keeps_its_bits(name, saved, read, ck, tmp_path):
    architecture = BY_NAME[name]
    path, = saved(dataclasses.replace(architecture.model, dtype=torch.bfloat16), 100)
    export(ck, path, tmp_path / "HF", f"--architecture {architecture.name}")
    want = architecture.convert(compare.only_tensors(read(path)))
    assert compare.differences(hugging_face.read(tmp_path / "HF"), want, any_nan=False) == []
    config = json.loads((tmp_path / "HF" / "config.json").read_text())
    assert config.get("torch_dtype", config.get("dtype")) == "bfloat16"
    hugging_face.load(tmp_path / "HF")


@pytest.mark.parametrize("name, pattern", [("llama", "*-*-"), ("qwen3", "*-*-"), ("mixtral", "*E*E")])
def test_a_hybrid_of_megatron_gives_what_its_gpt_gives(name, pattern, saved, read, megatron, ck, tmp_path):
    architecture = BY_NAME[name]
    path, = saved(dataclasses.replace(architecture.model, pattern=pattern), 100)
    export(ck, path, tmp_path / "HF", f"--architecture {architecture.name}")
    _, hybrid, _ = sources.build(dataclasses.replace(architecture.model, pattern=pattern))
    megatron.load_strictly(path, hybrid)
    batch = megatron.tokens()
    said = hugging_face.logits(hugging_face.load(tmp_path / "HF"), batch)
    torch.testing.assert_close(said, megatron.logits(hybrid, batch)[..., :said.shape[-1]], atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", ["llama", "qwen3_moe", "mixtral", "deepseek_v3"])
def test_merged_and_exported_in_one_pass_is_merged_then_exported(name, saved, ck, tmp_path):
    architecture = BY_NAME[name]
    run = saved(architecture.model, *sources.ITERATIONS)[0].parent
    plan = f"ck-ls {run} --start 100 --end 300 | ck-coeffs --style minus-sqrt | ck-validate"
    step = f"ck-split --to hf --config {template(architecture, tmp_path / 'TEMPLATE')}"
    ck(f"{plan} | ck-merge | {step} | ck-publish {tmp_path}/ONE")
    ck(f"{plan} | ck-merge --output {tmp_path}/MERGED")
    ck(f"{step} --input {tmp_path}/MERGED --output {tmp_path}/TWO")
    one, two = files_of(tmp_path / "ONE"), files_of(tmp_path / "TWO")
    assert one.keys() == two.keys() and len(one) >= 2
    assert [name for name in one if one[name] != two[name]] == []
    hugging_face.load(tmp_path / "ONE")


@pytest.mark.parametrize("name, pattern", [("llama", "*-*-"), ("qwen3_moe", "*E*E")])
def test_a_detour_by_a_hybrid_changes_nothing(name, pattern, saved, ck, tmp_path):
    """Merged, made a hybrid and exported, all in one pass."""
    architecture = BY_NAME[name]
    run = saved(architecture.model, *sources.ITERATIONS)[0].parent
    merge = f"ck-ls {run} --start 100 --end 300 | ck-coeffs --style minus-sqrt | ck-merge"
    step = f"ck-split --to hf --architecture {architecture.name}"
    ck(f"{merge} | {step} | ck-publish {tmp_path}/STRAIGHT")
    ck(f"{merge} | ck-retarget --to hybrid --pattern '{pattern}' | {step} | ck-publish {tmp_path}/DETOUR")
    assert files_of(tmp_path / "DETOUR") == files_of(tmp_path / "STRAIGHT")


@pytest.mark.parametrize("name", ["llama", "qwen2_tied", "qwen3"])
def test_a_checkpoint_of_megatron_fsdp_gives_what_the_other_format_gives(name, saved, read, megatron, ck, tmp_path):
    architecture = BY_NAME[name]
    path, = saved(architecture.model, 100)
    state = compare.only_tensors(read(path))
    dcp.save({"model": by_hand.fsdp(state), "args": megatron.load_common(path)["args"], "iteration": 100}, checkpoint_id=tmp_path / "FSDP", no_dist=True)
    export(ck, tmp_path / "FSDP", tmp_path / "HF", f"--architecture {architecture.name}")
    assert compare.differences(hugging_face.read(tmp_path / "HF"), architecture.convert(state)) == []
    hugging_face.load(tmp_path / "HF")


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3_moe"])
def test_a_value_model_keeps_its_head(name, megatron, ck, tmp_path):
    """Its head has one row and is stored where the words' head would be."""
    architecture = BY_NAME[name]
    settings, gpt, _ = sources.build(architecture.model)
    megatron.fill(megatron.sharded(gpt), seed=100)
    head = torch.randn(1, settings.hidden_size, generator=torch.Generator().manual_seed(1))
    stored = ShardedTensor.from_rank_offsets("output_layer.weight", head)
    megatron.save(tmp_path / "iter_0000100", {**megatron.sharded(gpt), "output_layer.weight": stored}, 100, megatron.arguments(settings, 100))
    export(ck, tmp_path / "iter_0000100", tmp_path / "HF", f"--architecture {architecture.name} --value-model")
    model = hugging_face.load(tmp_path / "HF")
    assert type(model).__name__ == architecture.name.replace("ForCausalLM", "ForTokenClassification")
    gpt.post_process = False  # gives the hidden states
    batch = megatron.tokens()
    want = megatron.logits(gpt, batch).transpose(0, 1) @ head.T
    torch.testing.assert_close(hugging_face.logits(model, batch), want, atol=1e-4, rtol=0)


# What the recorded checkpoints are (their README), and what has to be said besides.
RECORDED = {
    **dict.fromkeys(["gpt_dense_stacked", "gpt_dense_perlayer", "gpt_dense_tp2pp2", "te_gpt_dense", "gpt_mqa", "gpt_mqa_tp2", "hybrid_attn_mlp",
                     "main_gpt_dense_stacked", "main_gpt_dense_release", "main_hybrid_attn_mlp"], "LlamaForCausalLM"),
    **dict.fromkeys(["gpt_qkvbias_tied", "gpt_qkvbias_tied_pp2"], "Qwen2ForCausalLM"),
    "gpt_qknorm": "Qwen3ForCausalLM",
    **dict.fromkeys(["gpt_moe_stacked", "gpt_moe_ep2", "hybrid_moe"], "MixtralForCausalLM"),
    "te_gpt_moe": "Qwen3MoeForCausalLM",
    "gpt_moe_shared_gate": "Qwen2MoeForCausalLM",
    **dict.fromkeys(["gpt_mla", "gpt_mla_noqlora"], "DeepseekV3ForCausalLM"),
}


@pytest.mark.parametrize("folder", RECORDED)
def test_recorded_checkpoints_give_their_recorded_logits(folder, ck, tmp_path):
    truth = safetensors.torch.load_file(FIXTURES / folder / "truth.safetensors")
    vocabulary = "--vocab-size 61" if folder == "gpt_qknorm" else ""
    export(ck, FIXTURES / folder / "ckpt", tmp_path / "HF", f"--architecture {RECORDED[folder]} {vocabulary}")
    model = hugging_face.load(tmp_path / "HF")
    for name, module in model.named_modules():
        if name.endswith(("q_a_layernorm", "kv_a_layernorm")):
            module.variance_epsilon = model.config.rms_norm_eps  # transformers takes 1e-6 whatever the config says
    said = hugging_face.logits(model, truth["tokens"])
    want = truth.get("logits_fp32", truth["logits"])[..., :said.shape[-1]]
    torch.testing.assert_close(said, want, atol=1e-4, rtol=0)
